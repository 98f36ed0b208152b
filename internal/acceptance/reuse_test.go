package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// statOf runs a command with translations of ended processes taken over or not, and returns what it printed and how much of
// a statistic the engine told of.
func statOf(t *testing.T, dir, stat string, flags []string, argv ...string) (result, int) {
	t.Helper()
	got, of := statsOf(t, dir, flags, argv...)
	return got, of(stat)
}

// statsOf is statOf for all statistics.
func statsOf(t *testing.T, dir string, flags []string, argv ...string) (got result, of func(stat string) int) {
	t.Helper()
	log := filepath.Join(dir, "log")
	_ = os.Remove(log)
	got = run(t, command{argv: append(append([]string{alleria(), "--log", log, "record", "-q"}, append(flags, "--")...), argv...), dir: dir})
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return got, func(stat string) (n int) {
		if _, rest, ok := strings.Cut(string(b), stat+":"); ok {
			_, _ = fmt.Sscan(rest, &n)
		}
		return n
	}
}

// TestReuse runs programs several times in a tree: those that come later take over the translations of those before, at
// other addresses, and do and count the same as if each had begun with none.
func TestReuse(t *testing.T) {
	t.Parallel()
	script := `PERL_HASH_SEED=0; export PERL_HASH_SEED; for i in 1 2 3; do perl -e 'my %h; $h{$_ % 97} .= $_ for 1..3000; print join(",", map { length $h{$_} } sort keys %h), "\n"'; done; exit 0`
	for _, mode := range []string{"translate", "count"} {
		dir := workDir(t)
		with, reused := statOf(t, dir, "Reused", []string{"--only", mode}, "sh", "-c", script)
		without, none := statOf(t, dir, "Reused", []string{"--only", mode, "--engine", "no-reuse"}, "sh", "-c", script)
		if mode == "translate" && string(with.stdout) != string(without.stdout) {
			t.Errorf("%s: %q with, %q without", mode, string(with.stdout), string(without.stdout))
		}
		if with.status != 0 || without.status != 0 {
			t.Errorf("%s: status %d with, %d without", mode, with.status, without.status)
		}
		if reused < 2000 || none != 0 {
			t.Errorf("%s: %d blocks taken over, %d where that is off", mode, reused, none)
		}
	}
	dir := workDir(t)
	counts := func(out string, flags ...string) string {
		run(t, command{argv: append(append([]string{alleria(), "record", "-q", "--only", "count", "--no-aslr", "-o", out}, flags...), "--", "sh", "-c", script), dir: dir})
		return string(run(t, command{argv: []string{alleria(), "report", "--by-program", out}, dir: dir}).stdout)
	}
	if with, without := counts("with"), counts("without", "--engine", "no-reuse"); with != without || !strings.Contains(with, "perl") {
		t.Errorf("counts with:\n%s\nwithout:\n%s", with, without)
	}
}

// TestReuseChangedFile replaces a library by another version, in place, between two runs of a program in one tree.
func TestReuseChangedFile(t *testing.T) {
	t.Parallel()
	asks := build(t, "../../testdata/reuse/asks.c", "")
	one := build(t, "../../testdata/reuse/answer.c", "-shared -fPIC -DVALUE=1")
	two := build(t, "../../testdata/reuse/answer.c", "-shared -fPIC -DVALUE=2")
	dir := workDir(t)
	lib := filepath.Join(dir, "lib.so")
	copyFile(t, one, lib)
	time.Sleep(100 * time.Millisecond) // a file that has just been changed is not trusted
	script := fmt.Sprintf("%[1]s %[2]s; %[1]s %[2]s; cat %[3]s >%[2]s; %[1]s %[2]s; %[1]s %[2]s", asks, lib, two)
	got, reused := statOf(t, dir, "Reused", []string{"--only", "translate"}, "sh", "-c", script)
	if string(got.stdout) != "1\n1\n2\n2\n" {
		t.Errorf("it printed %q (%s)", string(got.stdout), got.stderr)
	}
	if reused == 0 {
		t.Error("nothing was taken over")
	}
}

// TestReuseOddPrograms runs programs that change their code, unload it, throw through it and run others in it, several times in a
// tree.
func TestReuseOddPrograms(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../testdata/programs/code-*.c")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	files = append(files, "../../testdata/programs/exceptions.cc", "../../testdata/programs/signals-longjmp.c", "../../testdata/programs/children-spawn.c", "../../testdata/programs/exec-self.c")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			prog := build(t, file, "-O1 -pthread")
			dir := workDir(t)
			script := fmt.Sprintf("for i in 1 2 3; do %s; echo $?; done; exit 0", prog)
			native := run(t, command{argv: []string{"sh", "-c", script}, dir: dir})
			for _, mode := range []string{"translate", "count"} {
				got := run(t, command{argv: []string{alleria(), "record", "-q", "--only", mode, "--", "sh", "-c", script}, dir: dir})
				if mode == "translate" && (string(got.stdout) != string(native.stdout) || got.status != native.status) {
					t.Errorf("%s status %d: %q, natively %q %s", mode, got.status, string(got.stdout), string(native.stdout), got.stderr)
				}
				if !strings.Contains(string(got.stdout), string(native.stdout)) {
					t.Errorf("%s: %q, natively %q", mode, string(got.stdout), string(native.stdout))
				}
			}
		})
	}
}

// TestInherit runs a program whose children begin with what it had translated, or with what the child before them had: some of them, and
// the program itself, change code that the others have as it was.
func TestInherit(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/reuse/forks.c", "-O1")
	dir := workDir(t)
	native := run(t, command{argv: []string{prog}, dir: dir})
	got, with := statsOf(t, dir, []string{"--only", "translate", "--engine", "no-prefetch"}, prog) // which saves requests as well
	also, without := statsOf(t, dir, []string{"--only", "translate", "--engine", "no-prefetch,no-inherit"}, prog)
	for _, r := range []result{got, also} {
		if string(r.stdout) != string(native.stdout) || r.status != native.status {
			t.Errorf("status %d: %q, natively %q", r.status, string(r.stdout), string(native.stdout))
		}
	}
	if with("Reused") < 1000 || without("Reused") != 0 || with("Dispatches")*3 > without("Dispatches")*2 {
		t.Errorf("%d blocks inherited and %d requests, %d and %d where that is off", with("Reused"), with("Dispatches"), without("Reused"), without("Dispatches"))
	}
	counts := func(out string, flags ...string) string {
		run(t, command{argv: append(append([]string{alleria(), "record", "-q", "--only", "count", "--no-aslr", "-o", out}, flags...), "--", prog), dir: dir})
		return string(run(t, command{argv: []string{alleria(), "report", "--tree", out}, dir: dir}).stdout)
	}
	if with, without := counts("with"), counts("without", "--engine", "no-inherit"); with != without || !strings.Contains(with, "forks") {
		t.Errorf("counts with:\n%s\nwithout:\n%s", with, without)
	}
}

// copyFile copies a file.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}
