package symbols

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"alleria/internal/programfile"
)

// TestClassifyRefuses goes through everything that is no program to trace.
func TestClassifyRefuses(t *testing.T) {
	dir := t.TempDir()
	good, err := os.ReadFile(build(t, "gcc", "testdata/wait.c"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, mode os.FileMode, content []byte) string {
		path := filepath.Join(dir, name)
		if err := programfile.Write(path, content, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // beyond the umask
			t.Fatal(err)
		}
		return path
	}
	patched := func(name string, at int, bytes ...byte) string {
		b := append([]byte(nil), good...)
		copy(b[at:], bytes)
		return write(name, 0o755, b)
	}
	script := func(name, line string) string { return write(name, 0o755, []byte(line)) }
	if err := os.Symlink("gone", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	deep := "/bin/sh"
	for _, n := range []string{"1", "2", "3", "4", "5", "6"} {
		deep = script("deep"+n, "#!"+deep+"\n")
	}
	interp := strings.Index(string(good), "/lib64/ld-linux")
	for _, c := range []struct {
		path string
		want error
		says string
	}{
		{filepath.Join(dir, "missing"), ErrNotFound, "PATH"},
		{filepath.Join(dir, "dangling"), ErrNotFound, "link to gone"},
		{filepath.Join(dir, "loop"), ErrNotExecutable, ""},
		{write("file", 0o755, good) + "/below", ErrNotFound, ""},
		{dir, ErrDirectory, "inside"},
		{"/dev/null", ErrNotExecutable, "regular"},
		{write("no-x", 0o644, good), ErrPermission, "chmod +x"},
		{write("empty", 0o755, nil), ErrNotExecutable, "empty"},
		{write("text", 0o755, []byte("echo hello\n")), ErrNotExecutable, "#!"},
		{write("exe", 0o755, []byte("MZ\x90\x00\x03")), ErrNotExecutable, "Windows"},
		{write("short", 0o755, good[:40]), ErrNotExecutable, ""},
		{write("cut", 0o755, good[:100]), ErrNotExecutable, "damaged"},
		{patched("i386", 18, 3, 0), Err32Bit, "i386"},
		{patched("x32", 54, 32, 0), Err32Bit, "x32"},
		{patched("arm", 18, 183, 0), ErrForeign, "aarch64"},
		{patched("sparc", 4, 2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 43), ErrForeign, ""},
		{patched("object", 16, 1, 0), ErrNotExecutable, "object file"},
		{patched("core", 16, 4, 0), ErrNotExecutable, "core dump"},
		{patched("library", 24, 0, 0, 0, 0, 0, 0, 0, 0), ErrNotExecutable, "shared library"},
		{patched("entry", 24, 1, 0, 0, 0, 0, 0, 0, 1), ErrNotExecutable, "entry point"},
		{patched("loader", interp, []byte("/nope")...), ErrNoInterpreter, "C library"},
		{write("setuid", 0o755|os.ModeSetuid, good), ErrPrivileged, "setuid"},
		{write("setgid", 0o755|os.ModeSetgid, good), ErrPrivileged, "setgid"},
		{script("no-interpreter", "#! \n"), ErrNotExecutable, "names no interpreter"},
		{script("bad-interpreter", "#!/no/such/shell -x\n"), ErrNoInterpreter, "/no/such/shell"},
		{script("dos", "#!/bin/sh\r\n"), ErrNoInterpreter, "carriage return"},
		{script("long", "#!/"+strings.Repeat("x", 400)), ErrNotExecutable, "longer"},
		{script("of-directory", "#!/tmp\n"), ErrDirectory, ""},
		{deep, ErrScriptDepth, "at most 5"},
	} {
		p, err := Classify(c.path)
		var pe *ProgramError
		if !errors.Is(err, c.want) || !errors.As(err, &pe) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v, %v; want %v and %q", filepath.Base(c.path), p, err, c.want, c.says)
			continue
		}
		if text := err.Error(); strings.Contains(text, "\n") || !strings.Contains(text, "; ") || !strings.HasPrefix(text, pe.Path+": ") {
			t.Errorf("%s: not one sentence with advice: %q", c.path, text)
		}
		// The kernel's opinion, of those that it would not run. What it does
		// run crashes or does worse.
		if !errors.Is(c.want, ErrPrivileged) && !strings.Contains(c.says, "shared library") && !strings.Contains(c.says, "entry point") {
			if err := exec.Command(c.path).Run(); err == nil {
				t.Errorf("%s: refused, but it runs", c.path)
			}
		}
	}
}

// TestClassifyAccepts goes through what can be traced.
func TestClassifyAccepts(t *testing.T) {
	dir := t.TempDir()
	dynamic, static := build(t, "gcc", "testdata/wait.c"), build(t, "gcc", "-static", "testdata/wait.c")
	p, err := Classify(dynamic)
	if err != nil || p.Path != dynamic || p.Interp == "" || !p.PIE || p.Scripts != nil || p.BuildID == "" {
		t.Errorf("dynamic: %+v, %v", p, err)
	}
	if p, err = Classify(static); err != nil || p.Interp != "" || p.PIE {
		t.Errorf("static: %+v, %v", p, err)
	}
	at := dynamic
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		next := filepath.Join(dir, n)
		if err := programfile.Write(next, []byte("#! \t"+at+" \t-a b \n:\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		at = next
	}
	p, err = Classify(at)
	if err != nil || p.Path != dynamic || len(p.Scripts) != 5 || p.Scripts[0].Argument != "-a b" || p.Scripts[4].Interpreter != dynamic {
		t.Errorf("scripts: %+v, %v", p, err)
	}
	if err := exec.Command(at).Run(); err != nil {
		t.Errorf("accepted, but the kernel says %v", err)
	}
	for _, path := range []string{"/bin/gzip", "/usr/bin/python3", "/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6"} {
		if _, err := Classify(system(t, path)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestClassifyCapabilities sets a file capability, as far as the file system
// and the rights allow.
func TestClassifyCapabilities(t *testing.T) {
	path := copyFile(t, build(t, "gcc", "testdata/wait.c"))
	// struct vfs_cap_data, version 2, CAP_NET_RAW permitted and effective.
	value := []byte{1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	if err := syscall.Setxattr(path, "security.capability", value, 0); err != nil {
		t.Skipf("no file capabilities here: %v", err)
	}
	p, err := Classify(path)
	if !errors.Is(err, ErrPrivileged) || !strings.Contains(err.Error(), "capabilities") || p.Path != path {
		t.Errorf("%+v, %v", p, err)
	}
}
