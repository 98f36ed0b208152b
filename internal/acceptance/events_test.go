package acceptance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// nothing is a window that is always open and records nothing: with it the
// target runs in the code cache, where it would otherwise run natively.
const nothing = `<Window name="nothing"><Profile><Process><Thread><Image/></Thread></Process></Profile></Window>`

// windowed is a configuration of one window that records all instructions, in
// the company of others.
func windowed(attrs, events, others string) string {
	return `<AlleriaConfig version="1.0">` + others + `<Window name="w" ` + attrs + `>` + events + `<Profile><Process><Thread><Image><Function>` +
		`<Instruction cat="any"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`
}

// recorded is what one thread of a profile holds.
type recorded struct {
	addrs         []uint64
	functions     map[string]int // instructions by function
	loads, stores int
}

// first and last are 0 for a thread of which nothing was recorded.
func (r recorded) first() uint64 {
	if len(r.addrs) == 0 {
		return 0
	}
	return r.addrs[0]
}

func (r recorded) last() uint64 {
	if len(r.addrs) == 0 {
		return 0
	}
	return r.addrs[len(r.addrs)-1]
}

// record runs a program under a configuration and reads back what each thread
// recorded, by "process/thread".
func record(t *testing.T, dir, config string, argv ...string) map[string]recorded {
	t.Helper()
	writeConfig(t, dir, config)
	full := append([]string{alleria(), "-q", "record", "--force", "-c", "w.xml", "-o", profileDir, "--"}, argv...)
	native := run(t, command{argv: argv, dir: dir})
	r := run(t, command{argv: full, dir: dir})
	same(t, native, r)
	verify(t, dir)
	return dumped(t, dir)
}

// dumped reads what each thread of a profile recorded.
func dumped(t *testing.T, dir string) map[string]recorded {
	t.Helper()
	d := run(t, command{argv: []string{alleria(), "dump", profileDir}, dir: dir})
	if d.status != 0 {
		t.Fatalf("dump: %s", clip(d.stderr))
	}
	out := make(map[string]recorded)
	where := ""
	for line := range strings.Lines(string(d.stdout)) {
		f := strings.Fields(line)
		if len(f) > 4 && f[0] == "#" && f[1] == "process" {
			where = f[2] + "/" + f[4]
		}
		if len(f) > 3 && f[0][0] >= '0' && f[0][0] <= '9' {
			at, err := strconv.ParseUint(strings.TrimPrefix(f[1], "0x"), 16, 64)
			if err != nil {
				t.Fatalf("dump: %q", line)
			}
			e := out[where]
			if e.functions == nil {
				e.functions = make(map[string]int)
			}
			e.addrs = append(e.addrs, at)
			name, _, _ := strings.Cut(f[2], "+")
			e.functions[name]++
			out[where] = e
		}
		if e := out[where]; len(f) > 2 && f[0] == "load" {
			e.loads++
			out[where] = e
		} else if len(f) > 2 && f[0] == "store" {
			e.stores++
			out[where] = e
		}
	}
	return out
}

// labels reads a program's symbols.
func labels(t *testing.T, prog string) map[string]uint64 {
	t.Helper()
	b, err := exec.Command("nm", prog).Output()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]uint64{"": 0}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 {
			out[f[2]], _ = strconv.ParseUint(f[0], 16, 64)
		}
	}
	return out
}

// opening is a line of windows --json.
type opening struct {
	Process        int
	Window         string
	Reason, Closed string
}

// openings reads what alleria windows lists of the window called w.
func openings(t *testing.T, dir string) []opening {
	t.Helper()
	return openingsOf(t, dir, "w")
}

// openingsOf is openings for the window of a name.
func openingsOf(t *testing.T, dir, name string) []opening {
	t.Helper()
	r := run(t, command{argv: []string{alleria(), "windows", "--json", "--window", name, profileDir}, dir: dir})
	var lines []struct {
		Process int
		Window  string
		Reason  string
		Closed  *struct{ Reason string }
	}
	if err := json.NewDecoder(bytes.NewReader(r.stdout)).Decode(&lines); err != nil {
		t.Fatalf("windows: %v\n%s", err, clip(r.stdout))
	}
	var out []opening
	for _, l := range lines {
		if l.Process > 1 { // what it creates has windows of its own
			continue
		}
		o := opening{Process: l.Process, Window: l.Window, Reason: l.Reason}
		if l.Closed != nil {
			o.Closed = l.Closed.Reason
		}
		out = append(out, o)
	}
	return out
}

// TestKernelEvents opens a window on each event that the kernel reports, or
// closes one, and looks at the exact instruction where its records begin or end:
// natively, and in the code cache.
func TestKernelEvents(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/events/kernel.S", "-nostdlib -static -no-pie")
	at := labels(t, prog)
	const syscall = 2 // bytes
	for n, c := range []struct {
		event  string
		first  string // label of the first instruction of a window that it opens
		before string // label behind the last instruction of one that it closes, in bytes less
		less   uint64
		thread string // in which it is looked at
		reason string
	}{
		{`<Syscall name="getpid"/>`, "after_getpid1", "after_getpid1", syscall, "1/1", "Syscall getpid"},
		{`<Syscall number="39" threshold="2"/>`, "after_getpid2", "after_getpid2", syscall, "1/1", "Syscall 39 2"},
		{`<Syscall name="kill" thread="1"/>`, "handler", "after_kill", syscall, "1/1", "Syscall kill"},
		{`<Syscall name="fork"/>`, "after_fork1", "after_fork1", syscall, "1/1", "Syscall fork"},
		{`<Syscall name="clone"/>`, "after_clone", "after_clone", syscall, "1/1", "Syscall clone"},
		{`<Syscall name="exit" thread="2"/>`, "", "thread_end", syscall, "1/2", "Syscall exit"},
		{`<Syscall name="execve"/>`, "", "", 0, "", "Syscall execve"},
		{`<Syscall name="exit_group"/>`, "", "last", syscall, "1.2/1", "Syscall exit_group"},
		{`<Signal number="10"/>`, "handler", "after_kill", syscall, "1/1", "Signal 10"},
		{`<Signal/>`, "handler", "after_kill", syscall, "1/1", "Signal"},
		{`<Signal number="23"/>`, "after_urg", "after_urg", syscall, "1/1", "Signal 23"},
		{`<Fork/>`, "after_fork1", "after_fork1", syscall, "1/1", "Fork"},
		{`<Fork number="2"/>`, "after_fork2", "after_fork2", syscall, "1/1", "Fork 2"},
		{`<Fork number="2" process="1"/>`, "after_fork2", "after_fork2", syscall, "1/1", "Fork 2"},
		{`<Exec/>`, "_start", "after_sleep+", 0, "1.2/1", "Exec"},
		{`<Exec number="1" process="1"/>`, "_start", "", 0, "1.2/1", "Exec 1"},
		{`<Creation process="1"/>`, "_start", "", 0, "1/1", "Creation"},
		{`<Creation process="1" thread="2"/>`, "after_clone", "", 0, "1/2", "Creation"},
		{`<Termination process="1" thread="2"/>`, "", "thread_end", syscall, "1/2", "Termination"},
		{`<Threads largerEqual="2"/>`, "after_clone", "", 0, "1/2", "Threads at least 2"},
		{`<Threads smallerEqual="1"/>`, "_start", "", 0, "1/1", "Threads at most 1"},
		{`<Time threshold="1"/>`, "", "", 0, "1/1", "Time 1ms"},
		{`<Time threshold="1" process="1"/>`, "", "", 0, "1/1", "Time 1ms"},
		{`<Load name="` + "kernel-nostdlib-static-no-pie" + `"/>`, "_start", "", 0, "1/1", "Load kernel-nostdlib-static-no-pie"},
	} {
		for way, kind := range []string{"native", "cached"} {
			if !inTurn(n, way, 2) {
				continue
			}
			others := []string{"", nothing}[way]
			t.Run(c.event+" "+kind, func(t *testing.T) {
				t.Parallel()
				dir := workDir(t)
				got := record(t, dir, windowed("", "<On>"+c.event+"</On>", others), prog)
				if want := at[c.first]; want != 0 && got[c.thread].first() != want {
					t.Errorf("opened: begins at %#x, not %s %#x", got[c.thread].first(), c.first, want)
				}
				if o := openings(t, dir); len(o) == 0 || o[0].Reason != c.reason {
					t.Errorf("openings %+v, want for %q", o, c.reason)
				}
				got = record(t, dir, windowed("", "<Till>"+c.event+"</Till>", others), prog)
				if want := at[c.before] - c.less; at[c.before] != 0 && got[c.thread].last() != want {
					t.Errorf("closed: ends at %#x, not %#x before %s", got[c.thread].last(), want, c.before)
				}
				if o := openings(t, dir); len(o) == 0 || o[len(o)-1].Closed != c.reason {
					t.Errorf("openings %+v, want one closed for %q", o, c.reason)
				}
			})
		}
	}
}

// TestTimeOpensWhileNothingRuns checks that a window on a time opens in a thread
// that sleeps in the kernel, with what it executes next.
func TestTimeOpensWhileNothingRuns(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/events/sleep.S", "-nostdlib -static -no-pie")
	at := labels(t, prog)
	for kind, others := range map[string]string{"native": "", "cached": nothing} {
		for _, thread := range []string{"", ` thread="1"`} {
			t.Run(kind+thread, func(t *testing.T) { // beside each other: they sleep, mostly
				t.Parallel()
				got := record(t, workDir(t), windowed("", `<On><Time threshold="800ms"`+thread+`/></On>`, others), prog)
				if got["1/1"].first() != at["after_sleep"] {
					t.Errorf("begins at %#x, not %#x", got["1/1"].first(), at["after_sleep"])
				}
			})
		}
		t.Run(kind+" nobody", func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			record(t, dir, windowed("", `<On><Time threshold="1ms" thread="7"/></On>`, others), prog)
			if o := openings(t, dir); len(o) != 0 {
				t.Errorf("a thread that never lived: %+v", o)
			}
		})
	}
}

// TestLoadAndUnload looks at which stages of a program that loads a library twice
// a window on that saw.
func TestLoadAndUnload(t *testing.T) {
	t.Parallel()
	plugin := build(t, "../../testdata/events/plugin.c", "-shared -fPIC")
	prog := build(t, "../../testdata/events/loads.c", "-fno-inline")
	name := plugin[strings.LastIndexByte(plugin, '/')+1:]
	stages := []string{"before", "loaded", "unloaded", "loaded_again", "unloaded_again"}
	for n, c := range []struct {
		attrs, events string
		want          string // one of 01 a stage
		openings      int
	}{
		{``, `<On><Load name="` + name + `"/></On>`, "01111", 1},
		{``, `<On><Load path="` + plugin + `"/></On>`, "01111", 1},
		{``, `<On><Unload name="` + name + `"/></On>`, "00111", 1},
		{``, `<On><Unload name="` + name + `" process="1"/></On>`, "00111", 1},
		{``, `<Till><Load name="` + name + `"/></Till>`, "10000", 1},
		{``, `<Till><Unload path="` + plugin + `"/></Till>`, "11000", 1},
		{``, `<On><Load name="` + name + `"/></On><Till><Unload name="` + name + `"/></Till>`, "01000", 1},
		{`reopenable="true"`, `<On><Load name="` + name + `"/></On><Till><Unload name="` + name + `"/></Till>`, "01010", 2},
		{``, `<On><All><Load name="` + name + `"/><Unload name="` + name + `"/></All></On>`, "00111", 1},
		{``, `<On><Load name="libnone.so"/></On>`, "00000", 0},
		{``, `<On><Call name="plugin_run" imageName="` + name + `" threshold="2"/></On>`, "00001", 1},
		{`reopenable="true"`, `<On><Call name="plugin_run" imageName="` + name + `"/></On><Till><Return name="plugin_run" imageName="` + name + `"/></Till>`, "00000", 2},
	} {
		for way, kind := range []string{"native", "cached"} {
			if !inTurn(n, way, 2) {
				continue
			}
			others := []string{"", nothing}[way]
			t.Run(fmt.Sprint(c.attrs, c.events, " ", kind), func(t *testing.T) {
				t.Parallel()
				dir := workDir(t)
				record(t, dir, windowed(c.attrs, c.events, others), prog, plugin)
				var rep struct {
					Processes []struct{ Functions []struct{ Name string } }
				}
				r := run(t, command{argv: []string{alleria(), "report", "--json", profileDir}, dir: dir})
				if err := json.Unmarshal(r.stdout, &rep); err != nil {
					t.Fatal(err)
				}
				seen := make(map[string]bool)
				for _, p := range rep.Processes {
					for _, f := range p.Functions {
						seen[f.Name] = true
					}
				}
				for i, s := range stages {
					if seen[s] != (c.want[i] == '1') {
						t.Errorf("%s recorded: %t", s, seen[s])
					}
				}
				if o := openings(t, dir); len(o) != c.openings {
					t.Errorf("openings %+v, want %d", o, c.openings)
				}
			})
		}
	}
}

// TestCallOpensNatively: code right behind a system call that opens a window natively is in it, each time.
func TestCallOpensNatively(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/events/opens-at-calls.c", "-O1")
	for range 4 {
		dir := workDir(t)
		file := writeFile(t, dir, "c.xml", `<AlleriaConfig version="1.0"><Window name="w" reopenable="true"><On><Syscall number="110"/></On><Till><Instructions threshold="10" since="open"/></Till>`+
			`<Profile><Process><Thread><Image main="true"><Function><Instruction cat="any"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`)
		run(t, command{argv: []string{alleria(), "-q", "record", "--no-aslr", "-c", file, "-o", profileDir, "--", prog}, dir: dir})
		if n := len(openings(t, dir)); n != 20 {
			t.Errorf("%d openings, want 20", n)
		}
		d := run(t, command{argv: []string{alleria(), "dump", profileDir}, dir: dir})
		if n := bytes.Count(d.stdout, []byte("\n")) - bytes.Count(d.stdout, []byte("\n#")) - 1; n != 200 {
			t.Errorf("%d instructions, want 200", n)
		}
	}
}

// TestAddressesOfNoInstruction: addresses that an event names, at which data lies, or an instruction goes on, or nothing, change nothing of what the program does.
func TestAddressesOfNoInstruction(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/events/places.c", "-O1 -no-pie")
	at := labels(t, prog)
	for _, addr := range []uint64{at["number"], at["number"] + 1, at["datum"], 0x20000000} {
		for _, argv := range [][]string{{prog}, {"env", prog}, {prog, "/bin/true"}} {
			dir := workDir(t)
			file := writeFile(t, dir, "c.xml", fmt.Sprintf(`<AlleriaConfig version="1.0"><Window name="w"><On><Address value="%#x"/></On>`+
				`<Profile><Process><Thread><Image main="true"><Function><Instruction cat="any"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`, addr))
			r := run(t, command{argv: append([]string{alleria(), "-q", "record", "-c", file, "-o", profileDir, "--"}, argv...), dir: dir})
			status := 7
			if len(argv) > 1 && argv[0] == prog {
				status = 0
			}
			if want := "5 0x11223344\n"; string(r.stdout) != want || r.status != status {
				t.Errorf("%#x, %q: status %d, it prints %s, want %d and %s%s", addr, argv, r.status, clip(r.stdout), status, want, clip(r.stderr))
			}
		}
	}
}
