package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestCoreDump: the core dump of a program that dies holds the program and nothing of the
// tracer's, whose mappings are sixty gigabytes of room.
func TestCoreDump(t *testing.T) {
	t.Parallel()
	if pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern"); err != nil || strings.ContainsAny(string(pattern), "|/%") {
		t.Skipf("core dumps don't go to the working directory here: %q, %v", pattern, err)
	}
	prog := build(t, programs+"/death-segv.c", "")
	dump := func(name string, argv ...string) int64 {
		dir := filepath.Join(t.TempDir(), "work")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		sh := []string{find("sh"), "-c", `ulimit -c unlimited; exec "$@"`, "sh"}
		if r := run(t, command{argv: append(sh, argv...), dir: dir}); r.status != 128+int(syscall.SIGSEGV) {
			t.Fatalf("%s: status %d, %s", name, r.status, clip(r.stderr))
		}
		files, _ := filepath.Glob(filepath.Join(dir, "core*"))
		if len(files) != 1 {
			t.Skipf("%s: no core dump, though asked for: %v", name, files)
		}
		info, err := os.Stat(files[0])
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	native := dump("native", prog)
	for _, m := range modes() {
		// Images that breakpoints were written to are in it, as their pages are the program's own.
		if got := dump(m.name, m.under([]string{prog})...); got > native+8<<20 {
			t.Errorf("%s: the core dump has %d bytes, natively %d", m.name, got, native)
		}
	}
}
