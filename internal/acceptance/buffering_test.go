package acceptance

import (
	"path/filepath"
	"testing"
)

// rivals are the ways of handing records over that are there for comparison.
var rivals = [...]string{"nway", "fastforward", "batched"}

// TestBufferings records the same run in every way of handing records over, with rings that are full all
// the time and with roomy ones: every instruction, address and value must be the same.
func TestBufferings(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	_, want := recordTokens(t, dir, "cab", "function,address,value")
	if len(want) < 1e6 {
		t.Fatalf("%d bytes of text", len(want))
	}
	for n, way := range rivals {
		for k, name := range []string{"tight", "roomy"} {
			if !inTurn(n, k, 2) {
				continue
			}
			flags := [][]string{{"--buffer-chunk", "16K", "--buffer-max", "32K"}, nil}[k]
			if _, got := recordTokens(t, dir, way+name, "function,address,value", append(flags, "--buffering", way)...); got != want {
				t.Errorf("%s, %s: %d bytes of text, which differ from %d", way, name, len(got), len(want))
			}
		}
	}
}

// TestFixturesInRivals runs programs that fault, take signals, change their code, start threads and end
// suddenly with the ways of handing records over that are there for comparison.
func TestFixturesInRivals(t *testing.T) {
	t.Parallel()
	var all []mode
	for _, way := range rivals {
		all = append(all, mode{way, []string{"--buffering", way, "--buffer-chunk", "16K", "--buffer-max", "64K",
			"--select", "any", "--fields", "function,address,value", "-o", "../" + profileDir}, true})
	}
	for _, name := range []string{"code-jit.c", "code-self.c", "death-segv.c", "exceptions.cc", "signals-faults.c", "signals-fixup.c",
		"signals-string.c", "state-flags.c", "threads-mutex.c", "threads-exec.c"} {
		if name == "exceptions.cc" && !*every { // half of the test's time
			continue
		}
		file := filepath.Join(programs, name)
		fx, err := readFixture(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx.test(t, fx.builds[0], all)
		})
	}
}
