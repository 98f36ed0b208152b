package acceptance

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"alleria/internal/programfile"
)

// TestBadInput gives alleria what it cannot work with: one clear sentence, the
// exit status of the documentation, and nothing left behind.
func TestBadInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, data string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		if err := programfile.Write(p, []byte(data), mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	elf, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	foreign := append([]byte(nil), elf...)
	foreign[18] = 183 // e_machine: aarch64
	record := func(args ...string) []string {
		return append([]string{"record", "-o", "out", "--on-call", "main"}, args...)
	}
	if err := os.Mkdir(filepath.Join(dir, "there"), 0o755); err != nil {
		t.Fatal(err)
	}
	file("there/x", "", 0o644)
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"missing path", record("--", "./missing"), 127, "no such file"},
		{"missing name", record("--", "no-such-program-here"), 127, "no such program in PATH"},
		{"directory", record("--", "/etc"), 126, "directory"},
		{"missing interpreter", record("--", file("script", "#!/nonexistent/sh\n", 0o755)), 126, "/nonexistent/sh"},
		{"no first line", record("--", file("noshebang", "echo hi\n", 0o755)), 126, "#!"},
		{"not executable", record("--", file("data", "x", 0o644)), 126, "permission denied"},
		{"another architecture", record("--", file("foreign", string(foreign), 0o755)), 126, "aarch64"},
		{"cut off", record("--", file("cutoff", string(elf[:100]), 0o755)), 126, "not an executable format"},
		{"empty", record("--", file("empty", "", 0o755)), 126, "not an executable format"},
		{"output there", []string{"record", "-o", "there", "--on-call", "main", "--", "/bin/true"}, 2, "there"},
		{"no program", []string{"record"}, 2, "no program is named"},
		{"unknown flag", []string{"record", "--frobnicate", "--", "/bin/true"}, 2, "frobnicate"},
		{"unknown class", record("--select", "class=mov", "--", "/bin/true"), 2, `--select: class="mov" can match no instruction: the names of classes are in capitals; write "MOV"`},
		{"no such class", []string{"record", "-q", "-o", "out", "--select", "class=FOO", "--", "/bin/true"}, 2, `--select: class="FOO" is not known to the decoder and will match nothing; `},
		{"no such category", []string{"record", "-o", "out", "--select", "cat=COND", "--", "/bin/true"}, 2, `--select: cat="COND" is not known`},
		{"unknown value", []string{"record", "--only", "foo", "--", "/bin/true"}, 2, "foo"},
		{"window that is not counted", []string{"record", "--only", "count", "--on-call", "main", "--", "/bin/true"}, 2, "--on-call has no effect"},
		{"output of nothing", []string{"record", "--only", "translate", "-o", "out", "--", "/bin/true"}, 2, "--output has no effect"},
		{"fields of blocks", []string{"record", "--only", "blocks", "--fields", "value", "-o", "out", "--", "/bin/true"}, 2, "--fields has no effect"},
		{"bound of what is dropped", []string{"record", "--discard", "--max-size", "1M", "--", "/bin/true"}, 2, "--max-size has no effect"},
		{"too many threads", []string{"record", "--threads", "1000000", "-o", "out", "--", "/bin/true"}, 2, "0 to 1024"},
		{"empty name", []string{"record", "-o", "", "--", "/bin/true"}, 2, "not empty"},
		{"unknown command", []string{"recrod"}, 2, "recrod"},
		{"no configuration", []string{"record", "-c", "nofile.xml", "--", "/bin/true"}, 2, "nofile.xml"},
		{"bad configuration", []string{"record", "-c", file("bad.xml", "<AlleriaConfig><Window>", 0o644), "--", "/bin/true"}, 2, "<Window>"},
		{"report of nothing", []string{"report", "nothing"}, 2, "nothing"},
		{"report of no profile", []string{"report", dir}, 2, "run.json"},
		{"verify of no profile", []string{"verify", file("noprofile", "hello", 0o644)}, 1, "not a profile"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, command{argv: append([]string{alleria()}, c.args...), dir: dir})
			if r.status != c.status {
				t.Errorf("status %d, want %d", r.status, c.status)
			}
			said := string(r.stderr) + string(r.stdout)
			if !strings.Contains(said, c.says) || strings.Count(said, "\n") != 1 || strings.Contains(said, "goroutine") {
				t.Errorf("it says %q; want one line with %q", said, c.says)
			}
			if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
				t.Error("an output directory was left behind")
			}
		})
	}
}

// TestFoundConfiguration: a configuration that lies in the working directory is told of, and does not matter where the whole program is counted or translated.
func TestFoundConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "alleria.config")
	if err := os.WriteFile(config, []byte("<AlleriaConfig"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{"--only", "count"}, {"--only", "translate"}, {"--analysis", "methods", "--sequential"}} {
		if r := run(t, command{argv: append(append([]string{alleria(), "record"}, flags...), "--", find("true")), dir: dir}); r.status != 0 || bytes.Contains(r.stderr, []byte("config")) {
			t.Errorf("%v: status %d, %s", flags, r.status, r.stderr)
		}
	}
	if err := os.WriteFile(config, []byte(`<AlleriaConfig version="1.0"><Window><Profile><Process><Thread><Image><Function><Instruction cat="anyMem"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := run(t, command{argv: []string{alleria(), "record", "--discard", "--", find("true")}, dir: dir}); r.status != 0 || !bytes.Contains(r.stderr, []byte("configuration: "+config)) {
		t.Errorf("status %d, %s", r.status, r.stderr)
	}
}

// TestMissingSelections: what is to be recorded and does not exist is told after the run,
// as far as it can be known, and what does exist is not.
func TestMissingSelections(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		name  string
		flags []string
		says  string // empty: nothing but the closing line
	}{
		{"image", []string{"--image", "libnone.so"}, "--image libnone.so: no image libnone.so was loaded; the loaded images were env, "},
		{"function", []string{"--image", "libc.so.6", "--function", "mallocc"}, "--function mallocc: there is no function mallocc in libc.so.6; the nearest: calloc, malloc, "},
		{"function anywhere", []string{"--function", "memcpyy"}, "there is no function memcpyy in env, libc.so.6, ld-linux-x86-64.so.2, printenv; the nearest: "},
		{"pattern", []string{"--image", "libc.so.6", "--function", "zz_*"}, "there is no function zz_* in libc.so.6; alleria functions"},
		{"call", []string{"--intercept", "mallocc@libc.so.6"}, "--intercept mallocc: there is no function mallocc in libc.so.6; the nearest: calloc, malloc, "},
		{"call anywhere", []string{"--intercept", "free@libc.so.6", "--intercept", "_dl_relocate_object"}, ""},
		{"call nowhere", []string{"--intercept", "free@libc.so.6", "--intercept", "mallocc"}, "--intercept mallocc: there is no function mallocc in "},
		{"call in an image", []string{"--intercept", "f@libnone.so"}, "--intercept libnone.so: no image libnone.so was loaded"},
		{"there", []string{"--image", "libc.so.6", "--function", "mallo*"}, ""},
		{"not executed", []string{"--image", "libc.so.6", "--function", "qsort"}, ""},
		{"before execve", []string{"--image", "env"}, ""},
		{"behind execve", []string{"--image", "printenv"}, ""},
		{"never open", []string{"--on-instructions", "100G", "--image", "libc.so.6", "--function", "mallocc"}, ""},
	} {
		argv := append(append([]string{alleria(), "record", "--force", "-o", "out"}, c.flags...), "--", find("env"), "X=1", find("printenv"), "X")
		r := run(t, command{argv: argv, dir: dir})
		said := string(r.stderr)
		want := 2
		if c.says == "" {
			want = 1
		}
		if r.status != 0 || !strings.Contains(said, c.says) || strings.Count(said, "\n") != want {
			t.Errorf("%s: status %d, it says %q; want %d lines with %q", c.name, r.status, said, want, c.says)
		}
	}
}

// Test32Bit: a 32-bit program is refused, and one that a traced program executes
// runs untraced.
func Test32Bit(t *testing.T) {
	t.Parallel()
	prog := build(t, programs+"/manual/exit32.S", "-m32 -nostdlib -static")
	if r := run(t, command{argv: []string{alleria(), "record", "--discard", "--on-call", "main", "--", prog}, dir: t.TempDir()}); r.status != 126 || !strings.Contains(string(r.stderr), "32-bit") {
		t.Errorf("status %d, %q; want 126 and a word of 32-bit", r.status, r.stderr)
	}
	var ended *exec.ExitError
	if err := exec.Command(prog).Run(); !errors.As(err, &ended) || ended.ExitCode() != 7 {
		t.Skipf("this kernel runs no 32-bit programs (%v)", err)
	}
	for _, m := range modes() {
		if r := runIn(t, []string{find("env"), prog}, &m); r.status != 7 {
			t.Errorf("%s: status %d, natively 7\n%s", m.name, r.status, clip(r.stderr))
		}
	}
}

// TestNoPermission: where the kernel refuses ptrace, alleria says so, and where to
// ask what to do.
func TestNoPermission(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	refused := build(t, programs+"/manual/no-ptrace.c", "")
	r := run(t, command{argv: []string{refused, alleria(), "record", "-o", "out", "--on-call", "main", "--", "/bin/echo", "x"}, dir: dir})
	said := string(r.stderr)
	if r.status != 126 || len(r.stdout) > 0 || strings.Count(said, "\n") != 1 || !strings.Contains(said, "not permitted") || !strings.Contains(said, "alleria doctor") {
		t.Errorf("status %d, %q, %q; want 126 and one line", r.status, r.stdout, said)
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("an output directory was left behind")
	}
	if r := run(t, command{argv: []string{refused, alleria(), "doctor"}, dir: dir}); r.status != 126 || !strings.Contains(string(r.stdout), "SYS_PTRACE") {
		t.Errorf("doctor: status %d, no remedy in %q", r.status, clip(r.stdout))
	}
}

// TestUnknownFunction: an event that never happens is told of, and the program
// runs as it does.
func TestUnknownFunction(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := run(t, command{argv: []string{alleria(), "record", "--discard", "--on-call", "no_such_function", "--", "/bin/false"}, dir: dir})
	if r.status != 1 || !strings.Contains(string(r.stderr), "no_such_function") {
		t.Errorf("status %d, %q", r.status, r.stderr)
	}
}

// nobody is a user without rights.
var nobody = syscall.Credential{Uid: 65534, Gid: 65534}

// setUser builds a program that prints its effective user, and installs a copy of it that has root's rights for whoever executes it.
func setUser(t *testing.T) (prog, suid string) {
	if os.Getuid() != 0 {
		t.Skip("only root can install a set-user-id program")
	}
	prog = build(t, programs+"/manual/privileged.c", "")
	dir := filepath.Join(filepath.Dir(prog), t.Name())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	suid = filepath.Join(dir, "privileged-suid")
	data, err := os.ReadFile(prog)
	if err != nil {
		t.Fatal(err)
	}
	if err := programfile.Write(suid, data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(suid, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	as := &syscall.SysProcAttr{Credential: &nobody, Setpgid: true}
	if r := run(t, command{argv: []string{suid}, dir: "/", attr: as}); string(r.stdout) != "0\n" {
		t.Skipf("set-user-id has no effect here: %q", r.stdout)
	}
	return prog, suid
}

// TestPrivileged: a set-user-id program would lose its rights under a tracer
// without them, so it runs untraced; root may trace it.
func TestPrivileged(t *testing.T) {
	t.Parallel()
	prog, suid := setUser(t)
	as := &syscall.SysProcAttr{Credential: &nobody, Setpgid: true}
	tmp := &syscall.SysProcAttr{Setpgid: true}
	argv := []string{alleria(), "-q", "record", "--discard", "--", suid}
	if r := run(t, command{argv: argv, dir: "/", attr: as}); r.status != 0 || string(r.stdout) != "0\n" || !strings.Contains(string(r.stderr), "ran untraced: its program has rights of its own: set-user-ID") {
		t.Errorf("as nobody: status %d, %q, %q", r.status, r.stdout, r.stderr)
	}
	if r := run(t, command{argv: argv, dir: "/", attr: tmp}); r.status != 0 || string(r.stdout) != "0\n" {
		t.Errorf("as root: status %d, %q, %q", r.status, r.stdout, r.stderr)
	}
	if r := run(t, command{argv: []string{alleria(), "-q", "record", "--discard", "--", prog}, dir: "/", attr: as}); r.status != 0 || string(r.stdout) != "65534\n" {
		t.Errorf("an ordinary program as nobody: status %d, %q, %q", r.status, r.stdout, r.stderr)
	}
	if r := run(t, command{argv: []string{alleria(), "-q", "record", "-o", "/no-rights-here", "--", prog}, dir: "/", attr: as}); r.status == 0 || strings.Count(string(r.stderr), "\n") != 1 {
		t.Errorf("output without rights: status %d, %q; want one line", r.status, r.stderr)
	}
}
