package acceptance

import "testing"

// TestPrivilegedWithValues records the operands of instructions that a program may not execute: they are not read, which would fault in another way.
func TestPrivilegedWithValues(t *testing.T) {
	t.Parallel()
	prog := build(t, programs+"/faults-privileged.c", "")
	r := run(t, command{argv: []string{alleria(), "record", "-q", "--discard", "--select", "any", "--fields", "all", "--", prog}, dir: workDir(t)})
	if r.status != 0 || string(r.stdout) != "ok\n" {
		t.Errorf("status %d, %q, %s", r.status, r.stdout, clip(r.stderr))
	}
}
