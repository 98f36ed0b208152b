package acceptance

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// ownSequences is what record says of a process with restartable sequences of its own.
var ownSequences = regexp.MustCompile(`(?m)^alleria: process \d \([\w-]+\) had restartable sequences of its own before it was traced: .*\n`)

// sequencesModes are ways of recording the processes that a test names.
func sequencesModes() map[string][]string {
	return map[string][]string{
		"recorded":  {"-o", profileDir},
		"dropped":   {"--discard"},
		"armed":     {"--on-call", "mark", "--till-return", "mark", "-o", profileDir},
		"over":      {"--on-call", "mark", "--max-instructions", "1000", "-o", profileDir},
		"unpatched": {"--unpatched", "--on-call", "mark", "--till-return", "mark", "-o", profileDir},
		"captured":  {"--on-call", "nobody", "--intercept", "mark", "-o", profileDir},
	}
}

// TestSequencesFromBefore traces processes that have restartable sequences already, since they were forked by one that is not recorded: their threads get them as natively,
// in whichever generation the first is that is traced, and a program that one executes has none.
func TestSequencesFromBefore(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/trees/sequences.c", "-O1 -pthread")
	for way, variant := range []string{"", "exec"} {
		argv := []string{prog, variant}
		native := run(t, command{argv: argv, dir: t.TempDir()})
		if native.status != 0 || !strings.HasPrefix(string(native.stdout), "1: ok 1") {
			t.Skipf("natively %q: the C library or the kernel has no restartable sequences", native.stdout)
		}
		for name, flags := range sequencesModes() {
			for n, processes := range []string{"2,3,4", "2", "3", "2,4"} {
				if !inTurn(n, way, 2) {
					continue
				}
				t.Run(fmt.Sprint(name, processes, variant), func(t *testing.T) {
					t.Parallel()
					want := native
					if strings.Contains(processes, "4") && name != "over" { // of which nothing is traced by then
						want.stdout = []byte(strings.Replace(string(native.stdout), "alone: 1", "alone: 0", 1))
					}
					dir := workDir(t)
					same(t, want, run(t, command{argv: append(append(append([]string{alleria(), "-q", "record", "--process", processes}, flags...), "--"), argv...), dir: dir}))
					if name == "recorded" {
						verify(t, dir)
					}
				})
			}
		}
	}
}

// TestOwnSequencesFromBefore is the same for a program with sequences of its own, of which the user is told, even with -q.
func TestOwnSequencesFromBefore(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/trees/sequences.c", "-O1 -pthread -DOWN")
	native := run(t, command{argv: []string{prog}, dir: t.TempDir()})
	if native.status != 0 || !strings.HasPrefix(string(native.stdout), "1: ok 1") {
		t.Skipf("natively %q: the C library or the kernel has no restartable sequences", native.stdout)
	}
	for name, flags := range sequencesModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, command{argv: append(append([]string{alleria(), "-q", "record", "--process", "2,3"}, flags...), "--", prog), dir: workDir(t)})
			want := 2
			if name == "over" { // before the second was there
				want = 1
			}
			if told := len(ownSequences.FindAll(r.stderr, -1)); told != want {
				t.Errorf("it is told of %d processes, want %d: %s", told, want, clip(r.stderr))
			}
			r.stderr = ownSequences.ReplaceAll(r.stderr, nil)
			same(t, native, r)
		})
	}
}
