package difftest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCorpus runs the programs of testdata/insns, linked low and high. Each
// checks its own results and exits with 0 if they are the architecture's. Its
// first line may say, separated by semicolons, which processor features it
// needs, how it ends, which link it is for, and that it reads the time.
func TestCorpus(t *testing.T) {
	sources, err := filepath.Glob("../../testdata/insns/*.S")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	cpu := processorFlags(t)
	for n, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".S")
		for k, link := range []struct {
			name  string
			flags []string
		}{{"low", lowLink}, {"high", highLink}} {
			if only := declared(t, source, "links:"); only != "" && only != link.name || only == "" && n%2 != k && !*every {
				continue
			}
			t.Run(name+"/"+link.name, func(t *testing.T) {
				if missing := lacks(t, source, cpu); missing != "" {
					t.Skipf("the processor has no %s", missing)
				}
				same := declared(t, source, "values:") != "vary"
				if o := checkValues(t, build(t, source, link.flags), same); o.status != ends(t, source) {
					t.Errorf("natively it ends with %s: the program's own check", o.status)
				}
			})
		}
	}
}

// processorFlags is the flags of /proc/cpuinfo.
func processorFlags(t testing.TB) map[string]bool {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	// Some kernels, and virtual machines, refuse int 0x80: it is tried.
	calls := native(t, build(t, "../../testdata/insns/syscalls32.S", lowLink))
	flags := map[string]bool{"int80": calls.status == "exit 0", "AuthenticAMD": bytes.Contains(b, []byte("AuthenticAMD"))}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "flags"); ok {
			for _, f := range strings.Fields(rest) {
				flags[f] = true
			}
			break
		}
	}
	return flags
}

// lacks returns a feature that the source's first line asks for ("needs: avx
// bmi2") and the processor does not have.
func lacks(t testing.TB, source string, cpu map[string]bool) string {
	for _, f := range strings.Fields(declared(t, source, "needs:")) {
		if !cpu[f] {
			return f
		}
	}
	return ""
}

// ends is how a program of the corpus ends if all is well: "exit 0" unless its
// first line says otherwise ("ends: signal 15").
func ends(t testing.TB, source string) string {
	if e := declared(t, source, "ends:"); e != "" {
		return e
	}
	return "exit 0"
}

// declared is what follows the word in the comment that is the source's first
// line.
func declared(t testing.TB, source, word string) string {
	b, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(b), "\n")
	_, rest, _ := strings.Cut(first, word)
	rest, _, _ = strings.Cut(rest, ";")
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "*/"))
}
