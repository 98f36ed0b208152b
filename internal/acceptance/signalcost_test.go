package acceptance

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestReturnsInCache has a program take five hundred signals and more: it returns from their handlers in the code cache. Each costs
// a stop to be delivered and one at its handler's first instruction; a return with stops costs three more.
func TestReturnsInCache(t *testing.T) {
	const signals = 500
	prog := build(t, programs+"/signals-frame.c", "")
	for _, flags := range [][]string{nil, {"--engine", "no-sigreturn"}} {
		dir := workDir(t)
		argv := append([]string{alleria(), "-q", "record", "--log", "log", "--only", "translate"}, flags...)
		r := run(t, command{argv: append(argv, "--", prog), dir: dir})
		log, err := os.ReadFile(filepath.Join(dir, "log"))
		if err != nil || r.status != 0 {
			t.Fatalf("%v: %v, status %d\n%s", flags, err, r.status, clip(r.stderr))
		}
		number := func(expr string) int {
			m := regexp.MustCompile(expr).FindSubmatch(log)
			if m == nil {
				t.Fatalf("%s: not in the log:\n%s", expr, clip(log))
			}
			n, _ := strconv.Atoi(string(m[1]))
			return n
		}
		returns, waits := number(`Returns:(\d+)`), number(`(\d+) waits`)
		if flags != nil {
			if returns != 0 {
				t.Errorf("%v: %d returns in the cache", flags, returns)
			}
			continue
		}
		if returns < signals {
			t.Errorf("%d returns in the cache of %d", returns, signals)
		}
		t.Logf("the program waited %d times for %d signals", waits, signals)
	}
}
