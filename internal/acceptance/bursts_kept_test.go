package acceptance

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"alleria/analysis"
)

// TestKeptBursts: a second run of which bursts are recorded begins with the first one's code, that between bursts among it. What it records the program does, and
// what is recorded and passed over together is all that it executes, to the instruction.
func TestKeptBursts(t *testing.T) {
	t.Parallel()
	argv := []string{"/bin/echo", "some", "words"}
	dir := workDir(t)
	kept, _ := keptIn(dir)
	profile := func(out string, more ...string) (rep *analysis.ProcessReport, lines []string, of func(string) int) {
		got, of := statsOf(t, dir, append([]string{"--no-aslr", "--cache", kept, "--select", "any", "--fields", "function,address", "-o", out}, more...), argv...)
		if string(got.stdout) != "some words\n" || got.status != 0 {
			t.Errorf("%s: it printed %q, status %d, %s", out, got.stdout, got.status, got.stderr)
		}
		if v := run(t, command{argv: []string{alleria(), "verify", "-q", out}, dir: dir}); v.status != 0 {
			t.Errorf("%s: %s%s", out, v.stdout, v.stderr)
		}
		var all analysis.Report
		if err := json.Unmarshal(run(t, command{argv: []string{alleria(), "report", "--json", out}, dir: dir}).stdout, &all); err != nil || len(all.Processes) != 1 {
			t.Fatalf("%s: report: %v, %d processes", out, err, len(all.Processes))
		}
		for line := range strings.Lines(string(run(t, command{argv: []string{alleria(), "dump", out}, dir: dir}).stdout)) {
			if f := strings.Fields(line); len(f) > 2 && f[0] != "#" && !strings.HasSuffix(f[0], ":") {
				lines = append(lines, strings.Join(f[1:], " ")) // behind the number of the instruction, or the kind of access
			}
		}
		slices.Sort(lines)
		return &all.Processes[0], slices.Compact(lines), of
	}
	whole, does, _ := profile("whole", "--cache", "off")
	rate := []string{"--sample-rate", "1/4"}
	cold, _, none := profile("cold", rate...)
	warm, recorded, some := profile("warm", rate...)
	off, _, zero := profile("off", append(rate, "--engine", "no-kept-bursts")...)
	for _, p := range []*analysis.ProcessReport{cold, warm, off} {
		if s := p.Sampling; s == nil || s.Bursts < 5 || s.Recorded+s.Passed != whole.Instructions {
			t.Errorf("%+v recorded and passed over; there are %d instructions", s, whole.Instructions)
		}
	}
	for _, line := range recorded {
		if _, ok := slices.BinarySearch(does, line); !ok {
			t.Errorf("it does not do %q", line)
			break
		}
	}
	if len(recorded) < 1000 || none("Reused") != 0 || some("Reused") < 1000 || zero("Reused") != 0 || 2*some("Dispatches") > none("Dispatches") {
		t.Errorf("runs began with %d blocks, %d, and %d where that is off; %d and %d requests; %d lines", none("Reused"), some("Reused"), zero("Reused"), none("Dispatches"), some("Dispatches"), len(recorded))
	}
}

// TestKeptBurstsOfPatchedCode: between bursts by processor time nobody sees a program patch its code. A program that does begins with nothing of what one left that
// does not, and leaves nothing to it.
func TestKeptBurstsOfPatchedCode(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/programs/code-patched.c", "")
	flags := []string{"--discard", "--fields", "address", "--sample-rate", "5%", "--sample-by", "time", "--engine", "keep-few"}
	for _, order := range [][]string{{"42", "42", "43"}, {"43", "42", "42"}} {
		dir := workDir(t)
		kept, _ := keptIn(dir)
		took := 0
		for _, want := range order {
			argv := []string{prog}
			if want == "43" {
				argv = append(argv, "patch")
			}
			got, reused := keptRun(t, dir, kept, flags, argv...)
			if string(got.stdout) != want+"\n" || got.status != 0 {
				t.Errorf("%v: it printed %q, status %d, %s", order, clip(got.stdout), got.status, clip(got.stderr))
			}
			took += reused
		}
		if took == 0 {
			t.Errorf("%v: none began with anything", order)
		}
	}
}

// TestBurstsByTimeInCache: a process that stays in the cache between bursts by time is not asked at each block whether it is time for one.
func TestBurstsByTimeInCache(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	const script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo $i"
	got, of := statsOf(t, dir, []string{"--unpatched", "--sample-rate", "5%", "--sample-by", "time", "--discard"}, "sh", "-c", script)
	if string(got.stdout) != "100000\n" || of("Dispatches") == 0 || of("Dispatches") > 20_000 {
		t.Errorf("it prints %s, %d dispatches", got.stdout, of("Dispatches"))
	}
}
