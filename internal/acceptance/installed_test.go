package acceptance

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var installed = flag.String("installed", "", "folders of installed programs, separated by colons, to be asked for their version")

// notAsked are programs that do not look at their arguments first: they would act on the machine, or wait.
var notAsked = []string{"init", "telinit", "halt", "poweroff", "reboot", "shutdown", "runlevel", "killall5", "swapoff", "sulogin", "yes"}

// TestInstalled runs each program of some folders twice in each way of tracing: asked for its version, and with a flag that none
// has. Both lead through its start, the libraries that it loads and its end, and neither does anything; what is printed and the exit
// status are to be those of a native run. A program with several names runs once.
func TestInstalled(t *testing.T) {
	if *installed == "" {
		t.Skip("no folder of installed programs was named (-installed)")
	}
	only := regexp.MustCompile(*suiteOnly)
	seen := make(map[string]bool)
	for _, dir := range filepath.SplitList(*installed) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			real, err := filepath.EvalSymlinks(path)
			if err != nil || seen[real] || slices.Contains(notAsked, e.Name()) || !only.MatchString(path) || !isProgram(path) || !isExecutableELF(real) {
				continue
			}
			seen[real] = true
			t.Run(e.Name(), func(t *testing.T) {
				compareSuite(t, []string{path, "--version"}, false)
				compareSuite(t, []string{path, "--no-such-flag"}, false)
			})
		}
	}
	t.Logf("%d programs", len(seen))
	if len(seen) == 0 {
		t.Error("there is no program")
	}
}
