package acceptance

import (
	"regexp"
	"strings"
	"testing"
)

// TestGuardedCode has code written in every way after it has been left alone and guarded: by stores of its own thread and of others, by the kernel,
// by changes of what is mapped, by children, with SIGSEGV blocked, ignored and handled.
func TestGuardedCode(t *testing.T) {
	t.Parallel()
	prog := build(t, programs+"/code-guarded.c", "-pthread")
	for _, way := range []struct {
		flags   []string
		guarded bool
	}{
		{[]string{"--only", "translate", "--engine", "protect-soon"}, true},
		{[]string{"--only", "count", "--engine", "protect-soon,no-handover"}, true},
		{[]string{"--discard", "--engine", "protect-soon"}, true},
		{[]string{"--only", "translate"}, false},
		{[]string{"--only", "translate", "--engine", "no-protect"}, false},
	} {
		r, stat := statsOf(t, workDir(t), way.flags, prog)
		if r.status != 0 || string(r.stdout) != "ok\n" {
			t.Errorf("%v: status %d\n%s%s", way.flags, r.status, clip(r.stdout), clip(r.stderr))
		}
		// On a busy machine fewer pages are left alone for long enough: 25 were seen, and 17 writes.
		if g, c := stat("Guarded"), stat("Caught"); way.guarded && (g < 8 || c < 4) || strings.Contains(way.flags[len(way.flags)-1], "no-protect") && g+c > 0 {
			t.Errorf("%v: %d pages guarded, %d writes caught", way.flags, g, c)
		}
	}
}

// TestGuardedCodeIsCounted records a program that writes code which is guarded: each instruction is recorded once, those that write
// there and fault as well.
func TestGuardedCodeIsCounted(t *testing.T) {
	t.Parallel()
	prog := build(t, programs+"/code-settled.c", "")
	// of the code that it writes: what its start does depends on its environment
	counts := regexp.MustCompile(`(?m)^ +\[no image\] +([\d,]+) +[\d.]+ +([\d,]+) +([\d,]+)$`)
	var want string
	for _, switches := range []string{"no-protect", "protect-soon", "protect-soon,no-super", "protect-soon,small-cache", "protect-soon,no-state"} {
		dir := workDir(t)
		r, stat := statsOf(t, dir, []string{"-o", "out", "--engine", switches}, prog)
		if r.status != 0 || string(r.stdout) != "19204800066 -1164079296\n" {
			t.Fatalf("%s: status %d\n%s%s", switches, r.status, clip(r.stdout), clip(r.stderr))
		}
		var got string
		if m := counts.FindStringSubmatch(string(run(t, command{argv: []string{alleria(), "report", "out"}, dir: dir}).stdout)); m != nil {
			got = strings.Join(m[1:], " ")
		}
		if c := stat("Caught"); switches == "no-protect" {
			want = got
		} else if c < 5 {
			t.Errorf("%s: %d writes caught", switches, c)
		}
		if got != want || got == "" {
			t.Errorf("%s records %s instructions, loads and stores, want %s", switches, got, want)
		}
	}
}
