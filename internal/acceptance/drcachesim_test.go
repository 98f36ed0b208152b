package acceptance

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// drrun is how a tool of DynamoRIO is run over a trace, nil where it is not installed.
func drrun(tool ...string) []string {
	home := os.Getenv("DYNAMORIO_HOME")
	if home == "" {
		return nil
	}
	return append([]string{filepath.Join(home, "bin64", "drrun"), "-t", "drmemtrace"}, tool...)
}

// drCache is what drcachesim counts of a cache.
type drCache struct{ hits, misses uint64 }

// drCaches are the figures of a first-level cache that drcachesim prints.
func drCaches(t *testing.T, r result, cache string) (c drCache) {
	t.Helper()
	_, text, _ := bytes.Cut(append(r.stderr, r.stdout...), []byte(cache))
	m := regexp.MustCompile(`(?s)Hits: +([0-9]+)\n +Misses: +([0-9]+)\n`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("drcachesim prints %s%s", clip(r.stdout), clip(r.stderr))
	}
	c.hits, _ = strconv.ParseUint(string(m[1]), 10, 64)
	c.misses, _ = strconv.ParseUint(string(m[2]), 10, 64)
	return c
}

// distances are what analyze reuse says.
type distances struct {
	References, Lines uint64
	Histogram         []struct{ From, To, References uint64 }
}

// recordedDistances are those of the one thread of a profile.
func recordedDistances(t *testing.T, dir string) distances {
	t.Helper()
	r := run(t, command{argv: []string{alleria(), "analyze", "reuse", "--json", profileDir}, dir: dir})
	var all []distances
	if err := json.Unmarshal(r.stdout, &all); err != nil || len(all) != 1 {
		t.Fatalf("analyze reuse: %v\n%s%s", err, clip(r.stdout), clip(r.stderr))
	}
	return all[0]
}

// misses are those of a cache of so many lines, a boundary of the histogram, that evicts the one used longest ago.
func (d *distances) misses(lines uint64) uint64 {
	n := d.Lines
	for _, h := range d.Histogram {
		if h.From >= lines {
			n += h.References
		}
	}
	return n
}

// full is the options of drcachesim for a fully associative cache of data of so many lines.
func full(lines uint64) []string {
	return []string{"-tool", "cache_simulator", "-cores", "1", "-data_prefetcher", "none", "-L1D_size", fmt.Sprint(64 * lines), "-L1D_assoc", fmt.Sprint(lines)}
}

// TestDistancesEqualDrcachesims: of a program with the same addresses in every run, the references whose reuse distance is at least a cache's lines, and the first ones of each line, are the
// misses that DynamoRIO's drcachesim counts in a fully associative cache of that size, of a trace that DynamoRIO made; and it counts the same references.
func TestDistancesEqualDrcachesims(t *testing.T) {
	t.Parallel()
	if drrun() == nil {
		t.Skip("DYNAMORIO_HOME does not say where DynamoRIO is")
	}
	dir := workDir(t)
	prog := build(t, "../../testdata/calls/caches.c", "-static -nostdlib -fno-stack-protector -no-pie")
	run(t, command{argv: []string{alleria(), "-q", "record", "--no-aslr", "--select", "anyMem", "--fields", "address", "-o", profileDir, "--", prog}, dir: dir})
	got := recordedDistances(t, dir)
	run(t, command{argv: drrun("-offline", "-outdir", ".", "--", prog), dir: dir})
	traces, _ := filepath.Glob(filepath.Join(dir, "drmemtrace.*.dir"))
	if len(traces) != 1 {
		t.Fatalf("traces: %v", traces)
	}
	for _, lines := range []uint64{64, 512} { // where bins of the histogram begin
		c := drCaches(t, run(t, command{argv: append(drrun("-indir", traces[0]), full(lines)...), dir: dir}), "L1D0")
		if ours := got.misses(lines); ours != c.misses || got.References != c.hits+c.misses || ours < 10000 {
			t.Errorf("%d lines: %d misses of %d references, drcachesim %d of %d", lines, ours, got.References, c.misses, c.hits+c.misses)
		}
	}
}

// TestAgreementWithDrcachesim has DynamoRIO's tools read what was recorded of real programs: they count the same instructions and accesses, find the trace sound, and simulate
// the same misses.
func TestAgreementWithDrcachesim(t *testing.T) {
	t.Parallel()
	if drrun() == nil {
		t.Skip("DYNAMORIO_HOME does not say where DynamoRIO is")
	}
	for _, p := range agreeingPrograms(t, inputDir(t), false) {
		t.Run(p.name, func(t *testing.T) {
			prog := find(p.name)
			if prog == "" || p.name != "gzip" && !*every {
				t.Skipf("no %s, or not in the short form", p.name)
			}
			dir := t.TempDir()
			run(t, command{argv: append([]string{alleria(), "-q", "record", "--select", "any", "--fields", "address", "-o", profileDir, "--", prog}, p.argv...), dir: dir, env: withoutRepeats})
			run(t, command{argv: []string{alleria(), "-q", "convert", "--to", "drmemtrace", "-o", "out.trace", profileDir}, dir: dir})
			tool := func(args ...string) result {
				r := run(t, command{argv: append(drrun("-infile", "out.trace"), args...), dir: dir})
				if r.status != 0 {
					t.Fatalf("%v: %d %s%s", args, r.status, clip(r.stdout), clip(r.stderr))
				}
				return r
			}
			if f, err := os.Stat(filepath.Join(dir, "out.trace")); err != nil || f.Size() > 200<<20 {
				t.Logf("%v: the invariant checker, which takes minutes, is left out", err)
			} else if r := tool("-tool", "invariant_checker"); bytes.Contains(r.stderr, []byte("failure")) {
				t.Errorf("the trace is not sound: %s", clip(r.stderr))
			}
			got := recordedDistances(t, dir)
			for _, lines := range []uint64{16, 64, 512} { // drcachesim looks through all ways
				c := drCaches(t, tool(full(lines)...), "L1D0")
				if ours := got.misses(lines); ours != c.misses || got.References != c.hits+c.misses {
					t.Errorf("%d lines: %d misses of %d references, drcachesim %d of %d", lines, ours, got.References, c.misses, c.hits+c.misses)
				}
			}
			alike := func(sim cacheMisses, r result) {
				i, d, ll := drCaches(t, r, "L1I"), drCaches(t, r, "L1D"), drCaches(t, r, "LL (")
				t.Logf("misses of instructions %d (drcachesim %d), data %d (%d), last level %d (%d); %d references to data", sim.l1i, i.misses, sim.l1dr+sim.l1dw, d.misses,
					sim.lli+sim.llr+sim.llw, ll.misses, got.References)
				// An access in two lines that misses both is one miss here, as in cachegrind, and two there.
				for _, n := range [][2]uint64{{sim.l1i, i.misses}, {sim.l1dr + sim.l1dw, d.misses}, {sim.lli + sim.llr + sim.llw, ll.misses}} {
					if n[0] > n[1] || n[0]*100 < n[1]*98 {
						t.Errorf("%d misses, drcachesim %d", n[0], n[1])
					}
				}
			}
			alike(simulated(t, dir, "32768,8,64", "32768,8,64", "262144,16,64"), tool("-tool", "cache_simulator", "-cores", "1", "-data_prefetcher", "none", "-L1I_size", "32768", "-L1I_assoc", "8", "-L1D_size", "32768", "-L1D_assoc", "8",
				"-LL_size", "262144", "-LL_assoc", "16"))
			for _, inclusion := range []string{"inclusive", "exclusive"} {
				text := fmt.Sprintf(`num_cores 1
line_size 64
L1I { type instruction core 0 size 16K assoc 4 parent L2 prefetcher none }
L1D { type data core 0 size 16K assoc 4 parent L2 prefetcher none }
L2 { size 32K assoc 4 %[1]s true parent LL prefetcher none }
LL { size 64K assoc 8 %[1]s true parent memory prefetcher none }
`, inclusion)
				if err := os.WriteFile(filepath.Join(dir, "caches.conf"), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
				alike(simulated(t, dir, "16k,4,64", "16k,4,64", "64k,8,64", "--l2", "32k,4,64", "--inclusion", inclusion), tool("-tool", "cache_simulator", "-config_file", "caches.conf"))
			}
		})
	}
}

// TestConvertDrmemtrace: a trace has a thread's instructions with their bytes, and their accesses in order, between a header and a footer.
func TestConvertDrmemtrace(t *testing.T) {
	t.Parallel()
	c := conversions(t)
	trace := c.alleria(t, "convert", "--to", "drmemtrace", "out")
	rows, err := csv.NewReader(bytes.NewReader(c.alleria(t, "convert", "--to", "csv", "out"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows = rows[1:]
	var kinds [64]uint64
	var bytesOf, bytesTold uint64
	access, code, fetched := 0, map[uint64]uint64{}, uint64(0)
	for at := 0; at+12 <= len(trace); at += 12 {
		kind, size, value := binary.LittleEndian.Uint16(trace[at:]), uint64(binary.LittleEndian.Uint16(trace[at+2:])), binary.LittleEndian.Uint64(trace[at+4:])
		kinds[kind]++
		switch {
		case kind == 47: // an encoding
			bytesTold += size
		case kind >= 10 && kind <= 16 || kind == 29 || kind == 48 || kind == 49: // instructions, by how they branch, and iterations
			if kind != 29 {
				fetched++
			}
			if bytesTold > 0 {
				bytesOf, code[value] = bytesTold, size
			}
			if code[value] != size || bytesTold > 0 && bytesOf != size {
				t.Fatalf("the instruction at %#x has %d bytes, its encoding %d", value, size, bytesOf)
			}
			bytesTold = 0
		case kind <= 1:
			r := rows[access]
			access++
			if r[9] != fmt.Sprint(kind == 1) || r[10] != fmt.Sprintf("%#x", value) || r[11] != fmt.Sprint(size) {
				t.Fatalf("access %d is %#x, %d bytes, store %v; in the table %v", access, value, size, kind == 1, r)
			}
		}
	}
	want := c.report(t)
	if fetched != want.Instructions || access != len(rows) || kinds[25] != 1 || kinds[26] != 1 || binary.LittleEndian.Uint16(trace) != 25 {
		t.Errorf("%d instructions, %d accesses; there are %d and %d", fetched, access, want.Instructions, len(rows))
	}
}

// drEntry is an entry of a trace.
type drEntry struct {
	kind, size uint16
	value      uint64
}

// drEntries takes a trace apart.
func drEntries(trace []byte) (all []drEntry) {
	for ; len(trace) >= 12; trace = trace[12:] {
		all = append(all, drEntry{binary.LittleEndian.Uint16(trace), binary.LittleEndian.Uint16(trace[2:]), binary.LittleEndian.Uint64(trace[4:])})
	}
	return all
}

// TestConvertDrmemtraceEvents: where branches, system calls and signals are recorded, a trace says of each branch which way it went, as the next instruction shows, has the number of each call
// behind its instruction, and says where handlers begin and what they return to; DynamoRIO's checker finds it sound.
func TestConvertDrmemtraceEvents(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/programs/signals-nested.c", "-O1 -pthread")
	conf := func(instruction string) {
		writeConfig(t, dir, outsideConfig(`syscalls="true" signals="true"`, `<Image><Function>`+instruction+`</Function></Image>`))
	}
	const accesses = ` accessAddressAndSize="true"`
	for _, c := range []struct{ name, instruction string }{
		{"all", `<Instruction cat="any" branch="true"` + accesses + `/>`},
		{"some", `<Instruction cat="COND_BR" branch="true"/><Instruction cat="any"` + accesses + `/>`},
	} {
		conf(c.instruction)
		if r := run(t, command{argv: []string{alleria(), "-q", "record", "--force", "-c", "w.xml", "-o", profileDir, "--", prog}, dir: dir, env: withoutRepeats}); r.status != 0 {
			t.Fatalf("record: %d %s", r.status, clip(r.stderr))
		}
		run(t, command{argv: []string{alleria(), "-q", "convert", "--to", "drmemtrace", "-o", "out.trace", profileDir}, dir: dir})
		trace, err := os.ReadFile(filepath.Join(dir, "out.trace"))
		if err != nil {
			t.Fatal(err)
		}
		var counts [64]int
		var events []uint64 // of handlers that have not returned
		var calls, handlers, returns, wrong int
		var last drEntry // the instruction before
		target, returned := uint64(0), uint64(0)
		code, isCall := map[uint64][]byte{}, false
		var bytesTold []byte
		event := false
		drTargets := map[drEntry]uint64{} // of the latest branch
		for _, e := range drEntries(trace) {
			switch {
			case e.kind == 47:
				bytesTold = append(bytesTold, binary.LittleEndian.AppendUint64(nil, e.value)[:e.size]...)
			case e.kind == 28 && e.size == 29:
				target = e.value // of the branch that comes
			case e.kind == 28 && e.size == 25:
				if calls++; !isCall {
					t.Errorf("%s: call %d behind %#x, which is no syscall", c.name, e.value, last.value)
				}
			case e.kind == 28 && e.size == 0:
				if handlers++; returned != 0 && e.value != returned {
					t.Errorf("%s: a handler returned to %#x, where the next one's signal came at %#x", c.name, returned, e.value)
				}
				events, event, returned = append(events, e.value), true, 0
			case e.kind == 28 && e.size == 1:
				returns++
				if len(events) > 0 {
					returned, events = events[len(events)-1], events[:len(events)-1]
				}
			case e.kind >= 10 && e.kind <= 16 || e.kind == 29 || e.kind == 48 || e.kind == 49:
				counts[e.kind]++
				next := last.value + uint64(last.size)
				switch {
				case returned != 0 && e.value != returned:
					t.Errorf("%s: a handler returned to %#x, and %#x was interrupted", c.name, e.value, returned)
				case event || returned != 0 || last.size == 0:
				case last.kind == 48 && e.value == next, last.kind == 49 && e.value != next, last.value == 0:
					wrong++
				}
				if bytesTold != nil {
					code[e.value], bytesTold = bytesTold, nil
				}
				isCall = bytes.Equal(code[e.value], []byte{0x0f, 0x05})
				if e.kind == 12 || e.kind == 15 || e.kind == 16 {
					if target == 0 {
						wrong++
					}
				} else if target != 0 {
					wrong++
				}
				if wanted := last.kind == 12 || last.kind == 15 || last.kind == 16; wanted && !event && drTargets[last] != e.value {
					wrong++
				}
				last, event, returned = e, false, 0
				clear(drTargets)
				drTargets[e], target = target, 0
			}
		}
		if wrong > 0 || counts[13] > 0 || counts[48] < 100 || counts[49] < 100 || counts[16] < 100 {
			t.Errorf("%s: %d branches are told otherwise than they went; kinds %v", c.name, wrong, counts)
		}
		if handlers != 14 || returns != 14 || len(events) != 0 || calls < 40 {
			t.Errorf("%s: %d handlers, %d of them returned, %d calls", c.name, handlers, returns, calls)
		}
		if drrun() != nil {
			if r := run(t, command{argv: append(drrun("-infile", "out.trace"), "-tool", "invariant_checker"), dir: dir}); r.status != 0 || bytes.Contains(r.stderr, []byte("failure")) {
				t.Errorf("%s: the trace is not sound: %s", c.name, clip(r.stderr))
			}
		}
	}
}
