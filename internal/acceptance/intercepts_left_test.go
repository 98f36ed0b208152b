package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestInterceptLeft has calls captured that exceptions and longjmp leave, behind which the program goes on where they would have returned to: no
// return is made up, and none that was is lost. By native code, by the tracer natively, and in the cache.
func TestInterceptLeft(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/intercept/left.cc", "-O2")
	const left = " <left without returning>"
	want := []string{"parse(n=-1)" + left}
	for n := range 200 {
		if n%3 == 2 {
			want = append(want, "parse(n=-1)"+left)
		} else {
			want = append(want, fmt.Sprintf("parse(n=%d) = %d", n, n+1))
		}
	}
	want = append(want, "unsure(n=-1)"+left, "unsure(n=0) = 1")
	for i := range 50 {
		want = append(want, "thrower(d=0)"+left)
		if i&1 == 1 {
			want = append(want, "thrower(d=1)"+left)
		}
	}
	slices.Sort(want)
	functions := ""
	for _, name := range []string{"parse", "unsure", "thrower"} {
		functions += `<Function name="` + name + `"><Intercept auto="true"/></Function>`
	}
	// The last calls are seen to have been left by one that follows.
	functions += `<Function name="mark"><Intercept auto="true"/></Function>`
	for _, w := range []struct{ name, engine, more string }{
		{"native", "no-busy", ""},
		{"by the tracer", "no-native-capture", ""},
		{"cache", "no-busy", `<Function name="main"><Instruction cat="CALL"/></Function>`},
	} {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			c := interceptConfig(t, dir, `main="true"`, functions+w.more)
			run(t, command{argv: []string{alleria(), "-q", "record", "--engine", w.engine, "-o", profileDir, "-c", c, "--", prog}, dir: dir})
			got := slices.DeleteFunc(intercepts(t, dir), func(l string) bool { return strings.HasPrefix(l, "mark(") })
			for i := range got {
				got[i] = strings.TrimLeft(got[i], " ")
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("got %d calls, want %d: %s", len(got), len(want), difference(got, want))
			}
		})
	}
}

// TestInterceptLoops has functions captured that jump to their own first instruction: such a jump is no call. Natively, in the cache, and from one to the other, which a
// process comes to that stops often.
func TestInterceptLoops(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/within.c", "-O2 -Wl,--no-warn-rwx-segments")
	for _, f := range []string{"follow", "take", "counted", "table", "level", "last", "colder", "calling", "changing", "entered"} {
		t.Run(f, func(t *testing.T) {
			t.Parallel()
			for _, way := range [][]string{nil, {"--engine", "no-busy"}, {"--unpatched"}} {
				if len(way) != 1 && slices.Contains([]string{"table", "level", "last"}, f) {
					continue // natively nothing tells where a register leads
				}
				dir := workDir(t)
				args := append([]string{alleria(), "-q", "record", "-o", profileDir, "--intercept", f + "@main"}, way...)
				run(t, command{argv: append(args, "--", prog, f, "200"), dir: dir})
				want := 200
				if f == "entered" {
					want = 1000 // by jumps of another function
				}
				if got := len(intercepts(t, dir)); got != want {
					t.Errorf("%v: %d calls, want %d", way, got, want)
				}
			}
		})
	}
}

// TestInterceptWritten records with what alleria new writes: parameters that it has no words for are left out, and the others are right.
func TestInterceptWritten(t *testing.T) {
	t.Parallel()
	const source = "../../testdata/intercept/written.cc"
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	write := []string{alleria(), "new"}
	for _, m := range regexp.MustCompile(`(?m)^/\* VALUE: ((\w+).*) \*/$`).FindAllStringSubmatch(string(text), -1) {
		want = append(want, m[1])
		write = append(write, "--intercept", m[2]+"@main")
	}
	dir := workDir(t)
	prog := build(t, source, "-w")
	r := run(t, command{argv: append(write, prog), dir: dir})
	if n := strings.Count(string(r.stdout), "<!-- Left out"); r.status != 0 || n != 5 {
		t.Fatalf("status %d, %d comments, want 5: %s%s", r.status, n, clip(r.stdout), clip(r.stderr))
	}
	intercepted(t, dir, writeFile(t, dir, "c.xml", string(r.stdout)), prog)
	if got := intercepts(t, dir); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestInterceptDeclared has functions captured that a header declares, with types that travel otherwise than integers; where one cannot be told, what hangs on it is not made up.
func TestInterceptDeclared(t *testing.T) {
	t.Parallel()
	header, err := filepath.Abs("../../testdata/intercept/declared.h")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(header)
	if err != nil {
		t.Fatal(err)
	}
	dir := workDir(t)
	args := []string{alleria(), "-q", "record", "-o", profileDir, "--header", header}
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^/\* VALUE: ((\w+).*) \*/$`).FindAllStringSubmatch(string(text), -1) {
		want = append(want, m[1])
		args = append(args, "--intercept", m[2]+"@main")
	}
	run(t, command{argv: append(args, "--", build(t, "../../testdata/intercept/declared.c", "-g0")), dir: dir})
	if got := intercepts(t, dir); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestInterceptNested has functions captured that debug information has within others.
func TestInterceptNested(t *testing.T) {
	t.Parallel()
	for _, cc := range []string{"gcc -O0", "gcc -O2 -gdwarf-4"} {
		dir := workDir(t)
		prog := build(t, "../../testdata/intercept/nested.cc", strings.TrimPrefix(cc, "gcc "))
		run(t, command{argv: []string{alleria(), "-q", "record", "-o", profileDir, "--intercept", "*method*@main", "--intercept", "*operator*@main", "--", prog}, dir: dir})
		var got []string
		for _, l := range intercepts(t, dir) {
			name, args, _ := strings.Cut(l, "(this=")
			if name == l {
				_, args, _ = strings.Cut(l, "(__closure=")
			}
			_, args, _ = strings.Cut(args, "}, ")
			got = append(got, args)
		}
		if want := []string{`x=2, y=3.5) = 6`, `z=4.5) = 9`, `y=4, s="hey") = 109`}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", cc, got, want)
		}
	}
}

// TestInterceptConventions has functions captured that pass arguments otherwise, which debug information states: nothing is made up. Of those that pass them as others do
// all is shown, and floats without a prototype are doubles.
func TestInterceptConventions(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := filepath.Join(dir, "conventions")
	buildClang(t, "clang", "../../testdata/intercept/conventions.c", prog, "-w -std=gnu11")
	args := []string{alleria(), "record", "-o", profileDir}
	for _, name := range []string{"vector", "swift", "keeps", "old", "large"} {
		args = append(args, "--intercept", name+"@main")
	}
	r := run(t, command{argv: append(args, "--", prog), dir: dir})
	want := []string{"vector(a=?, b=?) = ?", "swift(a=?, b=?) = ?", "keeps(a=1, b=2) returned", "old(k=1, d=2.5, c=-3) = 23", "large(k=4) = 4"}
	got := intercepts(t, dir)
	for i := range got {
		got[i] = regexp.MustCompile(`b=\{c=.*\}, `).ReplaceAllString(got[i], "")
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if !strings.Contains(string(r.stderr), "10 entries and returns of") { // however many records a large one takes
		t.Errorf("it says %s", r.stderr)
	}
}

// difference is the first line in which sorted lines differ.
func difference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		if at(got, i) != at(want, i) {
			return fmt.Sprintf("%q, want %q", at(got, i), at(want, i))
		}
	}
	return "nothing"
}

// TestReturnOfLeft closes a window when a function returns whose first call an exception leaves: the catch block leads to where the call would have
// returned to.
func TestReturnOfLeft(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/intercept/left.cc", "-O2")
	dir := workDir(t)
	c := writeFile(t, dir, "c.xml", `<AlleriaConfig version="1.0"><Window><On><Call name="unsure"/></On><Till><Return name="unsure"/></Till><Profile><Process><Thread><Image main="true">`+
		`<Function name="unsure"><Intercept auto="true"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`)
	intercepted(t, dir, c, prog)
	if got, want := intercepts(t, dir), []string{"unsure(n=-1) <left without returning>", "unsure(n=0) = 1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestInterceptRemoved: of functions that a compiler has changed, whose copies may have other names, arguments that are not passed are not made up, and those that are
// passed are right.
func TestInterceptRemoved(t *testing.T) {
	t.Parallel()
	const source = "../../testdata/intercept/removed.c"
	line := regexp.MustCompile(`^(addk\S*\(s=&\{a=100\}, k=[5?]\) = (105|\?).*|pick\S*\(n=[0-4?], b=[3-7], c=(77|\?)\) = [3-7?]|last\S*\(k=[5?], n=[0-4?], s=&\{a=105\}\) returned.*)$`)
	for _, cc := range []string{"gcc -O0", "gcc -O2", "gcc -O2 -gdwarf-4", "gcc -O3", "clang -O0", "clang -O2", "clang -O2 -gdwarf-4"} {
		t.Run(cc, func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			compiler, flags, _ := strings.Cut(cc, " ")
			prog := filepath.Join(dir, "removed")
			if compiler == "clang" {
				buildClang(t, compiler, source, prog, "-Wno-unused "+flags)
			} else {
				prog = build(t, source, flags)
			}
			run(t, command{argv: []string{alleria(), "-q", "record", "-o", profileDir, "--intercept", "addk@main", "--intercept", "pick@main", "--intercept", "last@main", "--", prog}, dir: dir})
			got := intercepts(t, dir)
			for _, l := range got {
				if !line.MatchString(l) {
					t.Errorf("it captures %s", l)
				}
			}
			if len(got) != 15 {
				t.Errorf("%d calls, want 15", len(got))
			}
		})
	}
}

// TestInterceptPacksAndGenerics: parameters that debug information lists elsewhere (GCC's packs), or not at all (the dictionary of Go's generic functions), or twice (results that
// deferred functions reach) leave the others in their places.
func TestInterceptPacksAndGenerics(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source, flags, pattern string
		want                   []string
	}{
		{"packs.cc", "-O1", "b*<*@main", []string{"before<int, double>(1, 2.5, last=77, more=8.5) = 85", "behind<int, double>(first=9, 3, 2.5) = 11"}},
		{"generic.go", "", "main.*@main", []string{"main.identity[go.shape.int](t=5, k=6) = 6", "main.identity[go.shape.float64](t=2.5, k=7) = 7",
			"main.(*pair[go.shape.int]).both(p=&{a=1, b=2}, k=8) = 8", "main.named(k=0) = {n=7, err={tab=NULL, data=NULL}}", "main.named(k=1) = {n=-1, err="}},
	} {
		t.Run(c.source, func(t *testing.T) {
			t.Parallel()
			prog, dir := build(t, "../../testdata/intercept/"+c.source, c.flags), workDir(t)
			run(t, command{argv: []string{alleria(), "-q", "record", "-o", profileDir, "--intercept", c.pattern, "--", prog}, dir: dir})
			got := intercepts(t, dir)
			for _, want := range c.want {
				if !slices.ContainsFunc(got, func(l string) bool { return strings.HasPrefix(strings.TrimLeft(l, " "), want) }) {
					t.Errorf("it lacks %s, of\n%s", want, strings.Join(got, "\n"))
				}
			}
		})
	}
}
