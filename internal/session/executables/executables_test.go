package executables

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"alleria/internal/programfile"
	"alleria/internal/sys"
)

// begun is a process in front of its program's first instruction, which is killed at the test's end. The goroutine is locked to its thread.
func begun(t *testing.T, path string, argv, env []string, root string) int {
	t.Helper()
	attr := &os.ProcAttr{Env: env, Sys: &unix.SysProcAttr{Ptrace: true, Chroot: root}}
	p, err := os.StartProcess(path, argv, attr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Kill()
		_, _ = p.Wait()
	})
	if _, err := unix.Wait4(p.Pid, nil, unix.WALL, nil); err != nil {
		t.Fatal(err)
	}
	return p.Pid
}

// asked counts the links that are read.
type asked int

func (a *asked) exe(pid int) string {
	*a++
	return sys.Executable(pid)
}

// of is Files.Of for a process that was just begun.
func (a *asked) of(t *testing.T, f *Files, pid int) (string, Program) {
	t.Helper()
	s, err := sys.Started(pid)
	if err != nil {
		t.Fatal(err)
	}
	path, p := f.Of(pid, &s, a.exe)
	if want := sys.Executable(pid); path != want {
		t.Errorf("%s executes %s, said is %s", s.Name, want, path)
	}
	return path, p
}

// copyTo copies a program.
func copyTo(t *testing.T, from, to string, more string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := programfile.Write(to, append(b, more...), 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestOf has programs executed by their names, by a link, and as scripts, the second time by another file at the same name: the path is what the link says, which is read where it has to be.
func TestOf(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program, link, script := filepath.Join(dir, "program"), filepath.Join(dir, "link"), filepath.Join(dir, "script")
	copyTo(t, cat, program, "")
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	if err := programfile.Write(script, []byte("#!"+program+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var f Files
	var a asked
	steps := func(name string, want asked, env []string) Program {
		t.Helper()
		a = 0
		_, p := a.of(t, &f, begun(t, name, []string{name}, env, ""))
		if a != want {
			t.Errorf("%s: %d links were read, not %d", name, a, want)
		}
		return p
	}
	env := []string{"A=b"}
	first := steps(program, 1, env)
	if second := steps(program, 0, env); second != first || first == (Program{}) {
		t.Errorf("%+v and %+v", first, second)
	}
	if other := steps(program, 0, []string{"LD_BIND_NOW=1"}); other == first {
		t.Error("what the dynamic linker is told makes no difference")
	}
	steps(link, 1, env)
	steps(link, 0, env)
	for range 2 {
		if p := steps(script, 1, env); p != (Program{}) {
			t.Errorf("a script is %+v", p)
		}
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	copyTo(t, cat, program, "another one")
	if other := steps(program, 1, env); other.File == first.File {
		t.Error("another file is the same")
	}
	f.Ask = true
	steps(program, 1, env)
}

// TestOtherRoot executes, behind another root, another program by a name that is known. It needs root.
func TestOtherRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("another root needs root")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dir := t.TempDir()
	build := func(name, text string) string {
		source, to := filepath.Join(dir, name+".c"), filepath.Join(dir, name)
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("cc", "-static", "-o", to, source).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return to
	}
	here := build("here", "int main(void) { return 1; }")
	other := build("other", "#include <stdio.h>\nint main(void) { return puts(\"\"); }")
	root := filepath.Join(dir, "root")
	if err := os.MkdirAll(root+dir, 0o700); err != nil {
		t.Fatal(err)
	}
	copyTo(t, other, root+here, "")
	var f Files
	var a asked
	for i, r := range []string{"", "", root, ""} {
		a = 0
		path, _ := a.of(t, &f, begun(t, here, []string{here}, nil, r))
		if want := r + here; path != want {
			t.Errorf("%s, not %s", path, want)
		}
		if want := []asked{1, 0, 1, 0}[i]; a != want {
			t.Errorf("%d: %d links were read, not %d", i, a, want)
		}
	}
	if len(f.byName) != 1 {
		t.Error(fmt.Sprint(f.byName))
	}
}
