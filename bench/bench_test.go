package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"alleria/internal/programfile"
)

// fakeTracer stands for alleria: it runs the program, and writes run.json where
// an output directory is named. What "record --only translate" does to the
// output is up to the test.
func fakeTracer(t *testing.T, translate string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tracer")
	script := `#!/bin/sh
if [ "$1" = heatmap ]; then
	n=80
	[ ! -e "$7/sample" ] || n=100
	printf 'address,bytes,reads,writes,regions\n0x1000,1,%s,10,a\n0x2000,1,0,810,b c\n0x3000,1,1,0,d\n' $n >"$6"
	exit
fi
if [ "$1" = analyze ]; then
	[ "$GOMAXPROCS" = 1 ] || exit 1
	i=0
	while [ $i -lt 30000 ]; do i=$((i+1)); done
	exit
fi
if [ "$1" = report ]; then
	echo '{"processes":[{"loads":3000,"stores":1000,"functions":[{"name":"f","image":"a","instructions":400,"error":0.2},{"name":"f","image":"a","instructions":440,"error":0.2},{"name":"g","image":"a","instructions":160,"error":0.1}]}]}'
	exit
fi
out= only= sample= cache=$XDG_CACHE_HOME
while [ "$1" != -- ]; do
	case $1 in
	-o) out=$2; shift ;;
	--only) only=$2; shift ;;
	--sample-rate) sample=1; shift ;;
	--cache) cache=$2; shift ;;
	--log) printf "%s\\n" "processing threads anywhere" "target: 0.250000 s user, 0.125000 s system, 70 page faults, 3 waits, 1 times without its processor" >"$2"; shift ;;
	esac
	shift
done
shift
if [ -n "$out" ]; then
	mkdir -p "$out"
	echo '{"format":1,"processes":[{"number":1,"instructions":1000,"counted":{"functions":[{"name":"f","image":"a","instructions":800},{"name":"g","image":"a","instructions":200},{"name":"rare","image":"a","instructions":5}]}}]}' >"$out/run.json"
	head -c 4000 /dev/zero >"$out/data"
	[ -z "$sample" ] || touch "$out/sample"
fi
[ "$only" != count ] || echo "process 1: 5000 instructions" >&2
[ "$only" != translate ] || { ` + translate + `; }
exec "$@"
`
	if err := programfile.Write(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func runBench(t *testing.T, args ...string) (int, []row, string) {
	t.Helper()
	var out, errs bytes.Buffer
	status := run(append([]string{"-dir", t.TempDir(), "-short", "-json"}, args...), &out, &errs)
	var rows []row
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &rows); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
	}
	return status, rows, errs.String()
}

func TestBenchMeasures(t *testing.T) {
	status, rows, errs := runBench(t, "-alleria", fakeTracer(t, "sleep 0.2"), "-n", "2", "-only", "true,perl", "-modes", "translate,disk")
	if status != 0 || len(rows) != 6 {
		t.Fatalf("status %d, %d rows\n%s", status, len(rows), errs)
	}
	for i, want := range []string{"perl native", "perl translate", "perl disk", "true native", "true translate", "true disk"} {
		if got := rows[i].Program + " " + rows[i].Mode; got != want {
			t.Errorf("row %d is %q, want %q", i, got, want)
		}
	}
	if r := rows[4]; r.Seconds < 0.2 || r.Ratio < 2 {
		t.Errorf("0.2 s of sleep were measured as %+v", r)
	}
	if r := rows[2]; r.Instructions != 1000 || r.BytesPerInstruction < 4 || r.BytesPerInstruction > 4.3 {
		t.Errorf("4,000 bytes and run.json for 1,000 instructions: %+v", r)
	}
	if r := rows[0]; r.Ratio != 1 || r.NativeRSS == 0 {
		t.Errorf("native: %+v", r)
	}
}

// TestBenchReads: each analysis of what was recorded has its rate, on one processor.
func TestBenchReads(t *testing.T) {
	_, rows, errs := runBench(t, "-alleria", fakeTracer(t, "true"), "-n", "1", "-only", "perl", "-modes", "analyze")
	if len(rows) != 2 || rows[1].Failure != "" || len(rows[1].Rates) != 8 {
		t.Fatalf("%+v\n%s", rows, errs)
	}
	for _, r := range rows[1].Rates {
		if r.Accesses <= 0 || r.Accesses > 4000/0.001 {
			t.Errorf("%s: 4,000 accesses in what takes at least a millisecond were %.0f a second", r.Analysis, r.Accesses)
		}
	}
	var out bytes.Buffer
	printRates(&out, []row{{Program: "p", readingRow: readingRow{Rates: []rate{{"reuse --sample 8192", 99e6}, {"paths", 100e6}}}}})
	if want := "\np analyze reuse --sample 8192: 99 M accesses a second and processor (must 100) ✗\np analyze paths: 100 M accesses a second and processor (must 100) ✓"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// TestBenchFirstRuns: a start's first run, which takes a second here, has a row of its own, and counts in no other.
func TestBenchFirstRuns(t *testing.T) {
	tracer := fakeTracer(t, `k=$cache/${1##*/}; [ -e "$k" ] || { mkdir -p "$cache"; touch "$k"; sleep 1; }`)
	_, rows, errs := runBench(t, "-alleria", tracer, "-n", "1", "-only", "true,perl", "-modes", "translate,translate-first")
	if len(rows) != 5 {
		t.Fatalf("%d rows\n%s", len(rows), errs)
	}
	for i, want := range []string{"perl native", "perl translate", "true native", "true translate", "true translate-first"} {
		if got := rows[i].Program + " " + rows[i].Mode; got != want {
			t.Errorf("row %d is %q, want %q", i, got, want)
		}
	}
	if rows[1].Seconds < 1 {
		t.Errorf("of another program the first run counts: %+v", rows[1])
	}
	if rows[3].Seconds >= 1 {
		t.Errorf("a start's first run counts among the later ones: %+v", rows[3])
	}
	if rows[4].Seconds < 1 {
		t.Errorf("what was kept is there at a first run: %+v", rows[4])
	}
}

func TestBenchReadsCounts(t *testing.T) {
	_, rows, _ := runBench(t, "-alleria", fakeTracer(t, "true"), "-n", "1", "-only", "true", "-modes", "count")
	if len(rows) != 2 || rows[1].Instructions != 5000 || rows[0].InstructionsPerSec == 0 || rows[1].BytesPerInstruction != 0 {
		t.Errorf("%+v", rows)
	}
}

// TestBenchAccuracy: what a report says of functions is compared with exact counts, of which one function in three is too rare to matter.
func TestBenchAccuracy(t *testing.T) {
	_, rows, errs := runBench(t, "-alleria", fakeTracer(t, "true"), "-n", "2", "-only", "true", "-modes", "heat,error-5%")
	if len(rows) != 4 || rows[1].Mode != "functions" || rows[2].Mode != "heat" {
		t.Fatalf("%+v\n%s", rows, errs)
	}
	r := rows[3] // f is 5 % too high, g 20 % too low, all 5 instructions of 1,005 too few
	if r.Functions != 2 || math.Abs(r.MeanError-0.125) > 1e-9 || math.Abs(r.WorstError-0.2) > 1e-9 || math.Abs(r.TotalError-5.0/1005) > 1e-9 || r.Told != 0.5 || r.MustError != 0.03 {
		t.Errorf("%+v", r.accuracyRow)
	}
	// One block of three is too rare; of 90 accesses to the first 110 are estimated.
	if r.HeatBlocks != 2 || math.Abs(r.MeanHeatError-1.0/9) > 1e-9 || math.Abs(r.WorstHeatError-2.0/9) > 1e-9 {
		t.Errorf("%+v", r.accuracyRow)
	}
	var out bytes.Buffer
	printTable(&out, rows)
	if !strings.Contains(out.String(), "2 functions off by 12.5 % on average (must 3) ✗") || !strings.Contains(out.String(), "2 blocks of 64K of the heat map by 11.1 %, 22.2 at most") {
		t.Error(out.String())
	}
}

// TestBenchPool: what adapts is compared with the best fixed number of threads.
func TestBenchPool(t *testing.T) {
	_, rows, errs := runBench(t, "-alleria", fakeTracer(t, "true"), "-n", "1", "-only", "true", "-modes", "pool")
	if len(rows) != 2+len(fixedNumbers()) || rows[1].Mode != "disk" {
		t.Fatalf("%+v\n%s", rows, errs)
	}
	best := math.Inf(1)
	for _, r := range rows[2:] {
		best = min(best, r.Ratio)
	}
	if r := rows[1]; math.Abs(r.PoolRatio-r.Ratio/best) > 1e-9 || r.Best == "" || r.MustPool != 1.1 {
		t.Errorf("%+v", r.poolRow)
	}
}

func TestBenchNoticesWrongRuns(t *testing.T) {
	for _, c := range []struct{ translate, says string }{
		{"echo more", "output differs"},
		{"exit 3", "exit status 3"},
		{"kill -9 $$", "exit status -1"},
		{"sleep 9", "not done after"},
	} {
		status, rows, _ := runBench(t, "-alleria", fakeTracer(t, c.translate), "-n", "1", "-timeout", "500ms", "-only", "true", "-modes", "translate")
		if status != 1 || len(rows) != 2 || !strings.Contains(rows[1].Failure, c.says) {
			t.Errorf("%s: status %d, %+v", c.translate, status, rows)
		}
	}
}

func TestBenchFlags(t *testing.T) {
	for _, args := range [][]string{{"-only", "nosuch"}, {"-modes", "nosuch"}, {"-n", "0"}, {"extra"}} {
		if status, _, errs := runBench(t, args...); status != 2 || errs == "" {
			t.Errorf("%v: status %d, %q", args, status, errs)
		}
	}
	var out bytes.Buffer
	if status := run([]string{"-list"}, &out, &out); status != 0 || !strings.Contains(out.String(), "cc1") || !strings.Contains(out.String(), "dr-disk") {
		t.Errorf("-list: %d\n%s", status, out.String())
	}
}

func TestTargets(t *testing.T) {
	none := func(string) float64 { return 0 }
	if got := targetOf("disk", "bzip2", none); got.must != 38.0/4 || got.reach != 38.0/5 || got.mustBytes != 0.505 {
		t.Errorf("without the rival: %+v", got)
	}
	here := func(m string) float64 { return map[string]float64{"dr-inscount": 4, "dr-inscount-nt": 3}[m] }
	if got := targetOf("count", "bzip2", here); got.must != 1 || got.reach != 1.5 {
		t.Errorf("the rival's better setting does not count: %+v", got)
	}
	if got := targetOf("count", "perl", none); got.must != 0 {
		t.Errorf("a figure for a program that has none: %+v", got)
	}
	starts := func(m string) float64 { return map[string]float64{"translate": 4, "dr": 20, "dr-notrace": 10}[m] }
	for mode, want := range map[string]float64{"translate": 10, "translate-one": 5.2, "translate-busy": 10, "addresses": 6} {
		if got := targetOf(mode, "start-bash", starts); math.Abs(got.must-want) > 1e-9 {
			t.Errorf("%s of a start: %+v, want %v", mode, got, want)
		}
	}
	both := func(m string) float64 {
		return map[string]float64{"translate-in-turn": 10, "addresses-once": 4}[m]
	}
	for mode, want := range map[string]float64{"translate-together": 12, "addresses-twice": 6, "translate-in-turn": 0, "addresses-once": 0} {
		if got := targetOf(mode, "start-bash", both); math.Abs(got.must-want) > 1e-9 {
			t.Errorf("%s: %+v, want %v", mode, got, want)
		}
	}
	analyses := func(m string) float64 { return map[string]float64{"vg-cachegrind": 40, "count": 2}[m] }
	for mode, want := range map[string]float64{"methods-inlined": 1.5, "calltree": 3, "cache": 40, "reuse": 13, "reuse-8192": 3, "heatmap": 0} {
		if got := targetOf(mode, "perl", analyses); got.must != want {
			t.Errorf("%s: %+v, want %v", mode, got, want)
		}
	}
	for _, c := range []struct {
		got, must, reach float64
		want             string
	}{{1, 2, 1.5, "✓✓"}, {1.8, 2, 1.5, "✓"}, {2.5, 2, 1.5, "✗"}, {1, 0, 0, ""}, {1.5, 2, 0, "✓"}} {
		if v := verdictOf(c.got, c.must, c.reach); v != c.want {
			t.Errorf("%+v: %q", c, v)
		}
	}
}

func TestMedianAndMeans(t *testing.T) {
	if median([]float64{3, 1, 2}) != 2 || median([]float64{4, 1, 2, 3}) != 2.5 || median(nil) != 0 {
		t.Error("median")
	}
	rows := means([]row{{Program: "a", Mode: "m", Ratio: 2}, {Program: "b", Mode: "m", Ratio: 8}, {Program: "true", Mode: "m", Ratio: 100},
		{Program: "c", Mode: "m", Ratio: 5, Failure: "x"}}, []mode{{name: "m"}})
	if len(rows) != 1 || rows[0].Ratio < 3.999 || rows[0].Ratio > 4.001 {
		t.Errorf("%+v", rows)
	}
}

func TestTableLinesUp(t *testing.T) {
	var out bytes.Buffer
	printTable(&out, []row{
		{Program: "bzip2", Mode: "native", Seconds: 1.25, Ratio: 1, Low: 0.99, High: 1.01},
		{Program: "bzip2", Mode: "translate", Seconds: 1.5, Ratio: 1.2, Low: 1.1, High: 1.3, Must: 1.05, memoryRow: memoryRow{TracerRSS: 64 << 20}},
		{Program: "bzip2", Mode: "count", Failure: "its output differs from the native one"},
	})
	lines := strings.Split(out.String(), "\n")
	if strings.Index(lines[0], "ratio")+len("ratio") != strings.Index(lines[2], "1.20")+len("1.20") {
		t.Errorf("columns do not line up:\n%s", out.String())
	}
	if !strings.Contains(lines[2], "✗") || !strings.Contains(lines[3], "differs") {
		t.Errorf("verdicts:\n%s", out.String())
	}
}

// TestBuildTargets: a build with all its children is held to figures of its own, of which DynamoRIO's stands for recording.
func TestBuildTargets(t *testing.T) {
	dr := func(mode string) float64 { return map[string]float64{"dr": 12, "dr-notrace": 11}[mode] }
	for mode, must := range map[string]float64{"followed": 1.05, "count": 5, "addresses": 11, "disk": 22, "blocks": 0} {
		if got := targetOf(mode, buildProgram, dr).must; got != must {
			t.Errorf("%s: %v, want %v", mode, got, must)
		}
	}
	if leavesChildren(buildProgram, valgrindChildren) || !leavesChildren(buildProgram, "vg-none") {
		t.Error("Valgrind's modes of a build")
	}
}

// TestBenchArming: what arming a function takes is what the run takes more than natively, by how many functions there are; no other mode runs the program.
func TestBenchArming(t *testing.T) {
	_, rows, errs := runBench(t, "-alleria", fakeTracer(t, "true"), "-n", "1", "-only", "arming", "-modes", "arming,translate")
	if len(rows) != 2 {
		t.Fatalf("%+v\n%s", rows, errs)
	}
	if r := rows[1]; r.Failure != "" || r.Mode != "arming" || r.NanosPerCall == nil || r.MustNanos != 20_000 {
		t.Errorf("%+v", r)
	}
}

// TestBenchCaptured: what a captured call costs is what the program says of itself, less what it says natively; the configuration names the function of the case.
func TestBenchCaptured(t *testing.T) {
	_, rows, errs := runBench(t, "-alleria", fakeTracer(t, "true"), "-n", "1", "-only", "captured-ints,captured-never,true", "-modes", "captured,translate")
	if len(rows) != 2+2+2 {
		t.Fatalf("%+v\n%s", rows, errs)
	}
	if r := rows[1]; r.Program != "true" || r.Mode != "translate" {
		t.Errorf("true: %+v", r)
	}
	for _, r := range rows[2:] {
		if r.Failure != "" || r.Mode == "captured" && (r.NanosPerCall == nil || r.Ratio != 0 || r.MustNanos != map[string]float64{"captured-ints": 40, "captured-never": 1}[r.Program]) {
			t.Errorf("%+v", r)
		}
	}
	if text := capturedConfigs()["captured-never.xml"]; !strings.Contains(text, `name="never"`) || strings.Contains(text, `name="ints"`) {
		t.Error(text)
	}
	if v, ok := ownFigure("warning: x\n12.500 ns a call\n"); !ok || v != 12.5 {
		t.Errorf("%v, %v", v, ok)
	}
	if got := fewer([]string{"p", "ints", "2000", "1"}, 100); got[2] != "20" {
		t.Errorf("%q", got)
	}
}

// TestSeveral has modes that run their program several times do so, side by side or not, and print what the last one does; recorders are told to keep nothing where a shell executes it.
func TestSeveral(t *testing.T) {
	marks := t.TempDir()
	of := func(name string) mode {
		return mode{name: name, command: func(p []string, _ string) []string { return append([]string{"env", "--"}, p...) }}
	}
	program := []string{"sh", "-c", `mktemp "$1/XXXXXX" >/dev/null; echo done; exit 3`, "sh", marks}
	runs := map[string]int{inTurn: 4, together: 4, once: 1, twice: 2}
	for _, m := range several(of("a"), of("b")) {
		argv := m.command(program, "")
		kind := m.name[1:]
		if kind == once || kind == twice {
			if len(argv) < 4 || argv[1] != "--cache" || argv[2] != "off" || argv[3] != "--" {
				t.Errorf("%s: %q keeps translations", m.name, argv)
				continue
			}
			argv = append([]string{"env"}, argv[4:]...)
		}
		out, err := exec.Command(argv[0], argv[1:]...).Output()
		var status *exec.ExitError
		if !errors.As(err, &status) || status.ExitCode() != 3 || string(out) != "done\n" {
			t.Errorf("%s: %v, %q", m.name, err, out)
		}
		made, _ := filepath.Glob(filepath.Join(marks, "*"))
		if len(made) != runs[kind] {
			t.Errorf("%s: %d runs, want %d", m.name, len(made), runs[kind])
		}
		for _, f := range made {
			_ = os.Remove(f)
		}
	}
}
