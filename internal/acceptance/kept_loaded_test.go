package acceptance

import (
	"strings"
	"testing"
	"time"
)

// TestKeptOfLoadedFiles: of code that a program loads as dynamic linkers do all stays for its next starts, whether the mappings were read while it had mapped the file as a whole, or
// not; but not what it may have written before all was in place.
func TestKeptOfLoadedFiles(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/reuse/loads.c", "-O1")
	time.Sleep(100 * time.Millisecond)             // nothing is kept of a file that was written a moment ago
	for name, starts := range map[string][]string{ // arguments, and how much the start begins with
		"seen later":   {"0 4 0 0 0", "0 4 0 0 0 all", "1 4 0 0 0 all", "0 100 0 0 0 all"},
		"seen first":   {"1 4 0 0 0", "0 4 0 0 0 all", "1 4 0 0 0 all", "1 100 0 0 0 all"},
		"much data":    {"1 100 0 0 0", "0 100 0 0 0 all", "1 100 0 0 0 all", "1 4 0 0 0 all"},
		"written":      {"0 4 0 0 0", "1 4 9 1 0 none", "1 4 7 8 0 none", "0 4 0 0 0 all"},
		"first a page": {"1 4 9 1 0", "1 4 0 0 0 most", "1 4 7 8 0 none"},
		"first all":    {"1 4 9 8 0", "0 4 0 0 0 none", "1 4 5 1 0 none"},
		"gone beyond":  {"1 4 0 0 1", "1 4 0 0 0 none", "0 4 0 0 1 all", "1 4 0 0 1 all"},
	} {
		for mode, flags := range map[string][]string{
			"translate": {"--only", "translate"}, "count": {"--only", "count"}, "off": {"--only", "translate", "--engine", "no-kept-patched"},
		} {
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				dir := workDir(t)
				kept, _ := keptIn(dir)
				for n, start := range starts {
					words := strings.Fields(start)
					argv := append([]string{prog}, words[:5]...)
					native := run(t, command{argv: argv, dir: dir})
					got, of := statsOf(t, dir, append([]string{"--cache", kept}, flags...), argv...)
					if got.status != 0 || mode != "count" && string(got.stdout) != string(native.stdout) {
						t.Errorf("start %d, %s: %q, natively %q, status %d, %s", n, start, got.stdout, native.stdout, got.status, got.stderr)
					}
					asked := of("Dispatches")
					most, ok := map[string]int{"all": 100, "most": 400}[words[len(words)-1]]
					if mode != "off" && n > 0 && (asked <= most) != ok {
						t.Errorf("start %d, %s, began with %d blocks and made %d requests", n, start, of("Reused"), asked)
					}
				}
			})
		}
	}
}
