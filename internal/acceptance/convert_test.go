package acceptance

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// converted is a recording that the tests of convert share.
type converted struct {
	dir     string // with the profile "out"
	program string
}

// recordedOnce makes it once.
var recordedOnce struct {
	sync.Once
	converted
	err string
}

// conversions records the fixture with everything that a format may want.
func conversions(t *testing.T) *converted {
	t.Helper()
	bin := build(t, "../../testdata/convert/work.c", "-O0")
	recordedOnce.Do(func() {
		dir := filepath.Join(testRoot, "converted")
		if err := os.Mkdir(dir, 0o755); err != nil {
			recordedOnce.err = err.Error()
			return
		}
		r := run(t, command{argv: []string{alleria(), "-q", "record", "-o", "out", "--select", "any", "--fields", "all", "--", bin}, dir: dir})
		if r.status != 0 {
			recordedOnce.err = string(r.stderr)
		}
		recordedOnce.converted = converted{dir, bin}
	})
	if recordedOnce.err != "" {
		t.Fatal(recordedOnce.err)
	}
	return &recordedOnce.converted
}

// alleria runs the command and returns what it prints.
func (c *converted) alleria(t *testing.T, args ...string) []byte {
	t.Helper()
	r := run(t, command{argv: append([]string{alleria(), "-q"}, args...), dir: c.dir})
	if r.status != 0 {
		t.Fatalf("%v: status %d, %s", args, r.status, clip(r.stderr))
	}
	return r.stdout
}

// file converts into a file and returns its path.
func (c *converted) file(t *testing.T, format, ending string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "out"+ending)
	c.alleria(t, "convert", "--to", format, "-o", name, "out")
	return name
}

// outside runs another's program on a conversion; the test is skipped where it is not installed.
func outside(t *testing.T, dir string, argv ...string) string {
	t.Helper()
	if argv[0] != "go" && find(argv[0]) == "" {
		t.Skipf("no %s", argv[0])
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(argv, " "), err, clip(out), clip(errs.Bytes()))
	}
	return string(out)
}

// reportedProcess is what the tests want of report --json.
type reportedProcess struct {
	Instructions uint64 `json:"instructions"`
	Loads        uint64 `json:"loads"`
	Stores       uint64 `json:"stores"`
	BytesRead    uint64 `json:"bytes_read"`
	Functions    []struct {
		Name         string `json:"name"`
		Image        string `json:"image"`
		Instructions uint64 `json:"instructions"`
		Loads        uint64 `json:"loads"`
		Stores       uint64 `json:"stores"`
	} `json:"functions"`
}

func (c *converted) report(t *testing.T, args ...string) reportedProcess {
	t.Helper()
	var r struct {
		Processes []reportedProcess `json:"processes"`
	}
	if err := json.Unmarshal(c.alleria(t, append([]string{"report", "--json", "out"}, args...)...), &r); err != nil || len(r.Processes) != 1 {
		t.Fatal(err, len(r.Processes))
	}
	return r.Processes[0]
}

// own returns the instructions of each function of the program.
func (p *reportedProcess) own(image string) map[string]uint64 {
	own := map[string]uint64{}
	for _, f := range p.Functions {
		if f.Image == image {
			own[f.Name] += f.Instructions
		}
	}
	return own
}

// TestConvertTables: tables have a row for each access or instruction, in every form the same,
// and their sums are the report's.
func TestConvertTables(t *testing.T) {
	t.Parallel()
	c := conversions(t)
	want := c.report(t)
	rows, err := csv.NewReader(bytes.NewReader(c.alleria(t, "convert", "--to", "csv", "out"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var loads, stores, read uint64
	for _, r := range rows[1:] {
		size, _ := strconv.ParseUint(r[11], 10, 64)
		if r[9] == "true" {
			stores++
		} else {
			loads, read = loads+1, read+size
		}
	}
	if loads != want.Loads || stores != want.Stores || read != want.BytesRead {
		t.Errorf("csv: %d loads of %d bytes, %d stores; the report has %d of %d, %d", loads, read, stores, want.Loads, want.BytesRead, want.Stores)
	}
	if n := bytes.Count(c.alleria(t, "convert", "--to", "csv", "--rows", "instructions", "out"), []byte("\n")); uint64(n-1) != want.Instructions {
		t.Errorf("csv: %d instructions, the report has %d", n-1, want.Instructions)
	}
	if n, fn := bytes.Count(c.alleria(t, "convert", "--to", "csv", "--function", "leaf", "out"), []byte("\n")), c.report(t, "--function", "leaf"); uint64(n-1) != fn.Loads+fn.Stores {
		t.Errorf("csv of a function: %d accesses, the report has %d", n-1, fn.Loads+fn.Stores)
	}
	compareLines(t, rows[1:], c.alleria(t, "convert", "--to", "jsonl", "out"))
	compareParquet(t, rows[1:], c.file(t, "parquet", ".parquet"))
	dataset := t.TempDir() + "/set/"
	c.alleria(t, "convert", "--to", "parquet", "-o", dataset, "out")
	compareParquet(t, rows[1:], dataset+"process=1/thread=1/part-1.parquet")
}

// compareLines compares JSON lines with rows of the CSV table.
func compareLines(t *testing.T, rows [][]string, text []byte) {
	t.Helper()
	n := 0
	for line := range bytes.Lines(text) {
		var o struct {
			Instruction              uint64
			IP, Function             string
			Store                    bool
			Address                  string
			Size                     int
			Value                    string
			Process, Thread, Windows int
		}
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatal(err)
		}
		r := rows[n]
		got := fmt.Sprintln(o.Process, o.Thread, o.Instruction, o.Windows, o.IP, o.Function, o.Store, o.Address, o.Size, o.Value)
		if got != fmt.Sprintln(r[0], r[1], r[3], r[5], r[6], r[7], r[9], r[10], r[11], r[12]) {
			t.Fatalf("line %d: %s; the table has %v", n+1, got, r)
		}
		n++
	}
	if n != len(rows) {
		t.Errorf("%d lines, the table has %d rows", n, len(rows))
	}
}

// compareParquet compares a Parquet file with rows of the CSV table.
func compareParquet(t *testing.T, rows [][]string, name string) {
	t.Helper()
	type access struct {
		Instruction uint64  `parquet:"instruction"`
		Time        *int64  `parquet:"time,optional"`
		IP          uint64  `parquet:"ip"`
		Function    string  `parquet:"function"`
		Store       bool    `parquet:"store"`
		Address     uint64  `parquet:"address"`
		Size        uint32  `parquet:"size"`
		Value       *uint64 `parquet:"value,optional"`
	}
	list, err := parquet.ReadFile[access](name)
	if err != nil || len(list) != len(rows) {
		t.Fatalf("%s: %d rows of %d, %v", name, len(list), len(rows), err)
	}
	for i, a := range list {
		time, value := "", rows[i][12]
		if a.Time != nil {
			time = fmt.Sprint(*a.Time)
		}
		if a.Value != nil {
			value = fmt.Sprintf("%#x", *a.Value)
		}
		got := []string{fmt.Sprint(a.Instruction), time, fmt.Sprintf("%#x", a.IP), a.Function, fmt.Sprint(a.Store), fmt.Sprintf("%#x", a.Address), fmt.Sprint(a.Size), value}
		r := rows[i]
		if want := []string{r[3], r[4], r[6], r[7], r[9], r[10], r[11], r[12]}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("row %d: %v, want %v", i, got, want)
		}
	}
}

// TestConvertTraces: traces for simulators have the report's counts, and the dump's branches.
func TestConvertTraces(t *testing.T) {
	t.Parallel()
	c := conversions(t)
	want := c.report(t)
	for format, labels := range map[string]string{"din": "201", "xdin": "irw"} {
		text := "\n" + string(c.alleria(t, "convert", "--to", format, "out"))
		for i, n := range []uint64{want.Instructions, want.Loads, want.Stores} {
			if got := strings.Count(text, "\n"+labels[i:i+1]+" "); uint64(got) != n {
				t.Errorf("%s: %d lines %c, want %d", format, got, labels[i], n)
			}
		}
	}
	records := c.alleria(t, "convert", "--to", "champsim", "out")
	if uint64(len(records)) != 64*want.Instructions {
		t.Fatalf("champsim: %d bytes for %d instructions", len(records), want.Instructions)
	}
	rows, err := csv.NewReader(bytes.NewReader(c.alleria(t, "convert", "--to", "csv", "out"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]string{} // load of each instruction
	for _, r := range rows[1:] {
		if r[9] == "false" && first[r[3]] == "" {
			first[r[3]] = r[10]
		}
	}
	var branches, taken, returns, calls int
	text := string(c.alleria(t, "dump", "--no-bytes", "out"))
	for at := 0; at < len(records); at += 64 {
		r := records[at : at+64]
		load := ""
		if a := binary.LittleEndian.Uint64(r[32:]); a != 0 {
			load = fmt.Sprintf("%#x", a)
		}
		if load != first[fmt.Sprint(at/64)] {
			t.Fatalf("champsim: instruction %d loads %q, in the table %q", at/64, load, first[fmt.Sprint(at/64)])
		}
		branches += int(r[8])
		taken += int(r[9])
		// What ChampSim tells kinds of branches by: stack pointer 6, instruction pointer 26.
		reads, writes := string(r[12:16]), string(r[10:12])
		if strings.Contains(writes, "\x1a") && strings.Contains(writes, "\x06") {
			if strings.Contains(reads, "\x1a") {
				calls++
			} else {
				returns++
			}
		}
	}
	mnemonic := func(m string) int {
		return len(regexp.MustCompile(`(?m)^ {0,9}\d+ 0x\S+ .* (`+m+`)( |$)`).FindAllString(text, -1))
	}
	conditional := mnemonic(`j[a-ln-z]\w*`)
	if got, want := fmt.Sprint(branches, calls, returns), fmt.Sprint(conditional+mnemonic("jmp")+mnemonic("call")+mnemonic("ret"), mnemonic("call"), mnemonic("ret")); got != want {
		t.Errorf("champsim: branches, calls, returns: %s; the disassembly has %s", got, want)
	}
	// leaf's two loops and outer's: the branch at their ends is taken but for the last time.
	if taken <= branches-conditional || taken >= branches {
		t.Errorf("champsim: %d of %d branches were taken, %d are conditional", taken, branches, conditional)
	}
}

// TestCoverageEqualsGcovs: without optimisation lines have gcov's counts, but for those that the documentation names.
func TestCoverageEqualsGcovs(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	source, err := filepath.Abs("../../testdata/convert/coverage.c")
	if err != nil {
		t.Fatal(err)
	}
	prog := build(t, source, "-O0 -g")
	run(t, command{argv: []string{alleria(), "-q", "record", "--select", "any", "--fields", "none", "--image", "main", "-o", profileDir, "--", prog}, dir: dir})
	r := run(t, command{argv: []string{alleria(), "-q", "convert", "--to", "lcov", profileDir}, dir: dir})
	_, part, _ := strings.Cut(string(r.stdout), "SF:"+source+"\n")
	part, _, _ = strings.Cut(part, "end_of_record")
	outside(t, dir, "gcc", "-O0", "--coverage", "-o", "counted", source)
	outside(t, dir, filepath.Join(dir, "counted"))
	compared, differ := 0, 0
	for _, l := range regexp.MustCompile(`(?m)^ *(\d+|#####)\*?: *(\d+):(.*)`).FindAllStringSubmatch(outside(t, dir, "gcov", "-t", "counted-coverage.gcda"), -1) {
		count := strings.Replace(l[1], "#####", "0", 1)
		equal, differs := strings.Contains(part, "DA:"+l[2]+","+count+"\n"), strings.Contains(l[3], "differs")
		if equal == differs {
			t.Errorf("line %s was executed %s times by gcov, which equals ours: %v:%s", l[2], count, equal, l[3])
		}
		compared++
		if differs {
			differ++
		}
	}
	if compared < 25 || differ != 7 {
		t.Errorf("gcov has %d lines, %d of which differ\n%s", compared, differ, part)
	}
}

// TestConvertCoverage: coverage has what was executed, as gcov counts it.
func TestConvertCoverage(t *testing.T) {
	t.Parallel()
	c := conversions(t)
	info := c.file(t, "lcov", ".info")
	text, err := os.ReadFile(info)
	if err != nil {
		t.Fatal(err)
	}
	source, _ := filepath.Abs("../../testdata/convert/work.c")
	_, part, _ := strings.Cut(string(text), "SF:"+source+"\n")
	part, _, _ = strings.Cut(part, "end_of_record")
	for _, fn := range []string{"FNDA:21,leaf", "FNDA:177,fib", "FNDA:7,outer", "FNDA:1,main"} {
		if !strings.Contains(part, fn+"\n") {
			t.Errorf("lcov has no %s:\n%s", fn, part)
		}
	}
	dir := t.TempDir()
	outside(t, dir, "gcc", "-O0", "--coverage", "-o", "counted", source)
	outside(t, dir, filepath.Join(dir, "counted"))
	lines := regexp.MustCompile(`(?m)^ *(\d+|#####): *(\d+):(.*)`).FindAllStringSubmatch(outside(t, dir, "gcov", "-t", "counted-work.gcda"), -1)
	compared := 0
	for _, l := range lines {
		// gcov counts the line that twice is inlined into twice, and has functions begin at their names.
		if strings.Contains(l[3], "twice") || strings.Contains(l[3], "noinline") || strings.Contains(l[3], "int main") || strings.Contains(l[3], "}") {
			continue
		}
		count := strings.Replace(l[1], "#####", "0", 1)
		if !strings.Contains(part, "DA:"+l[2]+","+count+"\n") {
			t.Errorf("line %s was executed %s times by gcov%s", l[2], count, l[3])
		}
		compared++
	}
	if compared < 15 {
		t.Errorf("gcov has %d lines", compared)
	}
	t.Run("genhtml", func(t *testing.T) {
		// Sources of others' libraries are not there.
		own := filepath.Join(t.TempDir(), "own.info")
		if err := os.WriteFile(own, []byte("TN:\nSF:"+source+"\n"+part+"end_of_record\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if out := outside(t, t.TempDir(), "genhtml", "-o", "html", own); !regexp.MustCompile(`functions\.+: 100\.0% \(4 of 4`).MatchString(out) {
			t.Error(out)
		}
	})
	t.Run("drcov", func(t *testing.T) { c.drcov(t) })
}

// drcov reads a drcov file as its users' scripts do, and looks for every instruction in it.
func (c *converted) drcov(t *testing.T) {
	b, err := os.ReadFile(c.file(t, "drcov", ".log"))
	if err != nil {
		t.Fatal(err)
	}
	head := regexp.MustCompile(`(?s)^DRCOV VERSION: 2\nDRCOV FLAVOR: \w+\nModule Table: version 2, count (\d+)\nColumns: id, base, end, entry, path\n(.*)BB Table: (\d+) bbs\n`).FindSubmatchIndex(b)
	if head == nil {
		t.Fatalf("head: %.300s", b)
	}
	var bases []uint64
	for line := range strings.Lines(string(b[head[4]:head[5]])) {
		base, err := strconv.ParseUint(strings.TrimSpace(strings.Split(line, ",")[1]), 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		bases = append(bases, base)
	}
	covered := map[uint64]bool{}
	table := b[head[1]:]
	if n, _ := strconv.Atoi(string(b[head[6]:head[7]])); n*8 != len(table) || n == 0 {
		t.Fatalf("%d blocks in %d bytes", n, len(table))
	}
	for ; len(table) > 0; table = table[8:] {
		start := uint64(table[0]) | uint64(table[1])<<8 | uint64(table[2])<<16 | uint64(table[3])<<24
		size, module := uint64(table[4])|uint64(table[5])<<8, int(table[6])|int(table[7])<<8
		for i := range size {
			covered[bases[module]+start+i] = true
		}
	}
	rows, err := csv.NewReader(bytes.NewReader(c.alleria(t, "convert", "--to", "csv", "--rows", "instructions", "out"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	bytesRun := map[uint64]bool{}
	for _, r := range rows[1:] {
		ip, _ := strconv.ParseUint(r[6], 0, 64)
		for i := range len(r[9]) / 2 {
			bytesRun[ip+uint64(i)] = true
		}
	}
	for a := range bytesRun {
		if !covered[a] {
			t.Fatalf("%#x ran and is not covered", a)
		}
	}
	if len(bytesRun) != len(covered) {
		t.Errorf("%d bytes are covered, %d ran", len(covered), len(bytesRun))
	}
}

// TestConvertChampsimRepeats: the record of a repeated string instruction has the accesses of its first iterations, also where these were recorded long before it retired.
func TestConvertChampsimRepeats(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/convert/repeats.c", "-O1 -static -nostdlib -fno-stack-protector -no-pie")
	for _, fields := range []string{"address,branch", "address,value,branch"} {
		run(t, command{argv: []string{alleria(), "-q", "record", "--force", "--select", "any", "--fields", fields, "-o", profileDir, "--", prog}, dir: dir})
		trace := run(t, command{argv: []string{alleria(), "-q", "convert", "--to", "champsim", profileDir}, dir: dir}).stdout
		rows, err := csv.NewReader(bytes.NewReader(run(t, command{argv: []string{alleria(), "-q", "convert", "--to", "csv", profileDir}, dir: dir}).stdout)).ReadAll()
		if err != nil || len(trace)%64 != 0 {
			t.Fatalf("%v, %d bytes", err, len(trace))
		}
		type accesses struct{ stores, loads []string }
		want := map[string]*accesses{} // by the instruction's number
		for _, r := range rows[1:] {
			a := want[r[3]]
			if a == nil {
				a = new(accesses)
				want[r[3]] = a
			}
			if r[9] == "true" && len(a.stores) < 2 {
				a.stores = append(a.stores, r[10])
			} else if r[9] != "true" && len(a.loads) < 4 {
				a.loads = append(a.loads, r[10])
			}
		}
		full := 0
		for n := 0; n < len(trace)/64; n++ {
			var got accesses
			for at := 16; at < 64; at += 8 {
				if v := binary.LittleEndian.Uint64(trace[64*n+at:]); v != 0 && at < 32 {
					got.stores = append(got.stores, fmt.Sprintf("%#x", v))
				} else if v != 0 {
					got.loads = append(got.loads, fmt.Sprintf("%#x", v))
				}
			}
			w := want[strconv.Itoa(n)]
			if w == nil {
				w = new(accesses)
			}
			if !slices.Equal(got.stores, w.stores) || !slices.Equal(got.loads, w.loads) {
				t.Fatalf("%s: instruction %d has %v, want %v", fields, n, got, *w)
			}
			if len(got.loads) == 4 {
				full++
			}
		}
		if full != 20 {
			t.Errorf("%s: %d instructions have four loads", fields, full)
		}
	}
}
