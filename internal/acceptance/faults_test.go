package acceptance

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"alleria/abp"
)

var faultStep = flag.Int("fault-step", 0, "what dies at which of a tracer's calls: 1 is at each; 0: few, or with -every one in 7")

// fault is what testdata/faults/fault.c says of one run.
type fault struct {
	points, call, status int
	reached              bool
	rest                 string // who was left, or that the command hung
}

// faulted runs the little tree under a tracer with flags, and has what kind says die at a point.
func faulted(t *testing.T, dir string, flags []string, kind string, point int) fault {
	t.Helper()
	harness := build(t, "../../testdata/faults/fault.c", "-O1")
	argv := []string{harness, kind, strconv.Itoa(point), "result", alleria(), "-q", "record"}
	argv = append(append(argv, flags...), "--", build(t, "../../testdata/faults/faulted.c", "-O1 -pthread"))
	r := run(t, command{argv: argv, dir: dir})
	if r.status != 0 {
		t.Skipf("system calls cannot be held up here: %s", r.stderr)
	}
	if len(r.stderr) > 0 {
		t.Errorf("%s at %d: %s", kind, point, clip(r.stderr))
	}
	text, err := os.ReadFile(filepath.Join(dir, "result"))
	if err != nil {
		t.Fatal(err)
	}
	f := fault{rest: strings.TrimSpace(string(text))}
	var took float64
	at := strings.Index(f.rest, "points=")
	if _, err := fmt.Sscanf(f.rest[max(at, 0):], "points=%d call=%d status=%d took=%f", &f.points, &f.call, &f.status, &took); err != nil {
		t.Fatalf("%s at %d: %q: %v", kind, point, f.rest, err)
	}
	f.reached = f.call >= 0
	if strings.Contains(f.rest, "hang=") || strings.Contains(f.rest, "left=") {
		t.Errorf("%s at %d: somebody is left: %s", kind, point, f.rest)
	}
	return f
}

// TestFaults has a tracer's tracee, its whole tree, or itself be killed in front of its system calls: each request, each access of
// foreign memory, each change of shared memory, each write. Nothing hangs, nobody is left, the status is that of the
// run without the fault or of the kill, and what was written is whole or cut off, never damaged.
func TestFaults(t *testing.T) {
	t.Parallel()
	for mode, flags := range faultModes(t) {
		for i, kind := range []string{"thread", "tree", "tracer"} {
			t.Run(mode+" "+kind, func(t *testing.T) {
				t.Parallel()
				points := faulted(t, workDir(t), flags, "count", 0).points
				step := *faultStep
				switch {
				case step == 0 && *every:
					step = 7
				case step == 0:
					step = max(points/3, 1)
				}
				reached, tried := 0, 0
				for at := 1 + min(i*step/3, step-1); at <= points; at += step {
					tried++
					if tryFault(t, flags, kind, at) {
						reached++
					}
				}
				t.Logf("%d of %d points reached, of %d", reached, tried, points)
				if reached < tried/2 { // how many calls a run makes depends on the machine's load
					t.Errorf("%d of %d points reached", reached, tried)
				}
			})
		}
	}
}

// faultModes are ways to run a tree that use different requests.
func faultModes(t *testing.T) map[string][]string {
	t.Helper()
	armed := filepath.Join(t.TempDir(), "armed.xml")
	text := windowed(`reopenable="true"`, `<On><Call name="work"/></On><Till><Return name="work"/></Till>`, "")
	if err := os.WriteFile(armed, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string][]string{
		"followed": treeModes(t)["followed"],
		"armed":    {"-c", armed, "-o", profileDir},
		"recorded": {"-o", profileDir},
	}
}

// tryFault tells whether a point was reached.
func tryFault(t *testing.T, flags []string, kind string, at int) bool {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	const killed, native = 128 + 9, 5
	f := faulted(t, dir, flags, kind, at)
	if f.status != killed && (f.status != native || kind == "tracer" && f.reached) {
		t.Errorf("%s at %d: %s", kind, at, f.rest)
	}
	profile := filepath.Join(dir, profileDir)
	if _, err := os.Stat(filepath.Join(profile, "run.json")); err != nil { // nothing was recorded yet
		if files, _ := filepath.Glob(profile + "/*/*.abp"); len(files) > 0 || kind != "tracer" {
			t.Errorf("%s at %d: %v, beside %v", kind, at, err, files)
		}
		return f.reached
	}
	err = abp.Verify(profile, func(p abp.Problem) {
		if !p.CutOff || kind != "tracer" {
			t.Errorf("%s at %d: %s: %s", kind, at, f.rest, p)
		}
	})
	if err != nil {
		t.Errorf("%s at %d: %v", kind, at, err)
	}
	return f.reached
}

// TestKilledBeforeSeized: a process that is killed in front of the tracer's first request has ended by that; it was started once more.
func TestKilledBeforeSeized(t *testing.T) {
	const ptrace, killed = 101, 128 + 9
	for _, kind := range []string{"thread", "tree"} {
		if f := faulted(t, workDir(t), treeModes(t)["followed"], kind, 0); f.call != ptrace || f.status != killed {
			t.Errorf("%s is killed before it is seized: %s", kind, f.rest)
		}
	}
}
