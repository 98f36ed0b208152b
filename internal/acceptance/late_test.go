package acceptance

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestLateLibrary opens a window on functions of libraries that are mapped while
// the program runs natively: one that it is linked with, and one that it loads
// itself. What the program says of its thread's segment base must be in the
// addresses, although the base was set before anything was translated.
func TestLateLibrary(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/windows/late.c", "-O1 -fstack-protector-all -ldl")
	lib := build(t, "../../testdata/windows/late.c", "-O1 -fstack-protector-all -shared -fPIC -DLIBRARY")
	for name, events := range map[string]string{
		"dlopen": fmt.Sprintf(`<On><Call name="late_work" imageName="%s"/></On><Till><Return name="late_work" imageName="%[1]s"/></Till>`, filepath.Base(lib)),
		"linked": `<On><Call name="printf" imageName="libc.so.6"/></On><Till><Return name="printf" imageName="libc.so.6"/></Till>`,
	} {
		writeConfig(t, dir, strings.Replace(everything(events), "<Window>", `<Window reopenable="true">`, 1))
		r := run(t, command{argv: []string{alleria(), "-q", "record", "--force", "-c", "w.xml", "-o", profileDir, "--", prog, lib}, dir: dir})
		if r.status != 0 || len(r.stderr) > 0 {
			t.Fatalf("%s: status %d\n%s", name, r.status, clip(r.stderr))
		}
		var report struct {
			Processes []struct {
				Windows []struct{ Openings, Instructions uint64 }
			}
		}
		out := run(t, command{argv: []string{alleria(), "report", "--json", profileDir}, dir: dir}).stdout
		if err := json.Unmarshal(out, &report); err != nil {
			t.Fatal(err)
		}
		want := uint64(3)
		if name == "linked" {
			want = 4
		}
		if w := report.Processes[0].Windows[0]; w.Openings != want || w.Instructions < 3*5 {
			t.Errorf("%s: %d openings with %d instructions, want %d", name, w.Openings, w.Instructions, want)
		}
		if name == "dlopen" {
			canary := strings.TrimSpace(string(r.stdout[strings.Index(string(r.stdout), "0x"):]))
			d := run(t, command{argv: []string{alleria(), "dump", profileDir}, dir: dir}).stdout
			if n := strings.Count(string(d), strings.Replace(canary, "0x", "load  0x0000", 1)); n < 3 {
				t.Errorf("%d loads from %s, want 3 at least\n%s", n, canary, clip(d))
			}
		}
	}
}

// TestBasesSetNatively opens a window in a program that has set the bases of its
// segments natively, just before: the addresses of what is read through them must be
// those that the program says.
func TestBasesSetNatively(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/segments.c", "-fno-stack-protector")
	dir := workDir(t)
	writeConfig(t, dir, everything(`<On><Call name="work"/></On><Till><Return name="work"/></Till>`))
	argv := []string{alleria(), "-q", "record", "--force", "-c", "w.xml", "-o", profileDir, "--", prog}
	r := run(t, command{argv: argv, dir: dir})
	var sum, gs, fs uint64
	if _, err := fmt.Sscanf(string(r.stdout), "%d 0x%x 0x%x", &sum, &gs, &fs); err != nil || sum != 42 {
		t.Fatalf("status %d: %s%s", r.status, clip(r.stdout), clip(r.stderr))
	}
	d := string(run(t, command{argv: []string{alleria(), "dump", profileDir}, dir: dir}).stdout)
	for _, want := range []string{fmt.Sprintf("load  0x%016x", gs), fmt.Sprintf("load  0x%016x", fs)} {
		if !strings.Contains(d, want) {
			t.Errorf("no %q in\n%s", want, d)
		}
	}
}
