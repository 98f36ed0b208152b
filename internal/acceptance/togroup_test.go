package acceptance

import (
	"fmt"
	"strings"
	"testing"
)

// TestSignalsToGroup: signals that a program sends to its process group, and handles, do not end the tracer, which is in that as well.
func TestSignalsToGroup(t *testing.T) {
	t.Parallel()
	prog := build(t, programs+"/manual/togroup.c", "")
	var all []string
	for s := 1; s <= 64; s++ {
		switch s {
		case 9, 19, 20, 21, 22, 32, 33: // not to be handled, or stopping us; of the C library
			continue
		}
		all = append(all, fmt.Sprint(s))
	}
	for _, flags := range [][]string{{"--only", "translate"}, {"--on-call", "nothing"}} {
		argv := append(append(append([]string{alleria(), "-q", "record", "--discard"}, flags...), "--", prog), all...)
		if flags[0] == "--only" {
			argv = append(append(append([]string{alleria(), "-q", "record"}, flags...), "--", prog), all...)
		}
		r := run(t, command{argv: argv, dir: workDir(t)})
		if r.status != 0 || strings.TrimSpace(string(r.stdout)) != fmt.Sprint(len(all)) {
			t.Errorf("%v: status %d, %d signals, %q; %s", flags, r.status, len(all), r.stdout, clip(r.stderr))
		}
	}
}

// TestNothingStaysOpen: a program that cannot be traced, as our memory does not fit into its own, has no descriptor of ours.
func TestNothingStaysOpen(t *testing.T) {
	t.Parallel()
	list := []string{find("sh"), "-c", "ulimit -v 8000000; exec \"$@\"", "sh"}
	program := []string{find("ls"), "-l", "/proc/self/fd"}
	r := run(t, command{argv: append(append(list, alleria(), "-q", "record", "--only", "translate", "--"), program...), dir: workDir(t)})
	if r.status != 0 || strings.Contains(string(r.stdout), "alleria") || !strings.Contains(string(r.stderr), "ran untraced") {
		t.Errorf("status %d\n%s%s", r.status, r.stdout, clip(r.stderr))
	}
}

// TestMovedCode has a program put its code into other memory while a window waits for a function that lies there.
func TestMovedCode(t *testing.T) {
	t.Parallel()
	prog := build(t, programs+"/code-moved.c", "")
	for _, threshold := range []int{1, 3, 40, 60, 1000} {
		dir := workDir(t)
		file := writeFile(t, dir, "c.xml", fmt.Sprintf(`<AlleriaConfig version="1.0"><Window name="w" reopenable="true"><On><Call name="work" threshold="%d"/></On><Till><Call name="work"/></Till>`+
			`<Profile><Process><Thread><Image><Function><Instruction cat="any"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`, threshold))
		for _, flags := range [][]string{nil, {"--engine", "no-jumps"}} {
			r := run(t, command{argv: append(append([]string{alleria(), "-q", "record", "-c", file, "--discard"}, flags...), "--", prog), dir: dir})
			if r.status != 0 || string(r.stdout) != "ok\n" {
				t.Errorf("threshold %d, %v: status %d, %q, %s", threshold, flags, r.status, r.stdout, clip(r.stderr))
			}
		}
	}
}
