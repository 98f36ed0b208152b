package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A native start that is watched by breakpoints in the dynamic linker sees what one sees
// that stops at every system call: restartable sequences are refused to all threads, a
// Load event fires where the linker's call has returned, so that the same instructions are
// recorded from there on, and nothing of it is left in the program that runs on.
func TestNativeStart(t *testing.T) {
	prog := build(t, "../../testdata/events/starts.c", "-O1 -fno-builtin -pthread -lm")
	dir := workDir(t)
	native := run(t, command{argv: []string{prog}, dir: dir})
	if native.status != 0 || !strings.HasPrefix(string(native.stdout), "registered: 1 1, 3") {
		t.Skipf("natively %q: the C library or the kernel has no restartable sequences", native.stdout)
	}
	profile := `<Profile><Process><Thread><Image><Function><Instruction cat="any"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`
	var counts []uint64
	var stops []int
	for _, flags := range [][]string{nil, {"--engine", "no-start-sites"}} {
		writeConfig(t, dir, `<AlleriaConfig version="1.0"><Window><On><Load name="libnothere.so"/></On>`+profile)
		argv := append([]string{alleria(), "-q", "record", "--discard", "-c", "w.xml"}, flags...)
		r := run(t, command{argv: append(argv, "--", prog), dir: dir})
		if want := "registered: 0 0, 3\n"; r.status != 0 || string(r.stdout) != want {
			t.Errorf("%v: status %d, %q, want %q\n%s", flags, r.status, r.stdout, want, clip(r.stderr))
		}
		writeConfig(t, dir, `<AlleriaConfig version="1.0"><Window><On><Load name="libm.so.6"/></On><Till><Call name="main"/></Till>`+profile)
		argv = append([]string{alleria(), "-q", "record", "--force", "--no-aslr", "-c", "w.xml", "-o", profileDir}, flags...)
		r = run(t, command{argv: append(argv, "--", prog), dir: dir})
		if r.status != 0 {
			t.Fatalf("%v: status %d\n%s", flags, r.status, clip(r.stderr))
		}
		verify(t, dir)
		var report struct {
			Processes []struct{ Instructions uint64 }
		}
		if err := json.Unmarshal(run(t, command{argv: []string{alleria(), "report", "--json", profileDir}, dir: dir}).stdout, &report); err != nil {
			t.Fatal(err)
		}
		counts = append(counts, report.Processes[0].Instructions)
		stops = append(stops, stopsOf(t, dir, prog, flags))
	}
	if counts[0] != counts[1] || counts[0] < 10_000 {
		t.Errorf("instructions from the loading of libm to main: %d, with stops at all calls %d", counts[0], counts[1])
	}
	if stops[0]*2 > stops[1] {
		t.Errorf("%d stops, with stops at all calls %d", stops[0], stops[1])
	}
}

// stopsOf is how often a program that runs natively under a window that never opens was stopped.
func stopsOf(t *testing.T, dir, prog string, flags []string) int {
	t.Helper()
	writeConfig(t, dir, strings.Replace(everything(""), "<Profile>", `<On><Load name="libnothere.so"/></On><Profile>`, 1))
	log := "log" + strings.Join(flags, "")
	argv := append([]string{alleria(), "-q", "record", "--discard", "-c", "w.xml", "--log", log}, flags...)
	if r := run(t, command{argv: append(argv, "--", prog), dir: dir}); r.status != 0 {
		t.Fatalf("status %d\n%s", r.status, clip(r.stderr))
	}
	return loggedStops(t, dir, log)
}

// loggedStops reads the number of stops from a log.
func loggedStops(t *testing.T, dir, log string) (n int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, log))
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(b), "Stops:")
	if _, err := fmt.Sscan(after, &n); !ok || err != nil {
		t.Fatalf("no number of stops in %q", b)
	}
	return n
}

// What a start does often and changes nothing is not asked about: the processor's state that is saved without the x87's, where something else lies in its place,
// and files that are opened for reading. Each program does one of these 2,000 times.
func TestNotAskedAbout(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]string{"state-x87-chosen.c": "ask-pointers", "calls-opens.c": "ask-opens"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prog := build(t, programs+"/"+name, "")
			if native := run(t, command{argv: []string{prog}, dir: workDir(t)}); native.status != 0 {
				t.Skipf("natively: status %d; it needs xsavec", native.status)
			}
			var asked [2]int
			for i, flags := range [][]string{nil, {"--engine", off}} {
				got, of := statsOf(t, workDir(t), append(flags, "--only", "translate"), prog)
				if got.status != 0 || string(got.stdout) != "ok\n" {
					t.Errorf("%v: status %d, %q, %s", flags, got.status, got.stdout, clip(got.stderr))
				}
				asked[i] = of("Dispatches")
			}
			if asked[1]-asked[0] < 1900 {
				t.Errorf("%d requests, and %d where the tracer is asked about all", asked[0], asked[1])
			}
		})
	}
}

// TestRingsThatGrow: a program whose rings grow by what it writes has the same recorded as one whose rings grow by each wait.
func TestRingsThatGrow(t *testing.T) {
	t.Parallel()
	var dumps [2]string
	for i, flags := range [][]string{nil, {"--engine", "hasty-rings"}} {
		dir := workDir(t)
		argv := append([]string{alleria(), "-q", "record", "--no-aslr", "--buffer-chunk", "16K", "--fields", "function,address", "-o", profileDir}, flags...)
		if r := run(t, command{argv: append(argv, "--", "/bin/ls", "/nothing/there"), dir: dir}); r.status != 2 {
			t.Fatalf("%v: status %d\n%s", flags, r.status, clip(r.stderr))
		}
		verify(t, dir)
		dumps[i] = withoutTIDs(string(run(t, command{argv: []string{alleria(), "dump", profileDir}, dir: dir}).stdout))
	}
	if dumps[0] != dumps[1] || len(dumps[0]) < 1<<20 {
		t.Errorf("%d and %d bytes, which differ from line %s on", len(dumps[0]), len(dumps[1]), firstDifference(dumps[0], dumps[1]))
	}
}

// TestTimerSlack: programs have the timer slack that alleria was started with, whatever its own threads have; and of these only some of the runtime's have more.
func TestTimerSlack(t *testing.T) {
	t.Parallel()
	slack := build(t, "../../testdata/events/slack.c", "")
	dir := workDir(t)
	for _, flags := range [][]string{nil, {"--engine", "punctual-monitor"}, {"--analysis", "methods"}, {"--header", os.DevNull}} { // the last two are the whole command's
		for _, of := range []string{"70000", "700000"} {
			argv := append([]string{slack, of, alleria(), "-q", "record", "--force", "-o", "out"}, flags...)
			r := run(t, command{argv: append(argv, "--", slack), dir: dir})
			if want := of + " " + of + "\n"; r.status != 0 || !strings.HasPrefix(string(r.stdout), want) {
				t.Errorf("%v: status %d, %q, want %q\n%s", flags, r.status, r.stdout, want, clip(r.stderr))
			}
		}
		// What each thread of the tracer has, which the program reads.
		look := `for t in /proc/$PPID/task/*; do cat /proc/${t##*/}/timerslack_ns || exit 9; done`
		argv := append([]string{alleria(), "-q", "record", "--force", "-o", "out"}, flags...)
		r := run(t, command{argv: append(argv, "--", "sh", "-c", look), dir: dir})
		more, on := strings.Count("\n"+string(r.stdout), "\n500000"), len(flags) == 0 || flags[1] != "punctual-monitor"
		if r.status == 9 {
			t.Skip("others' timer slack cannot be read here")
		}
		if (more > 0) != on || strings.Count(string(r.stdout), "\n") <= more {
			t.Errorf("%v: threads of the tracer have\n%s", flags, r.stdout)
		}
	}
}
