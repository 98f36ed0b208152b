package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const tracersSource = "../../testdata/trees/tracers.c"

// tracers are programs that trace their own children, by all the ways in which a program comes to call ptrace.
func tracers(t *testing.T) map[string][]string {
	t.Helper()
	library := build(t, tracersSource, "-DLIBRARY -shared -fPIC")
	linked := filepath.Join(t.TempDir(), "linked")
	if out, err := exec.Command("cc", "-o", linked, tracersSource, library, "-Wl,-rpath,"+filepath.Dir(library)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	all := map[string][]string{
		"imports it":                {build(t, tracersSource, "-DDIRECT")},
		"static":                    {build(t, tracersSource, "-DDIRECT -static")},
		"static, stripped":          {build(t, tracersSource, "-DDIRECT -static -s")},
		"linked to a library":       {linked},
		"loads a library":           {build(t, tracersSource, "-DLOADED"), library},
		"by its number":             {build(t, tracersSource, "-DRAW")},
		"by its number, optimised":  {build(t, tracersSource, "-DRAW -O2 -fno-plt")},
		"by its number, static":     {build(t, tracersSource, "-DRAW -O2 -static -s")},
		"Go, between fork and exec": {build(t, "../../testdata/trees/traces.go", "")},
	}
	if python := "/usr/bin/python3"; find(python) != "" {
		script := filepath.Join(t.TempDir(), "attach.py")
		text := `import ctypes, os, signal
c = ctypes.CDLL(None, use_errno=True)
p = os.fork()
if p == 0:
    while True: signal.pause()
print(c.ptrace(16, p, 0, 0), ctypes.get_errno(), flush=True)
print(os.WIFSTOPPED(os.waitpid(p, 0)[1]), flush=True)
os.kill(p, 9)
os.waitpid(p, 0)
`
		if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all["looks it up"] = []string{python, script}
	}
	return all
}

// TestTracersGetTheirChildren: who asks to be traced by a program of the tree, or is attached to, is detached, with a word, whatever runs natively. Before that was
// asked by breakpoints all failed: with EPERM, or, where the executable imports ptrace, now and then, since the child that was attached to was still being born.
func TestTracersGetTheirChildren(t *testing.T) {
	t.Parallel()
	ways := treeModes(t)
	ways["followed, every program looked at"] = append([]string{"--engine", "all-sites,ask-executables"}, ways["followed"]...)
	for name, flags := range ways {
		ways[name] = append(append([]string{alleria(), "-q", "record"}, flags...), "--")
	}
	ways["tree"] = []string{alleria(), "tree", "--"}
	ways["counted"] = []string{alleria(), "-q", "record", "--only", "count", "--"}
	for kind, argv := range tracers(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			native := run(t, command{argv: argv, dir: t.TempDir()})
			if text := string(native.stdout); native.status != 0 || strings.Contains(text, "-1") {
				t.Skipf("natively it does not get them: %d %q", native.status, text)
			}
			for name, way := range ways {
				r := run(t, command{argv: append(append([]string{}, way...), argv...), dir: t.TempDir()})
				if string(r.stdout) != string(native.stdout) || r.status != native.status {
					t.Errorf("%s: status %d, output %q, want %d %q", name, r.status, r.stdout, native.status, native.stdout)
				}
				if !strings.Contains(string(r.stderr), "ran untraced") {
					t.Errorf("%s: nobody is told: %q", name, r.stderr)
				}
			}
		})
	}
}

// TestDebuggersWork: gdb stops its program, and strace sees what its program creates, from within the tree.
func TestDebuggersWork(t *testing.T) {
	t.Parallel()
	program := build(t, "../../testdata/programs/children-fork.c", "-g")
	for name, flags := range treeModes(t) {
		in := func(argv ...string) command {
			return command{argv: append(append(append([]string{alleria(), "-q", "record"}, flags...), "--"), argv...), dir: t.TempDir()}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if gdb := find("gdb"); gdb != "" {
				r := run(t, in(gdb, "-q", "-nx", "-batch", "-ex", "break main", "-ex", "run", "-ex", "continue", program))
				if text := string(r.stdout); !strings.Contains(text, "Breakpoint 1, main") || !strings.Contains(text, "exited normally") {
					t.Errorf("gdb: %s%s", text, r.stderr)
				}
			}
			if strace := find("strace"); strace != "" {
				r := run(t, in(strace, "-f", "-e", "trace=execve", "sh", "-c", "/bin/true; exit 3"))
				if text := string(r.stderr); r.status != 3 || !strings.Contains(text, `execve("/bin/true"`) {
					t.Errorf("strace: %d %s", r.status, text)
				}
			}
		})
	}
}

// TestImportIsNoTracing: what a program creates is traced though the program could trace it, as sudo could. Where nothing may lie in its code it is not, since nobody would
// know.
func TestImportIsNoTracing(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "could.c")
	text := `#include <stdlib.h>
#include <sys/ptrace.h>
int main(int argc, char **argv) { return argc > 1 ? (int)ptrace(PTRACE_TRACEME, 0, 0, 0) : system("exit 3") >> 8; }
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	program := build(t, source, "-O1")
	for _, flags := range [][]string{{"--only", "count"}, {"--on-call", "nobody"}} {
		if r := run(t, command{argv: append(append([]string{alleria(), "record"}, flags...), "--", program), dir: t.TempDir()}); r.status != 3 || strings.Contains(string(r.stderr), "untraced") {
			t.Errorf("%v: %d %s", flags, r.status, r.stderr)
		}
	}
	r := run(t, command{argv: []string{alleria(), "-q", "record", "--unpatched", "--on-call", "nobody", "--", program}, dir: t.TempDir()})
	if r.status != 3 || !strings.Contains(string(r.stderr), "what it created ran untraced") {
		t.Errorf("unpatched: %d %s", r.status, r.stderr)
	}
}
