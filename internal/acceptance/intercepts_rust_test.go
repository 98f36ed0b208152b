package acceptance

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"alleria/internal/randprog"
)

// buildRust builds a crate with debug information. Without rustc the test is skipped.
func buildRust(t *testing.T, dir, file string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath("rustc"); err != nil {
		t.Skip("rustc is not installed")
	}
	out := filepath.Join(dir, strings.TrimSuffix(filepath.Base(file), ".rs"))
	cmd := exec.Command("rustc", append(flags, "-g", "-A", "warnings", "-o", out, file)...)
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("rustc: %v\n%s", err, clip(msg))
	}
	return out
}

// rustMinor is the N of rustc's version 1.N.
func rustMinor(t *testing.T) int {
	t.Helper()
	out, err := exec.Command("rustc", "--version").Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("rustc is not installed")
	}
	m := regexp.MustCompile(`^rustc 1\.(\d+)`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("rustc --version: %v, %s", err, clip(out))
	}
	n, _ := strconv.Atoi(string(m[1])) // digits
	return n
}

// TestInterceptRust compares calls of functions of Rust's own convention, of its types, with what the program's comments say of them.
func TestInterceptRust(t *testing.T) {
	t.Parallel()
	src, err := filepath.Abs("../../testdata/intercept/rust.rs")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(src)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^ */\* VALUE: (.*) \*/$`).FindAllStringSubmatch(string(text), -1) {
		want = append(want, m[1])
	}
	dir := workDir(t)
	prog := buildRust(t, dir, src)
	c := interceptConfig(t, dir, `main="true"`, `<Function name="rust::*"><Intercept auto="true" depth="3"/></Function><Function name="three_c"><Intercept auto="true"/></Function>`)
	intercepted(t, dir, c, prog)
	got := slices.DeleteFunc(intercepts(t, dir), func(s string) bool {
		return strings.Contains(s, "{{closure}}") != strings.Contains(s, "main") // closures within the others, and main
	})
	for i := range max(len(got), len(want)) {
		if g, w := at(got, i), at(want, i); g != w {
			t.Errorf("got  %s\nwant %s", g, w)
		}
	}
	// What the command writes for editing places them as well.
	r := run(t, command{argv: []string{alleria(), "new", "--intercept", "rust::double", "--intercept", "rust::text", "--intercept", "rust::find", prog}, dir: dir})
	other := workDir(t)
	intercepted(t, other, writeFile(t, other, "explicit.xml", string(r.stdout)), prog)
	explicit := []string{`rust::text(a={text="one", length=3}, b={text="", length=0}, c={text="three", length=5}) = {text="onethree", length=8}`,
		`rust::double(v={data_ptr={1,2,3}, length=3}, by=2) = 3, v={data_ptr={2,4,6}, length=3}`,
		`rust::find(v={data_ptr={5,6,7}, length=3}, x=6) = {Some={__0=1}}`}
	// What None has in the place of a value is anything.
	if got := slices.DeleteFunc(intercepts(t, other), func(s string) bool { return strings.Contains(s, "x=8") }); !slices.Equal(got, explicit) {
		t.Errorf("got %q\nwant %q", got, explicit)
	}
	json := strings.Join(intercepts(t, dir, "--json", "--function", "rust::maybe", "--function", "rust::shape"), "\n")
	for _, part := range []string{`"in":{"a":{"Some":{"__0":"x"}},"b":{"Some":`, `"c":"None"}`, `{"Rectangle":{"width":2,"height":3}}`} {
		if !strings.Contains(json, part) {
			t.Errorf("%s is not in\n%s", part, json)
		}
	}
}

// TestInterceptRustRandom captures calls of Rust functions with random signatures, and compares what is said of them with what the functions themselves printed. What
// nobody can tell is shown as ?, which only few are where the compiler has left the functions as they are. An older compiler does not say what it has changed, so that what it
// has optimised is not compared; and it names arguments that have nothing in them.
func TestInterceptRustRandom(t *testing.T) {
	t.Parallel()
	seeds := []uint64{1, 2}
	if *every {
		for seed := range uint64(11) {
			seeds = append(seeds, seed+3)
		}
	}
	flags := []string{"-Copt-level=0", "-Copt-level=2"}
	line := func(s string) string { return s }
	if minor := rustMinor(t); minor < 87 {
		t.Logf("rustc 1.%d: without optimisation only", minor)
		flags = flags[:1]
		empty := regexp.MustCompile(`a\d+=(\{\}|V0)([,)])`)
		line = func(s string) string { return empty.ReplaceAllString(s, "$1$2") }
	}
	for n, seed := range seeds {
		for way, flag := range flags {
			if !inTurn(n, way, len(flags)) {
				continue
			}
			t.Run(fmt.Sprint(seed, flag), func(t *testing.T) {
				dir := workDir(t)
				prog := buildRust(t, dir, writeFile(t, dir, "signatures.rs", randprog.RustSignatures(seed, 40)), flag)
				c := interceptConfig(t, dir, `main="true"`, `<Function name="signatures::fn*"><Intercept auto="true" depth="4" maxBytes="65536"/></Function>`)
				want := strings.Split(strings.TrimSpace(intercepted(t, dir, c, prog)), "\n")
				got := intercepts(t, dir, "--max-string", "0", "--max-elements", "0")
				unknown := 0
				for i := range max(len(got), len(want)) {
					g, w := line(at(got, i)), line(at(want, i))
					if strings.Contains(g, "?") {
						unknown++
					}
					if !regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(g), `\?`, ".*?") + "$").MatchString(w) {
						t.Errorf("got  %s\nwant %s", g, w)
					}
				}
				if unknown > 4 && flag == "-Copt-level=0" {
					t.Errorf("%d of %d calls have values that are not told", unknown, len(got))
				}
			})
		}
	}
}
