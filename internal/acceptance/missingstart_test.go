package acceptance

import (
	"strings"
	"testing"
)

// TestMissingFunctionIsToldAtStart: a function that the program has not is told of before the
// program does anything, once; one that a program has which it executes is not noted.
func TestMissingFunctionIsToldAtStart(t *testing.T) {
	t.Parallel()
	const said = "--on-call mian: there is no function mian in the main executable"
	r := run(t, command{argv: []string{alleria(), "record", "--discard", "--on-call", "mian", "--", "sh", "-c", "echo running >&2"}, dir: workDir(t)})
	text := string(r.stderr)
	if at := strings.Index(text, said); at < 0 || at > strings.Index(text, "running") || strings.Count(text, said) != 1 {
		t.Errorf("%s", text)
	}
	prog := build(t, programs+"/death-segv.c", "")
	dir := workDir(t)
	run(t, command{argv: []string{alleria(), "record", "-o", "out", "--on-call", "main", "--", "env", prog}, dir: dir})
	if r := run(t, command{argv: []string{alleria(), "report", "out"}, dir: dir}); strings.Contains(string(r.stdout), "no function") {
		t.Errorf("noted although the program executed has it:\n%s", r.stdout)
	}
}
