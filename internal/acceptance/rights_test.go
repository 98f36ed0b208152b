package acceptance

import (
	"bytes"
	"os"
	"syscall"
	"testing"
)

// TestClosedToInspection runs a program as an ordinary user that forks after it has closed itself to inspection, in the
// cache and natively.
func TestClosedToInspection(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	prog := build(t, programs+"/rights-dumpable-fork.c", "")
	as := &syscall.SysProcAttr{Credential: &nobody, Setpgid: true}
	for _, flags := range [][]string{
		{"--only", "translate"}, {"--discard"},
		{"--discard", "--reopenable", "--on-call", "work", "--till-return", "work", "--engine", "no-busy,no-jumps"},
	} {
		argv := append(append([]string{alleria(), "-q", "record"}, flags...), "--", prog)
		if r := run(t, command{argv: argv, dir: "/", attr: as}); r.status != 0 || string(r.stdout) != "ok\n" {
			t.Errorf("%v: status %d, %q, %q", flags, r.status, r.stdout, r.stderr)
		}
	}
}

// TestGivenUpRights looks whether what a program executes after it has given up its rights is traced: as another user, and
// where there is no /proc.
func TestGivenUpRights(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root has rights to give up")
	}
	prog := build(t, programs+"/rights-given-up.c", "")
	for _, flags := range [][]string{{"--only", "translate"}, {"--discard"}} {
		argv := append(append([]string{alleria(), "record"}, flags...), "--", prog)
		r := run(t, command{argv: argv, dir: workDir(t)})
		if r.status != 0 || string(r.stdout) != "ok\n" || bytes.Contains(r.stderr, []byte("untraced")) {
			t.Errorf("%v: status %d, %q, %q", flags, r.status, r.stdout, r.stderr)
		}
	}
}

// TestUnmappedMemory runs a program that unmaps all that it does not know: where that is needed the end says why, and
// a program that runs natively lives on.
func TestUnmappedMemory(t *testing.T) {
	t.Parallel()
	prog := build(t, programs+"/manual/unmaps.c", "")
	for _, flags := range [][]string{{"--only", "translate"}, {"--discard"}} {
		argv := append(append([]string{alleria(), "-q", "record"}, flags...), "--", prog)
		if r := run(t, command{argv: argv, dir: workDir(t)}); r.status != 125 || !bytes.Contains(r.stderr, []byte("unmapped memory that tracing needs")) {
			t.Errorf("%v: status %d, %q", flags, r.status, r.stderr)
		}
	}
	argv := []string{alleria(), "-q", "record", "--discard", "--on-call", "nobody", "--", prog}
	if r := run(t, command{argv: argv, dir: workDir(t)}); r.status != 0 || string(r.stdout) != "ok\n" {
		t.Errorf("natively: status %d, %q, %q", r.status, r.stdout, r.stderr)
	}
}

// TestRightsOfPrograms has programs with rights of their own executed within a tree by a user who has none: in the cache, natively, by a child in its parent's memory, and by a
// descriptor that execve closes. They get their rights.
func TestRightsOfPrograms(t *testing.T) {
	t.Parallel()
	_, suid := setUser(t)
	byFile := build(t, programs+"/manual/executes-descriptor.c", "")
	as := &syscall.SysProcAttr{Credential: &nobody, Setpgid: true}
	for _, flags := range [][]string{{"record", "--discard"}, {"record", "--only", "count"}, {"record", "--discard", "--process", "true"}, {"record", "--discard", "--on-call", "nobody"}, {"tree"}, {"record", "--discard", "--follow", "none"}} {
		argv := append(append([]string{alleria()}, flags...), "--", "sh", "-c", `"$0"; ("$0"; :); "$1" "$0"; exec "$0"`, suid, byFile)
		r := run(t, command{argv: argv, dir: "/", attr: as})
		if r.status != 0 || string(r.stdout) != "0\n0\n0\n0\n" {
			t.Errorf("%v: status %d, %q, %q", flags, r.status, r.stdout, r.stderr)
		}
		if flags[len(flags)-1] != "none" && !bytes.Contains(r.stderr, []byte("process 2 (privileged-suid) ran untraced: its program has rights of its own: set-user-ID")) {
			t.Errorf("%v: no warning: %q", flags, r.stderr)
		}
	}
}

// TestUnreadableProgram has a program executed that may not be read: it is told of by its name.
func TestUnreadableProgram(t *testing.T) {
	t.Parallel()
	_, suid := setUser(t)
	if err := os.Chmod(suid, 0o711|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	argv := []string{alleria(), "record", "--discard", "--", "sh", "-c", `"$0"; :`, suid}
	r := run(t, command{argv: argv, dir: "/", attr: &syscall.SysProcAttr{Credential: &nobody, Setpgid: true}})
	if r.status != 0 || string(r.stdout) != "65534\n" || !bytes.Contains(r.stderr, []byte("process 2 (privileged-suid) ran untraced: its file may not be read")) {
		t.Errorf("status %d, %q, %q", r.status, r.stdout, r.stderr)
	}
}
