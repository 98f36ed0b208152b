package acceptance

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// buildTool builds an example of the tool interface, as a user does: by its own go.mod.
func buildTool(t *testing.T, dir, name string) string {
	t.Helper()
	out := filepath.Join(dir, name)
	source, err := filepath.Abs(filepath.Join("../../examples/tools", name))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(source, "main.go"))
	if err != nil || bytes.Count(text, []byte("\n")) >= 60 {
		t.Errorf("%s: %d lines, %v; an example has fewer than 60", name, bytes.Count(text, []byte("\n")), err)
	}
	c := exec.Command("go", "build", "-o", out, ".") // in our environment: the cache of builds is there
	c.Dir = source
	if text, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, clip(text))
	}
	return out
}

// numbersOf are the numbers of a line that begins with a word.
func numbersOf(t *testing.T, text []byte, word string) (n []int) {
	t.Helper()
	for line := range bytes.Lines(text) {
		if bytes.Contains(line, []byte(word)) {
			for _, d := range regexp.MustCompile(`\b[0-9][0-9,]*\b`).FindAll(line, -1) {
				k, _ := strconv.Atoi(string(bytes.ReplaceAll(d, []byte(","), nil)))
				n = append(n, k)
			}
			return n
		}
	}
	t.Fatalf("no line with %q: %s", word, clip(text))
	return nil
}

// TestToolExamples: the examples of the tool interface count what valgrind counts, and leave the program as it is.
func TestToolExamples(t *testing.T) {
	t.Parallel()
	if find("valgrind") == "" {
		t.Skip("no valgrind: the Makefile's tests install it")
	}
	dir := workDir(t)
	sort := build(t, "../../testdata/counts/sort.c", "-static -nostdlib -fno-stack-protector -fno-tree-vectorize")
	sizes := build(t, "../../testdata/tools/sizes.c", "-pthread")
	watched(t, dir, sort)
	memtrace, branchmix, mallocs := buildTool(t, dir, "memtrace"), buildTool(t, dir, "branchmix"), buildTool(t, dir, "mallocsizes")

	_, loads, stores := lackey(t, dir, sort)
	native := run(t, command{argv: []string{sort}, dir: dir})
	r := run(t, command{argv: []string{memtrace, "-show", "2", "--", sort}, dir: dir})
	same(t, native, result{stdout: r.stdout, status: r.status})
	if n := numbersOf(t, r.stderr, "loads of"); n[0] != int(loads) || n[2] != int(stores) {
		t.Errorf("%d loads and %d stores; lackey %d and %d", n[0], n[2], loads, stores)
	}
	if bytes.Count(r.stderr, []byte("bytes, store")) != 2 {
		t.Errorf("-show 2: %s", clip(r.stderr))
	}

	jccs := run(t, command{argv: []string{"valgrind", "--tool=lackey", "--basic-counts=yes", sort}, dir: dir})
	r = run(t, command{argv: []string{branchmix, sort}, dir: dir})
	if n, all, yes := numbersOf(t, r.stderr, "COND_BR "), numbersOf(t, jccs.stderr, "total:"), numbersOf(t, jccs.stderr, "taken:"); n[0] != all[len(all)-1] || n[1] != yes[1] {
		t.Errorf("branches: %v; lackey %v, taken %v", n, all, yes)
	}

	// Of each size from 1 to 200 three, besides what the C library asks for to create threads.
	r = run(t, command{argv: []string{mallocs, sizes}, dir: dir})
	for bits, n := range []int{1: 1, 2, 4, 8, 16, 32, 64} {
		if n == 0 {
			continue
		}
		if got := numbersOf(t, r.stderr, fmt.Sprintf("below %12d:", 1<<bits)); got[1] < 3*n || got[1] > 3*n+4 || r.status != 7 {
			t.Errorf("%v; of the sizes with %d bits there are %d: %s", got, bits, 3*n, clip(r.stderr))
		}
	}
}

// watched has the example watch tell who writes to the program's stack: what memtrace counts of it, and nothing of what lies elsewhere.
func watched(t *testing.T, dir, prog string) {
	t.Helper()
	watch := buildTool(t, dir, "watch")
	writes := func(flags ...string) (n int) {
		r := run(t, command{argv: append(append([]string{watch, "-no-aslr"}, flags...), "--", prog), dir: dir})
		for _, m := range regexp.MustCompile(`(?m)^0x[0-9a-f]+: ([0-9]+) writes, the last of 0x[0-9a-f]+ to 0x7ff`).FindAllSubmatch(r.stderr, -1) {
			k, _ := strconv.Atoi(string(m[1]))
			n += k
		}
		return n
	}
	stack, beside, none := writes("-from", "0x7ff000000000", "-size", "0x1000000000"), writes("-from", "0x7ff000000000", "-size", "0x1000000000", "-engine", "no-conditions"), writes("-from", "16")
	if stack < 1000 || stack != beside || none != 0 {
		t.Errorf("%d writes to the stack, %d looked at beside the program; %d to the address 16", stack, beside, none)
	}
}
