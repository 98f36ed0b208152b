package acceptance

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// TestReturnsInCache has a program take five hundred signals and more: it returns from their handlers in the code cache. Each costs
// a stop to be delivered; one at its handler's first instruction is another, and a return with stops costs three more.
func TestReturnsInCache(t *testing.T) {
	const signals = 500
	prog := build(t, programs+"/signals-frame.c", "")
	for _, flags := range [][]string{nil, {"--engine", "no-frames"}, {"--engine", "no-sigreturn"}} {
		dir := workDir(t)
		argv := append([]string{alleria(), "-q", "record", "--log", "log", "--only", "translate"}, flags...)
		r := run(t, command{argv: append(argv, "--", prog), dir: dir})
		log, err := os.ReadFile(filepath.Join(dir, "log"))
		if err != nil || r.status != 0 {
			t.Fatalf("%v: %v, status %d\n%s", flags, err, r.status, clip(r.stderr))
		}
		number := func(expr string) int {
			m := regexp.MustCompile(expr).FindSubmatch(log)
			if m == nil {
				t.Fatalf("%s: not in the log:\n%s", expr, clip(log))
			}
			n, _ := strconv.Atoi(string(m[1]))
			return n
		}
		frames, returns, waits := number(`Frames:(\d+)`), number(`Returns:(\d+)`), number(`(\d+) waits`)
		if all := !slices.Contains(flags, "no-sigreturn"); all && returns < signals || !all && returns != 0 {
			t.Errorf("%v: %d returns in the cache of %d", flags, returns, signals)
		}
		// The first entries into each handler are those to go by.
		if all := flags == nil; all && frames < signals-20 || slices.Contains(flags, "no-frames") && frames != 0 {
			t.Errorf("%v: %d frames without a stop of %d", flags, frames, signals)
		}
		t.Logf("%v: the program waited %d times for %d signals", flags, waits, signals)
	}
}

// TestFramesOfSeveralThreads: nor does an entry cost a second stop where there are several threads, or where it interrupts a call.
func TestFramesOfSeveralThreads(t *testing.T) {
	prog := build(t, programs+"/signals-several.c", "-pthread")
	for flags, least := range map[string]int{"": 300, "no-frames": 0} {
		dir := workDir(t)
		argv := []string{alleria(), "-q", "record", "--log", "log", "--only", "translate"}
		if flags != "" {
			argv = append(argv, "--engine", flags)
		}
		r := run(t, command{argv: append(argv, "--", prog), dir: dir})
		log, err := os.ReadFile(filepath.Join(dir, "log"))
		if err != nil || r.status != 0 || string(r.stdout) != "ok\n" {
			t.Fatalf("%v, status %d: %q\n%s", err, r.status, r.stdout, clip(r.stderr))
		}
		m := regexp.MustCompile(`Frames:(\d+)`).FindSubmatch(log)
		if m == nil {
			t.Fatalf("no frames in the log:\n%s", clip(log))
		}
		if n, _ := strconv.Atoi(string(m[1])); n < least || least == 0 && n != 0 {
			t.Errorf("%q: %d frames without a stop of some 500", flags, n)
		}
	}
}

// TestFramesOfPlainHandlers: most handlers want no siginfo, and the kernel writes none.
func TestFramesOfPlainHandlers(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	r := run(t, command{argv: []string{alleria(), "-q", "record", "--log", "log", "--only", "translate", "--",
		"sh", "-c", "trap 'n=$((n+1))' USR1; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do kill -USR1 $$; done; echo $n"}, dir: dir})
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil || r.status != 0 || string(r.stdout) != "20\n" {
		t.Fatalf("%v, status %d: %q\n%s", err, r.status, r.stdout, clip(r.stderr))
	}
	m := regexp.MustCompile(`Frames:(\d+)`).FindSubmatch(log)
	if m == nil {
		t.Fatalf("no frames in the log:\n%s", clip(log))
	}
	if n, _ := strconv.Atoi(string(m[1])); n < 12 {
		t.Errorf("%d frames without a stop of 20", n)
	}
}

// TestIretInCache: a program that goes on by iretq, as .NET does from each exception, is not stopped for it.
func TestIretInCache(t *testing.T) {
	if !machineHas(t, "does-nested-task") {
		t.Skip("calls lose the flag NT here")
	}
	prog := build(t, programs+"/state-iret.c", "")
	for _, only := range []string{"translate", "count"} {
		dir := workDir(t)
		r := run(t, command{argv: []string{alleria(), "-q", "record", "--log", "log", "--only", only, "--", prog}, dir: dir})
		log, err := os.ReadFile(filepath.Join(dir, "log"))
		if err != nil || r.status != 0 || string(r.stdout) != "ok\n" {
			t.Fatalf("%v, status %d: %q\n%s", err, r.status, r.stdout, clip(r.stderr))
		}
		m := regexp.MustCompile(`Irets:(\d+) Traps:(\d+)`).FindSubmatch(log)
		if m == nil {
			t.Fatalf("neither in the log:\n%s", clip(log))
		}
		irets, _ := strconv.Atoi(string(m[1]))
		if traps, _ := strconv.Atoi(string(m[2])); irets < 500 || traps > 100 {
			t.Errorf("%s: %d were executed in the cache, %d instructions by the tracer", only, irets, traps)
		}
	}
}
