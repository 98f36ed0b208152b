package acceptance

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	straceCall   = regexp.MustCompile(`^(?:\d+ +)?(\w+)\(.*(?:= -1 (E\w+).*|= .*)$`)
	straceSignal = regexp.MustCompile(`^(?:\d+ +)?--- (SIG\w+) `)
	dumpCall     = regexp.MustCompile(`^ +syscall \d+ (\w+)\(.*?\)(.*)$`)
	dumpSignal   = regexp.MustCompile(`^ +signal \d+ (SIG\w+) code (-?\d+)`)
)

// outsideConfig records calls and signals besides the selected code.
func outsideConfig(thread, image string) string {
	return `<AlleriaConfig version="1.0"><Window><Profile><Process><Thread ` + thread + `>` + image + `</Thread></Process></Profile></Window></AlleriaConfig>`
}

// TestSyscallsEqualStraces compares the system calls of real programs, which fail
// and which not, and the signals of a fixture, with what strace lists.
func TestSyscallsEqualStraces(t *testing.T) {
	t.Parallel()
	if find("strace") == "" {
		t.Skip("no strace: the Makefile's tests install it")
	}
	fixture := build(t, "../../testdata/events/kernel.S", "-nostdlib -static -no-pie")
	for _, c := range []struct {
		argv  []string
		image string
	}{
		{[]string{find("ls"), "-l", "/usr", "/nowhere"}, `<Image/>`},
		{[]string{find("gzip"), "-c", "/etc/passwd"}, `<Image><Function><Instruction cat="any"/></Function></Image>`},
		{[]string{find("sort"), "/etc/passwd"}, `<Image><Function><Instruction cat="anyMem" accessAddressAndSize="true"/></Function></Image>`},
		{[]string{fixture}, `<Image><Function><Instruction cat="any"/></Function></Image>`},
		{[]string{fixture}, `<Image/>`},
	} {
		dir := workDir(t)
		run(t, command{argv: append([]string{"strace", "-o", "trace"}, c.argv...), dir: dir})
		b, err := os.ReadFile(filepath.Join(dir, "trace"))
		if err != nil {
			t.Skipf("strace does not work here: %v", err)
		}
		var want, got, signals []string
		for line := range strings.Lines(string(b)) {
			line = strings.TrimSpace(line)
			if m := straceCall.FindStringSubmatch(line); m != nil {
				failed := ""
				if m[2] != "" {
					failed = " fails"
				}
				if m[1] == "rseq" {
					failed = " fails" // it does while recording
				}
				want = append(want, m[1]+failed)
			}
			if m := straceSignal.FindStringSubmatch(line); m != nil {
				signals = append(signals, m[1])
			}
		}
		want = want[1:] // the execve that began it
		writeConfig(t, dir, outsideConfig(`syscalls="true" signals="true"`, c.image))
		r := run(t, command{argv: append([]string{alleria(), "-q", "record", "-c", "w.xml", "-o", profileDir, "--"}, c.argv...), dir: dir})
		same(t, run(t, command{argv: c.argv, dir: dir}), r)
		verify(t, dir)
		var gotSignals []string
		d := run(t, command{argv: []string{alleria(), "dump", "--process", "1", "--thread", "1", profileDir}, dir: dir})
		previous := ""
		for line := range strings.Lines(string(d.stdout)) {
			line = strings.TrimRight(line, "\n")
			if m := dumpCall.FindStringSubmatch(line); m != nil {
				failed := ""
				if strings.Contains(m[2], "errno") {
					failed = " fails"
				}
				got = append(got, m[1]+failed)
				if c.image != `<Image/>` && !strings.HasSuffix(previous, " syscall") && strings.Contains(c.image, `"any"`) {
					t.Errorf("%v: %q stands behind %q", c.argv, line, previous)
				}
			}
			if m := dumpSignal.FindStringSubmatch(line); m != nil {
				gotSignals = append(gotSignals, m[1])
			}
			previous = line
		}
		isFutex := func(s string) bool { return strings.HasPrefix(s, "futex") } // made or not as threads happen to meet
		got, want = slices.DeleteFunc(got, isFutex), slices.DeleteFunc(want, isFutex)
		if !slices.Equal(got, want) {
			t.Errorf("%v: calls\n%v\nstrace lists\n%v", c.argv, got, want)
		}
		if !slices.Equal(gotSignals, signals) {
			t.Errorf("%v: signals %v, strace lists %v", c.argv, gotSignals, signals)
		}
	}
}

// TestCallsOfOneThread records the calls of the second of several threads only.
func TestCallsOfOneThread(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/events/kernel.S", "-nostdlib -static -no-pie")
	writeConfig(t, dir, `<AlleriaConfig version="1.0"><Window><Profile><Process><Thread n="2" syscalls="true"><Image/></Thread></Process></Profile></Window></AlleriaConfig>`)
	if r := run(t, command{argv: []string{alleria(), "-q", "record", "-c", "w.xml", "-o", profileDir, "--", prog}, dir: dir}); r.status != 0 || len(r.stderr) > 0 {
		t.Fatalf("%d %s", r.status, r.stderr)
	}
	d := run(t, command{argv: []string{alleria(), "dump", "--process", "1", profileDir}, dir: dir})
	var calls []string
	for line := range strings.Lines(string(d.stdout)) {
		if m := dumpCall.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			calls = append(calls, m[1])
		}
	}
	if !slices.Equal(calls, []string{"exit"}) {
		t.Errorf("recorded %v", calls)
	}
}
