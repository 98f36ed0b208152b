package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"alleria/analysis/pstree"
	"alleria/config"
	"alleria/proctree"
)

// treeOf runs tree with a run that is played.
func treeOf(t *testing.T, run dryRun, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, dryRun: run}
	root := a.root(nil)
	root.SetArgs(append([]string{"tree"}, args...))
	status = a.status(root.Execute())
	return status, out.String(), errs.String()
}

// played is a run of make with a compiler that fails and one process that is detached.
func played(t *testing.T) dryRun {
	return func(_ context.Context, program string, args []string) ([]proctree.Process, int, error) {
		if !strings.HasSuffix(program, "/true") || !slices.Equal(args, []string{"true", "-x"}) {
			t.Errorf("run: %s %q", program, args)
		}
		tree := proctree.New(args, proctree.Options{Dir: t.TempDir()})
		defer tree.Close()
		tree.Created(0, 100)
		tree.Executed(1, "/usr/bin/make", []string{"make", "all"})
		tree.Created(1, 101)
		tree.Executed(2, "/usr/bin/x86_64-linux-gnu-gcc-14", []string{"gcc", "a.c"})
		tree.Created(2, 102)
		tree.Executed(3, "/usr/libexec/cc1", []string{"cc1", "a.c"})
		tree.Ended(3, -11, proctree.Usage{MaxRSS: 30 << 20, User: time.Second})
		tree.Ended(2, 4, proctree.Usage{})
		tree.Created(1, 103)
		tree.SetState(4, proctree.Detached)
		tree.Ended(1, 2, proctree.Usage{})
		return tree.Processes(), 2, nil
	}
}

func TestTreeOfARun(t *testing.T) {
	status, out, errs := treeOf(t, played(t), "--", "true", "-x")
	if status != 2 || out != "" || !strings.Contains(errs, "\n├─ 2 (pid 101, exit status 4, ") || !strings.Contains(errs, "\n│  └─ 3 (pid 102, killed by SIGSEGV, ") ||
		!strings.Contains(errs, "1 s of processor time, 30 MiB) cc1 a.c\n") || !strings.Contains(errs, "\n└─ 4 (pid 103, not followed) make all\n") {
		t.Errorf("status %d, %q\n%s", status, out, errs)
	}
	file := filepath.Join(t.TempDir(), "tree.json")
	if status, out, errs := treeOf(t, played(t), "--json", "-o", file, "--", "true", "-x"); status != 2 || out != "" || errs != "" {
		t.Errorf("to a file: %d %q %q", status, out, errs)
	}
	text, err := os.ReadFile(file)
	var roots []*pstree.Node
	if err != nil || json.Unmarshal(text, &roots) != nil || len(roots) != 1 || len(roots[0].Children) != 2 || roots[0].Children[0].Children[0].Signal != 11 {
		t.Errorf("%v %s", err, text)
	}
	if status, _, errs := treeOf(t, played(t), "-o", file, "--", "true", "-x"); status != 2 || !strings.Contains(errs, "--force replaces it") {
		t.Errorf("an existing file: %d %q", status, errs)
	}
	ran := func(context.Context, string, []string) ([]proctree.Process, int, error) {
		t.Error("the program was run before its file was refused")
		return nil, 0, nil
	}
	for _, args := range [][]string{{"-o", file}, {"--write-config", file, "--process", "2"}} {
		if status, _, errs := treeOf(t, ran, append(args, "--", "true", "-x")...); status != 2 || !strings.Contains(errs, "--force replaces it") {
			t.Errorf("%v: %d %q", args, status, errs)
		}
	}
	if status, _, errs := treeOf(t, played(t), "-o", os.DevNull, "--", "true", "-x"); status != 2 || errs != "" {
		t.Errorf("to a device: %d %q", status, errs)
	}
	failing := func(context.Context, string, []string) ([]proctree.Process, int, error) {
		return nil, 0, errors.New("no ptrace")
	}
	if status, _, errs := treeOf(t, failing, "--", "true"); status != statusOwn || errs != "alleria: no ptrace\n" {
		t.Errorf("a run that fails: %d %q", status, errs)
	}
}

// TestTreeWritesAConfiguration chooses processes by number, name and path, and reads back what
// was written.
func TestTreeWritesAConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "w.xml")
	status, _, errs := treeOf(t, played(t), "--process", "2,cc1", "--what", "blocks", "--write-config", file, "--", "true", "-x")
	if status != 2 || !strings.Contains(errs, "wrote "+file) {
		t.Fatalf("%d %s", status, errs)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c, warnings, err := config.Parse("w", text)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v %v", err, warnings)
	}
	m := c.Matcher()
	for _, p := range []struct {
		f    config.ProcessFacts
		want config.Status
	}{
		{config.ProcessFacts{Number: 1, Path: "/usr/bin/make"}, config.RecordsNothing},
		{config.ProcessFacts{Number: 2, Depth: 1, Path: "/usr/bin/x86_64-linux-gnu-gcc-14"}, config.Records},
		{config.ProcessFacts{Number: 3, Depth: 2, Path: "/usr/libexec/cc1"}, config.Records},
		{config.ProcessFacts{Number: 4, Depth: 1, Path: "/usr/bin/make"}, config.RecordsNothing},
	} {
		if _, got := m.Genesis(&p.f).Thread(1, nil); got != p.want {
			t.Errorf("process %d: %v, want %v", p.f.Number, got, p.want)
		}
	}
	if !strings.Contains(string(text), "<!-- gcc a.c -->") {
		t.Errorf("what process 2 is is not said:\n%s", text)
	}
	for args, says := range map[string]string{
		"--process 9 --write-config x -- true -x":           "there is no such process; the tree has 1 to 4",
		"--process cc2 --write-config x -- true -x":         "the nearest is cc1",
		"--process /bin/ld --write-config x -- true -x":     "no process of the tree executes that",
		"--process 2 -- true -x":                            "--process is for --write-config",
		"--write-config x -- true -x":                       "--write-config needs --process",
		"--process 0 --write-config x -- true -x":           "numbered from 1",
		"--process 2 --what few --write-config x -- true x": "--what is one of",
		"--format png -- true -x":                           "--format is text, json, dot or svg",
		"out -- true -x":                                    "not both",
		"--":                                                "no program is named",
		"a b":                                               "tree takes one profile, not 2",
		"-- /no/such/program":                               "no such file",
	} {
		status, _, errs := treeOf(t, played(t), strings.Fields(args)...)
		if status != 2 && status != 127 || !strings.Contains(errs, says) {
			t.Errorf("%s: %d %q, want %q", args, status, errs, says)
		}
	}
	if _, err := os.Stat("x"); err == nil {
		t.Error("a configuration was written all the same")
	}
}

// TestTreeFormats draws a profile's tree in each format.
func TestTreeFormats(t *testing.T) {
	run := syntheticRun(t)
	for format, begins := range map[string]string{"text": "1 (pid 100", "json": "[\n", "dot": "digraph", "svg": "<svg"} {
		if status, out, errs := command(t, "tree", "--format", format, run); status != 0 || !strings.HasPrefix(out, begins) {
			t.Errorf("%s: %d %s %s", format, status, errs, out)
		}
	}
}

// TestTreeRuns has a shell's processes and what they used, of a run that records nothing.
func TestTreeRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tree.json")
	status, _, errs := command(t, "tree", "--json", "-o", file, "--", "/bin/sh", "-c", "/bin/true; (/bin/false; kill -9 $$); exit 3")
	var roots []*pstree.Node
	text, err := os.ReadFile(file)
	if status != 137 || err != nil || json.Unmarshal(text, &roots) != nil || len(roots) != 1 {
		t.Fatalf("%d %s %v\n%s", status, errs, err, text)
	}
	first := roots[0]
	if first.Signal != 9 || len(first.Children) != 2 || first.MaxRSS < 1<<19 || first.CPUSeconds <= 0 {
		t.Errorf("%s", text)
	}
	if c := first.Children[0]; c.Number != 2 || *c.Exit != 0 || len(c.Executed) != 1 || !strings.HasSuffix(c.Program, "/true") || !c.Followed || c.Instructions != 0 {
		t.Errorf("%+v", c)
	}
	if c := first.Children[1]; c.Number != 3 || len(c.Executed) != 0 || len(c.Children) != 1 || *c.Children[0].Exit != 1 {
		t.Errorf("%+v", c)
	}
}
