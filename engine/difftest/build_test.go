package difftest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// buildDir is where programs are built: it survives from run to run, so that
// unchanged ones are not built again, and "make clean" removes it.
func buildDir(t testing.TB) string {
	dir, err := filepath.Abs("../../testdata/build/insns")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Ways to link a program: at low addresses, or at high ones, where operands
// relative to RIP are translated in another way.
var (
	lowLink  = []string{"-nostdlib", "-static", "-no-pie"}
	highLink = []string{"-nostdlib", "-static-pie"}
)

// build assembles and links the source file, once for each content and flags.
func build(t testing.TB, source string, flags []string) string {
	t.Helper()
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s %q\n%s", filepath.Base(source), flags, text)
	headers, _ := filepath.Glob(filepath.Join(filepath.Dir(source), "*.h"))
	for _, name := range headers {
		text, _ := os.ReadFile(name)
		h.Write(text)
	}
	out := filepath.Join(buildDir(t), fmt.Sprintf("%s-%x", filepath.Base(source), h.Sum(nil)[:6]))
	if _, err := os.Stat(out); err == nil {
		return out
	}
	// A name of its own: another test, of this process or another, may be building the same.
	tmp, err := os.MkdirTemp(buildDir(t), "part")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	part := filepath.Join(tmp, "program")
	args := append(append([]string{}, flags...), "-I", filepath.Dir(source), "-Wa,--noexecstack,--no-warn", "-o", part, source)
	if b, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", source, err, b)
	}
	if err := os.Rename(part, out); err != nil {
		t.Fatal(err)
	}
	return out
}
