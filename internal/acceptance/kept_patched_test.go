package acceptance

import (
	"strings"
	"testing"
	"time"
)

// TestKeptOfPatchedPages: of a program that writes to single pages of its own code all else stays for its next starts, which do what they do natively, whatever
// they write there, or nothing.
func TestKeptOfPatchedPages(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/reuse/patches.c", "-O1")
	time.Sleep(100 * time.Millisecond) // nothing is kept of a file that was written a moment ago
	later := []string{"rwx 7 0 0", "rx 9 0 0", "rx 9 1 0", "no 0 0 0", "rwx 100 1 0", "no 0 0 1", "no 0 0 1", "rx 4 0 1"}
	for name, flags := range map[string][]string{
		"translate rx": {"--only", "translate"}, "translate rwx": {"--only", "translate"}, "count rx": {"--only", "count"},
		"copied rwx": {"--only", "translate", "--engine", "copy-index"}, "predicted rx": {"--only", "translate", "--engine", "predict"}, "record rx": {"--no-aslr", "--fields", "function,address,branch", "--force", "-o", "out"},
	} {
		if (name == "translate rwx" || name == "predicted rx") && !*every {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			kept, _ := keptIn(dir)
			_, first, _ := strings.Cut(name, " ")
			before := 0
			for n, args := range append([]string{first + " 7 0 0"}, later...) {
				argv := append([]string{prog}, strings.Fields(args)...)
				native := run(t, command{argv: argv, dir: dir})
				got, of := statsOf(t, dir, append([]string{"--cache", kept}, flags...), argv...)
				if got.status != 0 || !strings.HasPrefix(name, "count") && string(got.stdout) != string(native.stdout) {
					t.Errorf("run %d, %s: %q, natively %q, status %d, %s", n, args, got.stdout, native.stdout, got.status, got.stderr)
				}
				if reused := of("Reused"); (reused > 2500) != (n > 0) {
					t.Errorf("run %d, %s, began with %d blocks", n, args, reused)
				}
				asked := of("Dispatches")
				if again := n == 7; n > 0 && !strings.Contains(args, " 1 ") && asked > 200 || again && asked > before/2 {
					t.Errorf("run %d, %s, made %d requests, the one before %d", n, args, asked, before)
				}
				before = asked
				if strings.HasPrefix(name, "record") {
					samePatched(t, dir, flags, argv)
				}
			}
		})
	}
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		dir := workDir(t)
		native := run(t, command{argv: []string{prog, "rx", "7", "0", "0"}, dir: dir})
		for n := range 2 {
			got, of := statsOf(t, dir, []string{"--cache", "kept", "--only", "translate", "--engine", "no-kept-patched"}, prog, "rx", "7", "0", "0")
			if string(got.stdout) != string(native.stdout) || n > 0 && (of("Reused") < 500 || of("Dispatches") < 200) {
				t.Errorf("run %d began with %d blocks and made %d requests: %q, natively %q", n, of("Reused"), of("Dispatches"), got.stdout, native.stdout)
			}
		}
	})
}

// samePatched compares the profile of a run with that of one for which nothing was kept.
func samePatched(t *testing.T, dir string, flags, argv []string) {
	t.Helper()
	if v := run(t, command{argv: []string{alleria(), "verify", "-q", "out"}, dir: dir}); v.status != 0 {
		t.Errorf("%v: %s%s", argv, v.stdout, v.stderr)
	}
	dump := func() string {
		return withoutTIDs(string(run(t, command{argv: []string{alleria(), "dump", "out"}, dir: dir}).stdout))
	}
	warm := dump()
	if got, reused := keptRun(t, dir, "off", flags, argv...); got.status != 0 || reused != 0 {
		t.Errorf("%v: with nothing kept status %d and %d blocks", argv, got.status, reused)
	}
	if cold := dump(); cold != warm || strings.Count(cold, "\n") < 10000 {
		t.Errorf("%v: the profile differs from line %s on", argv, firstDifference(cold, warm))
	}
}
