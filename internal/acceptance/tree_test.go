package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// treeLine is a process of tree --json, without its children.
type treeLine struct {
	Number, Parent int
	Command        string
	Followed       bool
	Exit           int // -1: not known
}

// treeOf reads what alleria tree says of a profile.
func treeOf(t *testing.T, dir string) []treeLine {
	t.Helper()
	type node struct {
		Number   int
		Command  []string
		Followed bool
		Exit     *int
		Children []node
	}
	var roots []node
	out := run(t, command{argv: []string{alleria(), "tree", "--json", profileDir}, dir: dir}).stdout
	if err := json.Unmarshal(out, &roots); err != nil {
		t.Fatalf("tree: %v\n%s", err, clip(out))
	}
	var lines []treeLine
	var walk func(parent int, nodes []node)
	walk = func(parent int, nodes []node) {
		for _, n := range nodes {
			l := treeLine{n.Number, parent, strings.Join(n.Command, " "), n.Followed, -1}
			if n.Exit != nil {
				l.Exit = *n.Exit
			}
			lines = append(lines, l)
			walk(n.Number, n.Children)
		}
	}
	walk(0, roots)
	slices.SortFunc(lines, func(a, b treeLine) int { return a.Number - b.Number })
	return lines
}

// TestTreeNumbers runs a tree of processes and looks whether they are numbered in the order of
// their creation, with their parents, programs and exit statuses: recorded, followed only, and armed.
func TestTreeNumbers(t *testing.T) {
	script := `/bin/true; (sh -c '/bin/false; exit 4'); /bin/sh -c 'kill -9 $$'; exit 3`
	want := []treeLine{
		{1, 0, "dash -c " + script, true, 3},
		{2, 1, "/bin/true", true, 0},
		{3, 1, "sh -c /bin/false; exit 4", true, 4},
		{4, 3, "/bin/false", true, 1},
		{5, 1, "/bin/sh -c kill -9 $$", true, 137},
	}
	for kind, config := range map[string]string{
		"recorded": windowed("", "", ""),
		"followed": `<AlleriaConfig version="1.0"><Window><Profile><Process/></Profile></Window></AlleriaConfig>`,
		"armed":    windowed("", `<On><Call name="nobody"/></On>`, ""),
		"cached":   windowed("", `<On><Call name="nobody"/></On>`, nothing),
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			writeConfig(t, dir, config)
			argv := []string{"dash", "-c", script}
			r := run(t, command{argv: append([]string{alleria(), "-q", "record", "-c", "w.xml", "-o", profileDir, "--"}, argv...), dir: dir})
			same(t, run(t, command{argv: argv, dir: dir}), r)
			verify(t, dir)
			if got := treeOf(t, dir); !slices.Equal(got, want) {
				t.Errorf("tree\n%v\nwant\n%v", got, want)
			}
		})
	}
}

// TestTreeChosen records one process of several, by number: with exactly the instructions that the program
// executes alone, and with those that nobody names detached.
func TestTreeChosen(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/programs/bare.S", "-nostdlib -static")
	alone := record(t, workDir(t), windowed("", "", ""), prog)["1/1"]
	script := fmt.Sprintf("%[1]s; %[1]s; %[1]s; exit 0", prog)
	dir := workDir(t)
	got := record(t, dir, strings.Replace(windowed("", "", ""), "<Process>", `<Process n="1"/><Process n="3">`, 1), "dash", "-c", script)
	// Where the shell forks, what the child executes as a shell is its first program.
	third := got["3.2/1"].addrs
	if len(got) == 1 {
		third = got["3/1"].addrs
	}
	if !slices.Equal(third, alone.addrs) {
		t.Errorf("recorded %d instructions of process 3, alone %d", len(third), len(alone.addrs))
	}
	for i, l := range treeOf(t, dir) {
		if l.Number != i+1 || l.Followed != (l.Number == 1 || l.Number == 3) {
			t.Errorf("process %+v", l)
		}
	}
}

// TestTreeFigure3 records the three trees of figure 3 of the Alleria paper as section 2.5 describes them: everybody; all but P2, whose child
// has no number and does not move P3's, even where it is there before; and P4 alone, with those above it followed.
func TestTreeFigure3(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/trees/figure3.c", "-O1")
	for _, c := range []struct{ name, process, arg, want, recorded string }{
		{"all", "<Process>", "last", "1<0 2<1 3<1 4<2", "1:p1 2:p2 3:p3 4:grandchild"},
		{"not the second", `<Process n="1"/><Process n="3">`, "first", "1<0 2<1- 3<1", "3:p3"},
		{"the last alone", `<Process/><Process n="4">`, "last", "1<0 2<1 3<1 4<2", "4:grandchild"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			got := record(t, dir, strings.Replace(windowed("", "", ""), "<Process>", c.process, 1), prog, c.arg)
			var tree, ran []string
			for _, l := range treeOf(t, dir) {
				not := ""
				if !l.Followed {
					not = "-"
				}
				tree = append(tree, fmt.Sprintf("%d<%d%s", l.Number, l.Parent, not))
			}
			for key, r := range got {
				for _, f := range []string{"p1", "p2", "p3", "grandchild"} {
					if r.functions[f] > 0 {
						ran = append(ran, strings.TrimSuffix(key, "/1")+":"+f)
					}
				}
			}
			slices.Sort(ran)
			if got := strings.Join(tree, " "); got != c.want {
				t.Errorf("tree %s, want %s", got, c.want)
			}
			if got := strings.Join(ran, " "); got != c.recorded {
				t.Errorf("recorded %s, want %s", got, c.recorded)
			}
		})
	}
}

// TestTreeUntouched has children that nobody asked for detached: they find nothing of the tracer's.
func TestTreeUntouched(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/untouched.c", "-O1")
	for kind, events := range map[string]string{"native": `<On><Call name="clean"/></On>`, "recorded": ""} {
		config := strings.Replace(windowed("", events, ""), "<Process>", `<Process n="1">`, 1)
		dir := workDir(t)
		writeConfig(t, dir, config)
		r := run(t, command{argv: []string{alleria(), "record", "-c", "w.xml", "-o", profileDir, "--", prog}, dir: dir})
		if r.status != 0 || string(r.stdout) != "clean\n" || !strings.Contains(string(r.stderr), "3 child processes ran untraced") {
			t.Errorf("%s: status %d, %s%s", kind, r.status, r.stdout, clip(r.stderr))
		}
	}
	r := run(t, command{argv: []string{alleria(), "-q", "record", "--follow", "none", "--discard", "--", "sh", "-c", "sleep 1; exit 3"}, dir: workDir(t)})
	if r.status != 3 || string(r.stderr) != "alleria: sleep (process 2) runs unrecorded: children are not followed\n" {
		t.Errorf("status %d, %s", r.status, clip(r.stderr))
	}
	dir := workDir(t)
	writeConfig(t, dir, `<AlleriaConfig version="1.0"><Window><Profile><Process/></Profile></Window></AlleriaConfig>`)
	r = run(t, command{argv: []string{alleria(), "-q", "record", "-c", "w.xml", "-o", profileDir, "--", prog}, dir: dir})
	if r.status != 1 { // it is traced, and sees it by TracerPid
		t.Errorf("followed: status %d", r.status)
	}
}

// TestTreeCrossing has windows of one process opened and closed by events of another.
func TestTreeCrossing(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/crossing.c", "-O1")
	address := fmt.Sprintf(`<Address image="%s" offset="%#x" process="2"/>`, filepath.Base(prog), labels(t, prog)["child"])
	for _, c := range []struct{ on, till, want string }{
		{address, `<Termination process="2"/>`, "during"},
		{`<Fork process="1"/>`, address, "before"},
		{strings.Replace(address, "process=", `threshold="2" process=`, 1), `<Termination process="2"/>`, ""},
		{`<Call name="child" process="2"/>`, `<Termination process="2"/>`, "during"},
		{`<Fork process="1"/>`, `<Call name="child" process="2"/>`, "before"},
		{`<Termination process="2"/>`, `<Call name="after"/>`, "between"},
		{`<Syscall name="getppid" process="2"/>`, `<Return name="child" process="2"/>`, "during"},
		{`<Call name="child" process="2" threshold="2"/>`, `<Termination process="2"/>`, ""},
		{`<Instructions threshold="1" process="2"/>`, `<Termination process="2"/>`, "during"},
	} {
		dir := workDir(t)
		config := windowed("", "<On>"+c.on+"</On><Till>"+c.till+"</Till>", "")
		config = strings.Replace(config, "<Process>", `<Process n="1">`, 1)
		got := record(t, dir, config, prog)["1/1"]
		for _, name := range []string{"before", "during", "between", "after"} {
			if n := got.functions[name]; (n > 0) != (name == c.want) && !(name == "before" && c.want == "during") {
				t.Errorf("%s till %s: %d instructions of %s", c.on, c.till, n, name)
			}
		}
	}
}

// TestTreeSampled has the windows of a process open and close for the bursts of another one.
func TestTreeSampled(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/crossing.c", "-O1")
	for process, other := range map[int]int{1: 2, 2: 1} {
		dir := workDir(t)
		record(t, dir, windowed("", fmt.Sprintf(`<On><Sample period="100" burst="60" process="%d"/></On>`, process), ""), prog)
		r := run(t, command{argv: []string{alleria(), "windows", "--json", profileDir}, dir: dir})
		var rows []struct {
			Process int
			Reason  string
		}
		if err := json.Unmarshal(r.stdout, &rows); err != nil {
			t.Fatal(err)
		}
		opened := make(map[int]int)
		for _, row := range rows {
			if row.Reason == "Sample 60 of 100" || row.Reason == "open since before the process began" {
				opened[row.Process]++
			}
		}
		// The first process may have had bursts before the second is there, and behind its end.
		if n, m := opened[process], opened[other]; m < 5 || m > n || process == 2 && m != n {
			t.Errorf("%d bursts of process %d have opened %d windows of process %d", n, process, m, other)
		}
	}
}

// TestTreeOfDebuggers has what a debugger and a tracer trace let go when they ask for it, so that they can.
func TestTreeOfDebuggers(t *testing.T) {
	t.Parallel()
	for _, argv := range [][]string{{"strace", "-f", "-o", "st", "dash", "-c", "/bin/true; exit 5"}, {"gdb", "-q", "-batch", "-ex", "run", "-ex", "quit $_exitcode", "--args", "/bin/false"}} {
		if find(argv[0]) == "" {
			t.Logf("no %s", argv[0])
			continue
		}
		for _, config := range []string{windowed("", "", ""), windowed("", `<On><Call name="nobody"/></On>`, "")} {
			dir := workDir(t)
			writeConfig(t, dir, config)
			native := run(t, command{argv: argv, dir: dir})
			r := run(t, command{argv: append([]string{alleria(), "record", "-c", "w.xml", "-o", profileDir, "--"}, argv...), dir: dir})
			if r.status != native.status || !strings.Contains(string(r.stderr), "ran untraced: ") {
				t.Errorf("%s: status %d, natively %d: %s", argv[0], r.status, native.status, clip(r.stderr))
			}
		}
	}
}

// TestTreeAbruptEnds kills processes of a tree, and the tracer of one: nothing is left behind, and what was recorded
// can be read.
func TestTreeAbruptEnds(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	for _, script := range []string{
		`sleep 5 & sleep 0.1; kill -9 $!; wait $!; exit $?`,
		`(sleep 0.1; kill -9 $$) & exec sleep 5`,
		`for i in 1 2 3 4 5 6; do (while :; do :; done) & done; sleep 0.2; kill -9 $(jobs -p) ; wait; exit 6`,
	} {
		argv := []string{"bash", "-c", script}
		r := run(t, command{argv: append([]string{alleria(), "-q", "record", "--force", "-o", profileDir, "--"}, argv...), dir: dir})
		if native := run(t, command{argv: argv, dir: dir}); r.status != native.status {
			t.Errorf("%s: status %d, natively %d", script, r.status, native.status)
		}
		verify(t, dir)
	}
	token := fmt.Sprintf("3%09d", os.Getpid())
	cmd := exec.Command(alleria(), "-q", "record", "--force", "-o", filepath.Join(dir, profileDir), "--", "bash", "-c", "sleep "+token+" & sleep "+token+"; exit")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	alive := func() bool { return exec.Command("pgrep", "-f", "sleep "+token).Run() == nil }
	for deadline := time.Now().Add(time.Minute); !alive() && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for deadline := time.Now().Add(10 * time.Second); alive(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a process outlives its tracer")
		}
	}
}

// TestTreePrefetch runs a program several times in a tree, and has what it asked for before translated
// ahead or not: each time it executes the same.
func TestTreePrefetch(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/counts/sort.c", "-static -nostdlib -fno-stack-protector -fno-tree-vectorize")
	script := fmt.Sprintf("%[1]s; %[1]s; %[1]s; exit 0", prog)
	var want []uint64
	for _, flags := range [][]string{{"--engine", "no-prefetch"}, nil, {"--engine", "no-super"}, {"--only", "blocks"}} {
		dir := workDir(t)
		recordWith(t, dir, windowed("", "", ""), true, flags, "dash", "-c", script)
		got := dumped(t, dir)
		for n := 2; n <= 4; n++ {
			addrs := got[fmt.Sprintf("%d/1", n)].addrs
			if more := got[fmt.Sprintf("%d.2/1", n)].addrs; more != nil { // the shell forks
				addrs = more
			}
			if want == nil {
				want = addrs
			}
			if len(addrs) == 0 || !slices.Equal(addrs, want) {
				t.Errorf("%v, process %d: %d instructions, not the %d of the first", flags, n, len(addrs), len(want))
			}
		}
	}
	dir := workDir(t)
	requests := func(flags ...string) (n int) {
		log := filepath.Join(dir, "log")
		_ = os.Remove(log)
		run(t, command{argv: append(append([]string{alleria(), "--log", log, "record", "-q", "--cache", "off", "--only", "translate"}, flags...), "--", "dash", "-c", script), dir: dir})
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(b), "Dispatches:")
		_, _ = fmt.Sscan(rest, &n)
		return n
	}
	if with, without := requests(), requests("--engine", "no-prefetch"); with == 0 || with >= without {
		t.Errorf("%d dispatches with what was asked for before, %d without", with, without)
	}
}
