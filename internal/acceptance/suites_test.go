package acceptance

import (
	"debug/elf"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	suites    = flag.String("suites", "", "folders of other projects' test programs, separated by colons")
	suiteOnly = flag.String("suite-only", "", "run those whose path below its folder matches this expression")
	suiteCC   = flag.String("suite-cc", "", "further flags of the compiler for the suites' sources, separated by blanks")
	suiteWay  = flag.String("suite-way", "", "trace only in the ways whose names match this expression")
	stressors = flag.Bool("stressors", false, "run stress-ng's stressors one by one")
)

// suiteTime is what a program of a suite may take natively. Those that take longer are left out: they wait, or measure.
const suiteTime = 10 * time.Second

// TestSuites runs other projects' test programs natively and in each way of tracing, and fails where one ends
// differently. A folder holds sources or programs: a source with a main of its own is compiled by itself, with the headers that lie beside
// and above it; one that needs more of its suite is counted and left out, unless its program lies there built.
//
// Output is compared where two native runs agree on it; the exit status always. Refused: a recipe for each suite. What a suite
// needs to be built is its own affair, and changes with it.
func TestSuites(t *testing.T) {
	if *suites == "" {
		t.Skip("no folder of test programs was named (-suites)")
	}
	for _, dir := range filepath.SplitList(*suites) {
		s := suite{dir: dir, out: t.TempDir()}
		t.Run(filepath.Base(dir), s.run)
	}
}

// TestStressors runs each stressor of stress-ng for a few of its operations, natively and traced.
func TestStressors(t *testing.T) {
	if !*stressors {
		t.Skip("stress-ng's stressors are run on demand (-stressors)")
	}
	ng := find("stress-ng")
	if ng == "" {
		t.Fatal("stress-ng is not installed")
	}
	list, err := exec.Command(ng, "--stressors").Output()
	if err != nil {
		t.Fatal(err)
	}
	only := regexp.MustCompile(*suiteOnly)
	for _, name := range strings.Fields(string(list)) {
		if !only.MatchString(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			argv := []string{ng, "--" + name, "1", "--" + name + "-ops", "5", "--timeout", "3"}
			compareSuite(t, argv, true)
		})
	}
}

// suite is one folder of test programs.
type suite struct {
	dir string
	out string // what is built goes here

	needMore int // sources that do not compile alone
}

func (s *suite) run(t *testing.T) {
	only := regexp.MustCompile(*suiteOnly)
	ran := 0
	err := filepath.WalkDir(s.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, _ := filepath.Rel(s.dir, p)
		if !only.MatchString(rel) {
			return nil
		}
		bin := s.program(p, rel)
		if bin == "" {
			return nil
		}
		ran++
		t.Run(rel, func(t *testing.T) {
			compareSuite(t, []string{bin}, false)
			if plain := s.compile(p, rel, "-O0", "-no-pie"); plain != "" && asked("values") {
				compareValues(t, plain)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d programs of %s; %d sources need more of their suite", ran, s.dir, s.needMore)
	if ran == 0 {
		t.Errorf("no test program was found in %s: it takes sources with a main, or programs that are built", s.dir)
	}
}

// hasMain finds a definition of main, as C and C++ programs write it.
var hasMain = regexp.MustCompile(`(?m)\bmain\s*\(`)

// program is the executable of a file: itself, or what is compiled from it; "" if there is none.
func (s *suite) program(path, rel string) string {
	if filepath.Ext(path) == "" {
		if isProgram(path) && isExecutableELF(path) {
			return path
		}
		return ""
	}
	if bin := s.compile(path, rel, "-O1"); bin != "" {
		return bin
	}
	if hasMainIn(path) {
		s.needMore++
	}
	return ""
}

// asked tells whether a way of tracing is to be taken.
func asked(way string) bool { return regexp.MustCompile(*suiteWay).MatchString(way) }

// hasMainIn tells whether a source defines main, or a header that lies beside it does.
func hasMainIn(path string) bool {
	text, _ := os.ReadFile(path)
	for _, m := range quoted.FindAllSubmatch(text, -1) {
		header, _ := os.ReadFile(filepath.Join(filepath.Dir(path), string(m[1])))
		text = append(text, header...)
	}
	return hasMain.Match(text)
}

// quoted finds what a source includes of its own.
var quoted = regexp.MustCompile(`(?m)^#include "(.*)"`)

// compile makes a program of a source with a main, and of what is named like it: of a_main.c, and a_x.c and a_y.c beside it.
// If that does not do, the assembly that lies there goes with it. "": there is no program.
func (s *suite) compile(path, rel string, flags ...string) string {
	cc, ok := map[string]string{".c": "cc", ".cc": "c++", ".cpp": "c++", ".C": "c++"}[filepath.Ext(path)]
	if !ok || !hasMainIn(path) {
		return ""
	}
	bin := filepath.Join(s.out, strings.NewReplacer("/", "_", ".", "_").Replace(rel)+flags[0])
	argv := append(slices.Clone(flags), "-g", "-w", "-o", bin, path)
	if whole, ok := strings.CutSuffix(path, "_main"+filepath.Ext(path)); ok {
		parts, _ := filepath.Glob(whole + "_?" + filepath.Ext(path))
		argv = append(argv, parts...)
	}
	for d := filepath.Dir(path); ; d = filepath.Dir(d) {
		argv = append(argv, "-I", d)
		if d == s.dir || len(d) <= len(s.dir) {
			break
		}
	}
	argv = append(append(argv, strings.Fields(*suiteCC)...), "-lpthread", "-lm", "-ldl", "-lrt")
	if exec.Command(cc, argv...).Run() == nil {
		return bin
	}
	assembly, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.S"))
	if len(assembly) > 0 && exec.Command(cc, append(assembly, argv...)...).Run() == nil {
		return bin
	}
	return ""
}

func isExecutableELF(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return f.Machine == elf.EM_X86_64 && (f.Type == elf.ET_EXEC || f.Type == elf.ET_DYN)
}

// compareSuite runs a program twice natively, to see what of it is the same each time, and then in each way of tracing.
func compareSuite(t *testing.T, argv []string, statusOnly bool) {
	first, ok := suiteRun(t, argv, suiteTime)
	if !ok {
		t.Skip("takes too long natively")
	}
	second, ok := suiteRun(t, argv, suiteTime)
	if !ok || first.status != second.status {
		t.Skip("does not end the same natively")
	}
	statusOnly = statusOnly || string(first.stdout) != string(second.stdout) || string(first.stderr) != string(second.stderr)
	for _, m := range suiteModes(t) {
		// The slowest way is recording everything, with a start of half a second.
		got, ok := suiteRun(t, m.under(argv), 60*time.Second+100*first.took)
		switch {
		case !ok:
			t.Errorf("%s: no end", m.name)
		case got.status != first.status:
			t.Errorf("%s: status %d, natively %d\n%s", m.name, got.status, first.status, clip(got.stderr))
		case !statusOnly && string(got.stdout) != string(first.stdout):
			t.Errorf("%s: stdout differs\n%s", m.name, lineDiff(string(first.stdout), string(got.stdout)))
		case !statusOnly && string(got.stderr) != string(first.stderr):
			t.Errorf("%s: stderr differs\n%s", m.name, lineDiff(string(first.stderr), string(got.stderr)))
		}
	}
}

// suiteModes are the ways of tracing without a profile on disk, one whose window never opens, and one that captures all calls of
// the program's own functions.
func suiteModes(t *testing.T) (out []mode) {
	for _, m := range modes() {
		if !m.disk {
			out = append(out, m)
		}
	}
	dir := t.TempDir()
	armed := writeFile(t, dir, "armed.xml", `<AlleriaConfig version="1.0"><Window><On><Call name="main" threshold="1000000000"/></On><Till><Return name="main"/></Till>
<Profile><Process><Thread><Image main="true"><Function><Instruction cat="anyMem" accessAddressAndSize="true"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`)
	config := interceptConfig(t, dir, `main="true"`, `<Function name="*"><Intercept auto="true" depth="2"/></Function>`)
	out = append(out, mode{"armed", []string{"-c", armed, "--discard"}, false},
		mode{"intercepted", []string{"-c", config, "-o", filepath.Join(dir, profileDir)}, false})
	return slices.DeleteFunc(out, func(m mode) bool { return !asked(m.name) })
}

// suiteRun is run for programs that may hang by themselves: not ending is an answer, not a failure.
func suiteRun(t *testing.T, argv []string, limit time.Duration) (result, bool) {
	dir := t.TempDir()
	var out, errs limited
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, baseEnv(dir)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v", argv[0], err)
	}
	ended := true
	kill := time.AfterFunc(limit, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	_ = cmd.Wait() // the state tells the end
	if !kill.Stop() {
		ended = false
	}
	ws, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	status := ws.ExitStatus()
	if ws.Signaled() {
		status = 128 + int(ws.Signal())
	}
	return result{out.b, errs.b, status, time.Since(start)}, ended
}

// limited keeps the first megabyte that is written to it.
type limited struct{ b []byte }

func (l *limited) Write(p []byte) (int, error) {
	if n := 1<<20 - len(l.b); n > 0 {
		l.b = append(l.b, p[:min(n, len(p))]...)
	}
	return len(p), nil
}
