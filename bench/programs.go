package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// program is a row of the table: a real program on a generated input.
type program struct {
	name string
	// prepare makes the inputs in dir and returns the command. An error of a
	// program that is not installed wraps exec.ErrNotFound.
	prepare func(dir string, s size) ([]string, error)
}

// programs are the ones that the figures to reach are about, then one that tells
// of threads, one of calls, some of starting up, and those that compile while they run. Each but those takes one to two seconds natively, with
// -short a fifth of that, with -long five times as much.
//
// Two compressors are loops that fit every cache; sqlite3, python3 and perl are dispatch
// loops, where indirect branches are what costs; cc1 is a megabyte of code, of which every
// part runs a little; true is the cost of starting.
func programs() []program {
	return append([]program{
		{"bzip2", func(dir string, s size) ([]string, error) {
			in, err := textFile(dir, pick(s, 20<<20, 4<<20))
			return []string{"bzip2", "-9", "-c", in}, err
		}},
		{"gzip", func(dir string, s size) ([]string, error) {
			in, err := textFile(dir, pick(s, 20<<20, 4<<20))
			return []string{"gzip", "-9", "-n", "-c", in}, err
		}},
		{"sqlite3", script("sql", func(s size) string { return sqlScript(pick(s, 400_000, 80_000)) },
			"sqlite3", ":memory:", ".read %s")},
		{"python3", script("py", func(s size) string { return pythonScript(pick(s, 180_000, 40_000)) },
			"python3", "-S", "-E", "%s")},
		{"perl", script("pl", func(s size) string { return perlScript(pick(s, 900_000, 180_000)) },
			"perl", "%s")},
		{"cc1", prepareCC1},
		{"threads", func(dir string, s size) ([]string, error) {
			in, err := textFile(dir, pick(s, 20<<20, 4<<20))
			return []string{"zstd", "-q", "-12", "-T4", "-c", in}, err
		}},
		{callsProgram, prepareCalls},
		{buildProgram, prepareBuild},
		{changingProgram, prepareChanging},
		{armingProgram, prepareArming},
		{"true", command("true")},
		{startPrefix + "bash", command("bash", "-c", ":")},
		{startPrefix + "perl", command("perl", "-e", "1")},
		{startPrefix + "python3", command("python3", "-c", "pass")},
		{startPrefix + "git", command("git", "--version")},
		{startPrefix + "cc1", prepareHello},
	}, append(compilers(), capturedPrograms()...)...)
}

// startPrefix begins the names of programs that do nothing but start and end.
const startPrefix = "start-"

// startRuns is how often those run at least: they take as long as the machine's moods do.
const startRuns = 7

// starts tells whether a program does nothing but start and end: its ratio is no slowdown.
func starts(name string) bool { return name == "true" || strings.HasPrefix(name, startPrefix) }

// runs is how often each mode of a program runs.
func (b *bench) runs(name string) int {
	if starts(name) && b.n > 1 {
		return max(b.n, startRuns)
	}
	return b.n
}

// command is a program without an input.
func command(argv ...string) func(string, size) ([]string, error) {
	return func(string, size) ([]string, error) { return slices.Clone(argv), nil }
}

// prepareHello has the compiler proper compile a program that prints a line.
func prepareHello(dir string, _ size) ([]string, error) {
	path := filepath.Join(dir, "hello.c")
	err := writeOnce(path, func(w *bufio.Writer) {
		_, _ = w.WriteString("int puts(const char *);\nint main(void) { puts(\"hello\"); return 0; }\n")
	})
	if err != nil {
		return nil, err
	}
	cc1, err := findCC1()
	return []string{cc1, "-quiet", path, "-o", "/dev/stdout"}, err
}

// size is how large inputs are.
type size string

const (
	full  size = "full"
	short size = "short" // a fifth
	long  size = "long"  // five times
)

// pick chooses the size of an input.
func pick(s size, normal, less int) int {
	switch s {
	case short:
		return less
	case long:
		return 5 * normal
	}
	return normal
}

// textFile makes the text of that size. Programs share it.
// Its size is in its name, so that full and short runs keep their own.
func textFile(dir string, size int) (string, error) {
	path := filepath.Join(dir, fmt.Sprintf("text-%d.txt", size))
	return path, writeOnce(path, func(w *bufio.Writer) { writeText(w, size) })
}

// script makes a program out of an interpreter and a generated script, whose
// path replaces %s in the arguments.
func script(ext string, text func(s size) string, command ...string) func(string, size) ([]string, error) {
	return func(dir string, s size) ([]string, error) {
		path := filepath.Join(dir, fmt.Sprintf("script-%s.%s", s, ext))
		err := writeOnce(path, func(w *bufio.Writer) { _, _ = w.WriteString(text(s)) })
		args := make([]string, len(command))
		for i, a := range command {
			args[i] = strings.ReplaceAll(a, "%s", path)
		}
		return args, err
	}
}

// lookProgram finds a command in PATH, passing over scripts: a version manager's
// launcher is a shell script that executes another shell script before the
// interpreter, and its start would be what short runs measure.
func lookProgram(name string) (string, error) {
	first, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if found, err := exec.LookPath(path); err == nil && !isScript(found) {
			return found, nil
		}
	}
	return first, nil
}

// isScript tells whether a file begins as scripts do.
func isScript(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [2]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && string(head[:]) == "#!"
}

// prepareCC1 runs the compiler proper and not the gcc driver: that is the
// process whose speed the figures are about.
// Its assembly goes to standard output, where it can be compared with the native
// run's.
func prepareCC1(dir string, s size) ([]string, error) {
	functions := pick(s, 130, 26)
	path := filepath.Join(dir, fmt.Sprintf("generated-%d.c", functions))
	if err := writeOnce(path, func(w *bufio.Writer) { writeC(w, functions) }); err != nil {
		return nil, err
	}
	cc1, err := findCC1()
	return []string{cc1, "-O2", "-quiet", path, "-o", "/dev/stdout"}, err
}

// findCC1 asks gcc where its compiler proper is.
func findCC1() (string, error) {
	out, err := exec.Command("gcc", "-print-prog-name=cc1").Output()
	if err != nil {
		return "", fmt.Errorf("cc1: %w", err)
	}
	cc1 := strings.TrimSpace(string(out))
	if !filepath.IsAbs(cc1) { // gcc echoes the bare name of what it does not have
		return "", fmt.Errorf("cc1: %w", exec.ErrNotFound)
	}
	return cc1, nil
}
