package acceptance

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// fixture is a program of testdata/programs, as its first lines describe it.
// They are comments of the form
//
//	expect stdout: TEXT     what it prints, without the last line end
//	expect stderr: TEXT
//	expect exit: N          default 0; 128+N for a signal
//	build: FLAGS            for the compiler; one line for each way to build it; "musl" first: musl-gcc
//	needs: FLAG             of /proc/cpuinfo, or of machineHas; skipped without
//	untraced: REASON        it, or a program that it executes, may run untraced, which alleria says with this reason
//	tells: TEXT             alleria says something of it that has this in it
//	armed: FUNCTION         it also runs with windows on the function, natively between them
//	skip MODE: REASON       a limit that the documentation names
type fixture struct {
	file           string
	stdout, stderr string
	exit           int
	builds         []string
	needs, armed   string
	untraced       string
	tells          string
	skip           map[string]string // by mode
}

// readFixture reads a source file's description.
func readFixture(path string) (fixture, error) {
	f, err := os.Open(path)
	if err != nil {
		return fixture{}, err
	}
	defer f.Close()
	fx := fixture{file: path, skip: make(map[string]string)}
	sc := bufio.NewScanner(f)
	for n := 0; n < 20 && sc.Scan(); n++ {
		line := strings.TrimSpace(strings.TrimSuffix(strings.TrimLeft(sc.Text(), "/*# "), "*/"))
		key, val, _ := strings.Cut(line, ": ")
		switch key {
		case "expect stdout":
			fx.stdout = val + "\n"
		case "expect stderr":
			fx.stderr = val + "\n"
		case "expect exit":
			if fx.exit, err = strconv.Atoi(val); err != nil {
				return fx, fmt.Errorf("%s: %w", path, err)
			}
		case "build":
			fx.builds = append(fx.builds, val)
		case "needs":
			fx.needs = val
		case "armed":
			fx.armed = val
		case "untraced":
			fx.untraced = val
		case "tells":
			fx.tells = val
		default:
			if m, ok := strings.CutPrefix(key, "skip "); ok {
				fx.skip[m] = val
			}
		}
	}
	if len(fx.builds) == 0 {
		fx.builds = []string{""}
	}
	return fx, sc.Err()
}

// compiled remembers what was built: one build for each source and flags,
// however many tests ask at a time.
var compiled sync.Map // the program's path → func() (string, error)

// build compiles a fixture with flags and returns the program's path. That is what a build goes
// by, and it is one for each content of a source: tests make sources of the same name, in
// directories of their own, and a program that is built again while another test runs it fails that.
func build(t testing.TB, file, flags string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	dir := filepath.Join(testRoot, fmt.Sprintf("%.6x", sha256.Sum256(text)))
	out := filepath.Join(dir, name+strings.ReplaceAll(flags, " ", ""))
	once, _ := compiled.LoadOrStore(out, sync.OnceValues(func() (string, error) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		argv := compiler(file, strings.Fields(flags), out)
		if find(argv[0]) == "" && argv[0] != "go" && argv[0] != "rustc" {
			return "", nil
		}
		if msg, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, msg)
		}
		return out, nil
	}))
	path, err := once.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	if path == "" {
		t.Skipf("no compiler for %s %s", file, flags)
	}
	return path
}

// compiler is the command that builds a file.
func compiler(file string, flags []string, out string) []string {
	cc := "gcc"
	common := []string{"-O1", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter", "-pthread"}
	switch filepath.Ext(file) {
	case ".go":
		return []string{"go", "build", "-o", out, file}
	case ".rs":
		return []string{"rustc", "-O", "-o", out, file}
	case ".cc":
		cc = "g++"
	case ".S":
		common = nil
	}
	if len(flags) > 0 && flags[0] == "musl" {
		cc, flags = "musl-gcc", flags[1:]
	}
	argv := append([]string{cc}, common...)
	argv = append(append(argv, flags...), "-o", out, file, "-lm")
	for _, f := range flags {
		if f == "-nostdlib" {
			argv = argv[:len(argv)-1]
		}
	}
	return argv
}

// fixtures lists the sources of the fixtures.
func fixtures(t *testing.T) (files []string) {
	t.Helper()
	all, err := filepath.Glob(programs + "/*.*")
	if err != nil || len(all) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, file := range all {
		if filepath.Ext(file) != ".h" {
			files = append(files, file)
		}
	}
	return files
}

// TestFixtures runs every fixture natively, to know that it says the truth, and in
// its modes.
func TestFixtures(t *testing.T) {
	t.Parallel()
	for _, file := range fixtures(t) {
		fx, err := readFixture(file)
		if err != nil {
			t.Fatal(err)
		}
		for n, flags := range fx.builds {
			name := fx.name(flags)
			t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				bin := fx.build(t, flags)
				if t.Run("native", func(t *testing.T) { fx.check(t, runIn(t, []string{bin}, nil)) }) {
					fx.test(t, flags, append(fixtureTurn(name), fx.armedInTurn(t, n)...))
				}
			})
		}
	}
}

// name is what a build of the fixture is called.
func (fx *fixture) name(flags string) string {
	if len(fx.builds) > 1 {
		return filepath.Base(fx.file) + " " + flags
	}
	return filepath.Base(fx.file)
}

// build builds the fixture, where the machine can run it.
func (fx *fixture) build(t *testing.T, flags string) string {
	if fx.needs != "" && !machineHas(t, fx.needs) {
		t.Skipf("this machine has no %s", fx.needs)
	}
	return build(t, fx.file, flags)
}

// test builds a fixture and runs it in modes.
func (fx *fixture) test(t *testing.T, flags string, in []mode) {
	bin := fx.build(t, flags)
	for _, m := range in {
		t.Run(m.name, func(t *testing.T) {
			if why := fx.skip[m.name]; why != "" {
				t.Skip(why)
			}
			if m.name == "main" && filepath.Ext(fx.file) == ".S" {
				t.Skip("a program without main")
			}
			fx.check(t, runIn(t, []string{bin}, &m))
		})
	}
}

// armedModes are those in which a fixture runs natively between windows on one of its functions: with native probes of
// every kind.
func (fx *fixture) armedModes(t *testing.T) []mode {
	if fx.armed == "" {
		return nil
	}
	config := filepath.Join(t.TempDir(), "never.xml")
	never := windowed("", `<On><Call name="`+fx.armed+`" threshold="100000000"/></On>`, "")
	if err := os.WriteFile(config, []byte(never), 0o644); err != nil {
		t.Fatal(err)
	}
	window := []string{"--discard", "--reopenable", "--on-call", fx.armed, "--till-return", fx.armed}
	return []mode{
		{"armed", window, false},
		{"stops", append([]string{"--engine", "no-busy", "--engine", "no-jumps"}, window...), false},
		{"never", []string{"--engine", "no-jumps", "--discard", "--config", config}, false},
		{"intercepted", []string{"--discard", "--intercept", fx.armed}, false},
	}
}

// armedInTurn are all of them with -every, and else two, the same ones each time, the other ones for the next build.
func (fx *fixture) armedInTurn(t *testing.T, build int) []mode {
	all := fx.armedModes(t)
	switch {
	case *every || len(all) == 0:
		return all
	case build > 1:
		return nil
	}
	first := (len(filepath.Base(fx.file)) + 1 + build) % 2
	return []mode{all[first], all[first+2]}
}

// runIn runs a command in an empty directory, natively or in a mode.
func runIn(t *testing.T, argv []string, m *mode) result {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if m != nil {
		argv = m.under(argv)
	}
	r := run(t, command{argv: argv, dir: dir})
	if m != nil && m.disk {
		verify(t, filepath.Dir(dir))
	}
	return r
}

// check compares what a run showed with what the fixture expects.
func (fx *fixture) check(t *testing.T, r result) {
	t.Helper()
	r.stderr = fx.withoutTold(r.stderr)
	same(t, result{stdout: []byte(fx.stdout), stderr: []byte(fx.stderr), status: fx.exit}, r)
}

// withoutTold leaves out what alleria says of programs that run untraced, where the fixture has some for that reason, and what else the fixture expects it to say.
func (fx *fixture) withoutTold(stderr []byte) (rest []byte) {
	for line := range bytes.Lines(stderr) {
		own := bytes.HasPrefix(line, []byte("alleria: "))
		switch {
		case own && fx.untraced != "" && bytes.HasSuffix(line, []byte(" ran untraced: "+fx.untraced+"\n")):
		case own && fx.tells != "" && bytes.Contains(line, []byte(fx.tells)):
		default:
			rest = append(rest, line...)
		}
	}
	return rest
}

// machineHas is cpuHas; of a flag that begins with "does-" the rest is asked of testdata/programs/manual/does.c.
func machineHas(t *testing.T, flag string) bool {
	if what, ok := strings.CutPrefix(flag, "does-"); ok {
		return run(t, command{argv: []string{build(t, programs+"/manual/does.c", ""), what}, dir: t.TempDir()}).status == 0
	}
	return cpuHas(flag)
}

// cpuHas tells whether the processor has a feature.
func cpuHas(flag string) bool {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return false
	}
	return strings.Contains(string(b), " "+flag+" ")
}
