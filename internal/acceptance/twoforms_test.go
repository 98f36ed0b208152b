package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTwoForms: the form of the command that only runs programs does that by itself, has everything else done by the whole one beside it, with the program's own status and
// input, and says what is missing where that is not there.
func TestTwoForms(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	alone := filepath.Join(testRoot, "alone")
	if err := os.Link(alleria(), alone); err != nil {
		t.Fatal(err)
	}
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if os.Getenv("ALLERIA") == "" {
		if a, whole := size(alone), size(builtCommand()+"-whole"); a > whole*3/4 {
			t.Errorf("the form that runs programs has %d bytes, the whole %d: it has what it does not need", a, whole)
		}
	}
	header := writeFile(t, dir, "one.h", "int one(int);\n")
	writeFile(t, dir, "line", "it\n")
	shell := []string{"--", find("sh"), "-c", "read line; echo got $line; ulimit -n; exit 7"}
	natively := run(t, command{argv: shell[1:], dir: dir, stdin: "line"})
	for _, c := range []struct {
		name   string
		argv   []string
		status int
		says   string // in what is printed; native: what the program prints
	}{
		{"records alone", append([]string{alone, "-q", "record", "--discard"}, shell...), 7, "native"},
		{"not alone", []string{alone, "report", dir}, 125, "needs alone-whole in " + testRoot},
		{"no help alone", []string{alone}, 125, "needs alone-whole"},
		{"help of its own", []string{alone, "record", "--help"}, 0, "--on-call"},
		{"all commands", []string{alleria(), "--help"}, 0, "convert"},
		{"another command", []string{alleria(), "-q", "convert", "--to", "help"}, 0, "parquet"},
		{"unknown command", []string{alleria(), "frobnicate"}, 2, "frobnicate"},
		{"a header", append([]string{alleria(), "--quiet", "record", "--discard", "--header", header, "--intercept", "one"}, shell...), 7, "native"},
		{"a header, otherwise", append([]string{alleria(), "--log", "log", "record", "--discard", "--header=" + header, "--intercept", "one"}, shell...), 7, "native"},
	} {
		r := run(t, command{argv: c.argv, dir: dir, stdin: "line"})
		if c.says == "native" {
			if c.status != r.status || string(r.stdout) != string(natively.stdout) {
				t.Errorf("%s: status %d, %q, natively %d, %q\n%s", c.name, r.status, r.stdout, natively.status, natively.stdout, r.stderr)
			}
			continue
		}
		if r.status != c.status || !strings.Contains(string(r.stdout)+string(r.stderr), c.says) {
			t.Errorf("%s: status %d\n%s%s", c.name, r.status, r.stdout, r.stderr)
		}
	}
}
