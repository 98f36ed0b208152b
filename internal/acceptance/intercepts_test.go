package acceptance

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// interceptConfig writes a configuration with Functions of the main executable, and returns its path.
func interceptConfig(t *testing.T, dir, image, functions string) string {
	t.Helper()
	return writeFile(t, dir, "i.xml", `<AlleriaConfig version="1.0"><Window><Profile><Process><Thread><Image `+image+`>`+functions+`</Image></Thread></Process></Profile></Window></AlleriaConfig>`)
}

// writeFile writes a file into a directory.
func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// intercepted records a program with a configuration and checks that it behaves as it should.
func intercepted(t *testing.T, dir, config, prog string, args ...string) string {
	t.Helper()
	r := run(t, command{argv: append([]string{alleria(), "-q", "record", "-o", profileDir, "-c", config, "--", prog}, args...), dir: dir})
	if len(r.stderr) > 0 {
		t.Errorf("recording says %s", clip(r.stderr))
	}
	return string(r.stdout)
}

// intercepts runs the command on the profile and returns its lines.
func intercepts(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	r := run(t, command{argv: append([]string{alleria(), "intercepts", profileDir}, args...), dir: dir})
	if len(r.stderr) > 0 {
		t.Errorf("intercepts %v says %s", args, clip(r.stderr))
	}
	if len(r.stdout) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(r.stdout), "\n"), "\n")
}

// TestInterceptListing2 is Listing 2 of the paper, as it is among the examples.
func TestInterceptListing2(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/intercept/cli-tree.c", "")
	example, err := filepath.Abs("../../examples/listing2.xml")
	if err != nil {
		t.Fatal(err)
	}
	if out := intercepted(t, dir, example, prog, "b", `c "d"`); out != "done\n" {
		t.Errorf("it prints %q", out)
	}
	want := fmt.Sprintf(`main(argc=3, argv={"%s","b","c \"d\""}) = 0`, prog)
	if got := intercepts(t, dir, "--process", "1", "--max-string", "0"); !slices.Equal(got, []string{want}) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	run(t, command{argv: []string{alleria(), "verify", profileDir}, dir: dir})
}

// TestInterceptTypes compares calls with what the program's own comments say of them.
func TestInterceptTypes(t *testing.T) {
	t.Parallel()
	compareComments(t, "../../testdata/intercept/types-values.c", "-mavx", "-O0 -gdwarf-4 -mavx", "-O2 -static -mavx",
		"-mavx -fdebug-types-section", "-gdwarf-4 -mavx -fdebug-types-section")
}

// TestInterceptWindows is TestInterceptTypes of functions with the Windows convention, which clang states.
func TestInterceptWindows(t *testing.T) {
	t.Parallel()
	compareComments(t, "../../testdata/intercept/windows.c", "clang", "clang -gdwarf-4 -O2")
}

// TestInterceptAlone captures all functions of a program, each by itself and those that are alike together: it is the same.
func TestInterceptAlone(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/intercept/types-values.c", "-mavx")
	var got [2]string
	for i, engine := range []string{"no-huge", "capture-alone"} {
		dir := workDir(t)
		c := interceptConfig(t, dir, `main="true"`, `<Function name="*"><Intercept auto="true" depth="3"/></Function>`)
		r := run(t, command{argv: []string{alleria(), "-q", "record", "--no-aslr", "--engine", engine, "-o", profileDir, "-c", c, "--", prog}, dir: dir})
		if string(r.stdout) != "42\n" {
			t.Errorf("it prints %q", r.stdout)
		}
		got[i] = strings.Join(intercepts(t, dir), "\n")
	}
	if got[0] != got[1] || !strings.Contains(got[0], "main(") {
		t.Errorf("together\n%s\nalone\n%s", got[0], got[1])
	}
}

// TestInterceptNarrow is TestInterceptTypes of vectors that are wider than the program was compiled for, and than it was not.
func TestInterceptNarrow(t *testing.T) {
	t.Parallel()
	ways := []string{"", "-O0 -gdwarf-4"}
	for feature, flag := range map[string]string{"avx": "-mavx", "avx512f": "-mavx512f"} {
		if cpuHas(feature) {
			ways = append(ways, flag)
		}
	}
	compareComments(t, "../../testdata/intercept/narrow.c", ways...)
	if cpuHas("avx512f") {
		compareComments(t, "../../testdata/intercept/forgotten.c", "-mavx512f")
	}
}

// TestInterceptClasses is TestInterceptTypes of C++: what classes inherit, pointers to members, references in records.
func TestInterceptClasses(t *testing.T) {
	t.Parallel()
	compareComments(t, "../../testdata/intercept/classes.cc", "", "-O0 -gdwarf-4", "-gdwarf-3", "-fdebug-types-section", "-O0 -gdwarf-4 -fdebug-types-section", "clang++ -fdebug-types-section")
}

// TestInterceptByReference is TestInterceptTypes of classes that travel by the address of a copy, and of such that do not: GCC does not state it, clang does.
func TestInterceptByReference(t *testing.T) {
	t.Parallel()
	compareComments(t, "../../testdata/intercept/by-reference.cc", "", "-O0 -gdwarf-4", "-fdebug-types-section", "clang++ -std=c++17")
}

// compareComments builds a program in several ways, and compares its calls with what its comments say of them.
func compareComments(t *testing.T, src string, ways ...string) {
	text, err := os.ReadFile(src)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^/\* VALUE: (.*) \*/$`).FindAllStringSubmatch(string(text), -1) {
		want = append(want, m[1])
	}
	for _, flags := range ways {
		t.Run(flags, func(t *testing.T) {
			dir := workDir(t)
			prog := ""
			if others, isClang := strings.CutPrefix(flags, "clang++ "); isClang {
				prog = buildClang(t, "clang++", src, filepath.Join(dir, "by-clang"), "-w -Dnoipa=noinline,optnone "+others)
			} else if others, isClang := strings.CutPrefix(flags, "clang"); isClang {
				prog = buildClang(t, "clang", src, filepath.Join(dir, "by-clang"), others)
			} else {
				prog = build(t, src, flags)
			}
			var functions strings.Builder
			for _, w := range want {
				name, _, _ := strings.Cut(w, "(")
				fmt.Fprintf(&functions, `<Function name="%s"><Intercept auto="true" depth="3"/></Function>`, name)
			}
			if out := intercepted(t, dir, interceptConfig(t, dir, `main="true"`, functions.String()), prog); out != "42\n" {
				t.Errorf("it prints %q", out)
			}
			got := intercepts(t, dir)
			for i := range got { // what clang passes in memory is seen, though nothing is in it
				got[i] = strings.Replace(got[i], "v={in={{},{}}}", "v=?", 1)
			}
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) || got[i] != want[i] {
					t.Errorf("call %d:\ngot  %s\nwant %s", i, at(got, i), at(want, i))
				}
			}
		})
	}
}

// at is a line, if it is there.
func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}

// TestInterceptViews has one recording with threads and processes in all forms that the command prints.
func TestInterceptViews(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/intercept/cli-tree.c", "")
	config := interceptConfig(t, dir, `main="true"`, `<Function name="down"><Intercept auto="1"/></Function><Function name="leave"><Intercept auto="1"/></Function>`)
	intercepted(t, dir, config, prog)
	count := func(args ...string) int { return len(intercepts(t, dir, args...)) }
	for _, c := range []struct {
		args []string
		want int
	}{
		{nil, 4 + 3 + 3 + 2 + 1 + 6}, {[]string{"--process", "2"}, 2}, {[]string{"--thread", "2"}, 3}, {[]string{"--function", "leave"}, 3},
		{[]string{"--function", "l*e"}, 3}, {[]string{"--where", "n=0", "--function", "down"}, 5}, {[]string{"--where", "result>=3"}, 5},
		{[]string{"--where", "result=5", "--where", "n=5"}, 1}, {[]string{"--limit", "2"}, 2}, {[]string{"--live", "--limit", "3"}, 3}, {[]string{"--time", "1000-"}, 0}, {[]string{"--table", "--callers"}, 19},
	} {
		if got := count(c.args...); got != c.want {
			t.Errorf("%v: %d calls, want %d", c.args, got, c.want)
		}
	}
	if got := intercepts(t, dir, "--nested", "--process", "1", "--limit", "4"); !slices.Equal(got, []string{
		"1/1 down(n=3) {", "1/1   down(n=2) {", "1/1     down(n=1) {", "1/1       down(n=0) {",
		"1/1       } down = 0", "1/1     } down = 1", "1/1   } down = 2", "1/1 } down = 3"}) {
		t.Errorf("nested:\n%s", strings.Join(got, "\n"))
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--function", "leav"}, "no call of such a function was to be captured; the nearest name is leave"},
		{[]string{"--function", "leave", "--where", "m=1"}, "no captured function that is asked about has such a parameter or field"},
		{[]string{"--leaks"}, "functions that allocate memory and functions that free it have to be captured"},
		{[]string{"--where", "n.x=1"}, "no captured function that is asked about has such a parameter or field"},
	} {
		r := run(t, command{argv: append([]string{alleria(), "intercepts", profileDir}, c.args...), dir: dir})
		if r.status != 2 || len(r.stdout) > 0 || !strings.Contains(string(r.stderr), c.want) {
			t.Errorf("%v: status %d, %s%s", c.args, r.status, clip(r.stdout), clip(r.stderr))
		}
	}
	if got := intercepts(t, dir, "--function", "leave"); !slices.Equal(got, []string{"leave(n=2) = 2", "leave(n=3) <left without returning>", "leave(n=4) = 4"}) {
		t.Errorf("longjmp: %q", got)
	}
	checkInterceptTables(t, dir)
}

// TestInterceptByFlags captures calls that options name, of one image and of all.
func TestInterceptByFlags(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/intercept/cli-tree.c", "")
	argv := []string{alleria(), "record", "-q", "-o", profileDir, "--intercept", "down@main", "--intercept", "lea*", prog}
	if r := run(t, command{argv: argv, dir: dir}); r.status != 0 || string(r.stderr) != "" {
		t.Fatalf("status %d: %s", r.status, clip(r.stderr))
	}
	for args, want := range map[string]int{"down": 16, "leave": 3} {
		if got := intercepts(t, dir, "--function", args); len(got) != want {
			t.Errorf("%d calls of %s, want %d", len(got), args, want)
		}
	}
}

// checkInterceptTables reads what the command prints for other programs.
func checkInterceptTables(t *testing.T, dir string) {
	t.Helper()
	deepest := 0
	for _, line := range intercepts(t, dir, "--json") {
		var row struct {
			Function, Caller, End string
			In                    map[string]int
			Result                *int
			Duration, Self        *float64
			Depth                 int
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if row.Function == "down" && (row.Result == nil || *row.Result != row.In["n"] || row.Duration == nil || *row.Self > *row.Duration) {
			t.Errorf("%s", line)
		}
		deepest = max(deepest, row.Depth)
	}
	if deepest != 5 {
		t.Errorf("the deepest call is at %d", deepest)
	}
	rows, err := csv.NewReader(strings.NewReader(strings.Join(intercepts(t, dir, "--csv"), "\n"))).ReadAll()
	if err != nil || len(rows) != 20 || len(rows[0]) != 12 {
		t.Errorf("csv: %d rows, %v", len(rows), err)
	}
	var stats []struct {
		Function        string
		Calls, Returned int
		Values          []struct {
			Name     string
			Min, Max *float64
		}
	}
	if err := json.Unmarshal([]byte(strings.Join(intercepts(t, dir, "--stats", "--json"), "\n")), &stats); err != nil || len(stats) != 2 {
		t.Fatalf("stats: %+v, %v", stats, err)
	}
	for _, s := range stats {
		if s.Function == "down" && (s.Calls != 16 || s.Returned != 16 || len(s.Values) != 2 || *s.Values[0].Max != 5) || s.Function == "leave" && (s.Calls != 3 || s.Returned != 2) {
			t.Errorf("stats: %+v", s)
		}
	}
}

// TestInterceptWindow captures only while the window is open, and only the threads that are named.
func TestInterceptWindow(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/intercept/cli-tree.c", "")
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"window": {`<Window><On><Call name="open_now"/></On><Till><Return name="close_now"/></Till><Profile><Process n="1"><Thread><Image main="true"><Function name="down">` +
			`<Intercept auto="1"/></Function></Image></Thread></Process></Profile></Window>`, []string{"down(n=0) = 0"}},
		"thread": {`<Window><Profile><Process n="1"><Thread n="2"><Image main="true"><Function name="down"><Intercept auto="1"/></Function></Image></Thread></Process></Profile></Window>`,
			[]string{"down(n=0) = 0", "down(n=1) = 1", "down(n=2) = 2"}},
		"others": {`<Window><Profile><Process n="2"/><Process><Thread n="1"><Image/></Thread><Thread><Image main="true"><Function name="down"><Intercept auto="1"/></Function></Image></Thread></Process></Profile></Window>`,
			[]string{"down(n=0) = 0", "down(n=1) = 1", "down(n=2) = 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := workDir(t)
			intercepted(t, dir, writeFile(t, dir, "c.xml", `<AlleriaConfig version="1.0">`+c.text+`</AlleriaConfig>`), prog)
			if got := intercepts(t, dir); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestInterceptCrowd arms 50,000 functions that a pattern finds, and captures the calls of those that are called.
func TestInterceptCrowd(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/intercept/crowd.c", "")
	c := interceptConfig(t, dir, `main="true"`, `<Function name="fn*"><Intercept retType="s8"><Parameter name="n" index="0" type="s8" in="true"/></Intercept></Function>`)
	r := run(t, command{argv: []string{alleria(), "record", "-o", profileDir, "-c", c, "--", prog}, dir: dir})
	if string(r.stdout) != "25500\n" || !strings.Contains(string(r.stderr), "2000 entries and returns of 50000 intercepted functions captured") {
		t.Errorf("recording says %s%s", clip(r.stdout), clip(r.stderr))
	}
	got := intercepts(t, dir)
	for i := range 1000 {
		if want := fmt.Sprintf("fn%d(n=%d) = %d", 997*(i%50), i%50, i%50+1); at(got, i) != want {
			t.Fatalf("call %d of %d is %q instead of %q", i, len(got), at(got, i), want)
		}
	}
	if len(got) != 1000 {
		t.Errorf("%d calls instead of 1000", len(got))
	}
}

// TestInterceptByType intercepts the functions with a parameter of a type, and hears of a type that none has.
func TestInterceptByType(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/intercept/by-type.c", "")
	c := interceptConfig(t, dir, `main="true"`, `<Function type="struct foo *"><Intercept auto="1" depth="1"/></Function><Function name="number" type="union either *"><Intercept/></Function>`)
	if out := intercepted(t, dir, c, prog); out != "24\n" {
		t.Errorf("it prints %q", out)
	}
	want := []string{"plain(f=&{n=1}) = 1", "constant(k=1, f=&{n=1}) = 2", "named(f=&{n=1}) = 3", "number() returned", "named(f=&{n=1}) = 3"}
	if got := intercepts(t, dir); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	none := writeFile(t, dir, "none.xml", strings.Replace(readText(t, c), "union either", "struct neither", 1))
	if r := run(t, command{argv: []string{alleria(), "check", "--against", prog, none}, dir: dir}); !strings.Contains(string(r.stdout)+string(r.stderr), `no function "number" is known to have a parameter of type "struct neither *"`) {
		t.Errorf("check says %s%s", clip(r.stdout), clip(r.stderr))
	}
}

// readText is a file's text.
func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestInterceptLeaks compares the allocations that were never freed with what Valgrind counts.
func TestInterceptLeaks(t *testing.T) {
	t.Parallel()
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		t.Skip("no valgrind")
	}
	prog := build(t, "../../testdata/intercept/cli-tree.c", "")
	r := run(t, command{argv: []string{valgrind, "--run-libc-freeres=no", prog}, dir: workDir(t)})
	numbers := func(pattern string) (n []string) {
		all := regexp.MustCompile(pattern).FindAllStringSubmatch(string(r.stderr), -1)
		for _, s := range all[len(all)-1][1:] { // the first process ends last
			n = append(n, strings.ReplaceAll(s, ",", ""))
		}
		return n
	}
	use, total := numbers(`in use at exit: ([0-9,]+) bytes in ([0-9,]+) blocks`), numbers(`total heap usage: ([0-9,]+) allocs, ([0-9,]+) frees, ([0-9,]+) bytes`)
	dir := workDir(t)
	var functions strings.Builder
	for _, name := range []string{"malloc", "free", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc"} {
		fmt.Fprintf(&functions, `<Function name="%s"><Intercept auto="true"/></Function>`, name)
	}
	intercepted(t, dir, interceptConfig(t, dir, `name="libc.so.6"`, functions.String()), prog)
	var got struct {
		Allocations, Freed, Bytes int
		LiveBytes                 int `json:"live_bytes"`
		Live                      []struct{ Bytes int }
	}
	if err := json.Unmarshal([]byte(strings.Join(intercepts(t, dir, "--leaks", "--json", "--process", "1"), "\n")), &got); err != nil {
		t.Fatal(err)
	}
	have := []string{strconv.Itoa(got.LiveBytes), strconv.Itoa(len(got.Live)), strconv.Itoa(got.Allocations), strconv.Itoa(got.Freed), strconv.Itoa(got.Bytes)}
	if want := append(use, total...); !slices.Equal(have, want) {
		t.Errorf("live bytes, live, allocations, freed, bytes: %v, and Valgrind says %v", have, want)
	}
}

// TestInterceptLibrary has functions of the C library without debug information, and functions that a C header or a file of
// prototypes declares.
func TestInterceptLibrary(t *testing.T) {
	t.Parallel()
	src, err := filepath.Abs("../../testdata/intercept")
	if err != nil {
		t.Fatal(err)
	}
	prog := build(t, filepath.Join(src, "cli-libc.c"), "-g0 -fno-builtin -Wno-unused-result")
	const own = "move_to(p=&{a=-1, b=2, at={0.5,1.5}, next=NULL}, w=OUT, n=3) = 2, p=&{a=-1, b=2, at={3.5,1.5}, next=NULL}\nscale(x=1.5, y=2, text=\"abc\") = 6\n"
	libc := []string{`write\(fd=\d+, from="through\\n", count=8\) = 8`, `read\(fd=\d+, count=64\) = 8, to="through\\n"`, `qsort\(base=0x[0-9a-f]+, count=3, size=4, compare=0x[0-9a-f]+\) returned`,
		`getaddrinfo\(node="127.0.0.1", service="80", hints=NULL\) = 0, found=&&{flags=\d+, family=AF_INET, socktype=SOCK_STREAM, .*addr={2,0,0,80,127,0,0,1,0,0,0,0,0,0,0,0}`,
		`printf\(format="%d %d %s %.2f %c\\n", 3, -2, "one", 2.5, 'c'\) = 16`,
		`printf\(format="%3\$s%2\$\*1\$d %5\$.1f %4\$lu\\n", 4, -7, "two", 1099511627776, 0.5\) = 26`,
		// Chosen when they are first called (IFUNC), or before.
		`strlen\(s="abc"\) = 3`, `memcpy\(to=0x[0-9a-f]+, from={97,98,99,0}, n=4\) = 0x[0-9a-f]+`}
	var functions strings.Builder
	for _, name := range []string{"write", "read", "qsort", "getaddrinfo", "printf", "strlen", "memcpy"} {
		fmt.Fprintf(&functions, `<Function name="%s"><Intercept auto="true"/></Function>`, name)
	}
	dir := workDir(t)
	config := writeFile(t, dir, "c.xml", `<AlleriaConfig version="1.0"><Window><Profile><Process><Thread><Image main="true"><Function name="move_to"><Intercept auto="true"/></Function><Function name="scale"><Intercept auto="true"/></Function></Image>`+
		`<Image name="libc.so.6">`+functions.String()+`</Image></Thread></Process></Profile></Window></AlleriaConfig>`)
	r := run(t, command{argv: []string{alleria(), "-q", "record", "-o", profileDir, "--header", filepath.Join(src, "types-decl.h"), "-c", config, "--", prog}, dir: dir})
	if string(r.stdout) != "3 -2 one 2.50 c\ntwo  -7 0.5 1099511627776\n" || len(r.stderr) > 0 {
		t.Errorf("%s%s", r.stdout, r.stderr)
	}
	all := strings.Join(intercepts(t, dir), "\n") + "\n"
	for line := range strings.Lines(own) {
		if !strings.Contains(all, line) {
			t.Errorf("by the header:\n%s\nwant\n%s", all, line)
		}
	}
	for _, want := range libc {
		if !regexp.MustCompile("(?m)^" + want).MatchString(all) {
			t.Errorf("%s is not in\n%s", want, all)
		}
	}
	conf := writeFile(t, dir, "p.conf", "; ltrace's language\ndouble scale(double, float, string);\n")
	run(t, command{argv: []string{alleria(), "-q", "record", "--force", "-o", profileDir, "--prototypes", conf, "-c", config, "--", prog}, dir: dir})
	if got := intercepts(t, dir, "--function", "scale"); !slices.Equal(got, []string{`scale(arg1=1.5, arg2=2, arg3="abc") = 6`}) {
		t.Errorf("by ltrace's file: %q", got)
	}
}

// TestNewIntercept writes configurations for functions, which capture the same as auto does.
func TestNewIntercept(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/intercept/types-values.c", "-mavx")
	argv := []string{alleria(), "new", "-o", "new.xml", "--depth", "3"}
	for _, f := range []string{"strings", "lists", "pairs", "stack", "bigs"} {
		argv = append(argv, "--intercept", f)
	}
	run(t, command{argv: append(argv, prog), dir: dir})
	run(t, command{argv: []string{alleria(), "check", "new.xml"}, dir: dir})
	intercepted(t, dir, filepath.Join(dir, "new.xml"), prog)
	want := []string{
		"pairs(i=9, p={x=-5, y=2.5}, f={x=1, y=2, z=3}) = {x=-4, y=5}",
		`bigs(b={a_0=1, a_1=2, a_2=3, name="in"}, after=7) = {a_0=3, a_1=2, a_2=1, name="out"}`,
		`strings(a="say \"hi\"\n\001", b=NULL, c="") = "say \"hi\"\n\001"`,
		"lists(l=&{value=1, next=&{value=2, next=NULL}}) = 3",
		"stack(a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=-8, i=9.5) = 36",
	}
	if got := intercepts(t, dir); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestInterceptCutOff reads what there is of a recording whose file ends anywhere.
func TestInterceptCutOff(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/intercept/cli-tree.c", "")
	intercepted(t, dir, interceptConfig(t, dir, `main="true"`, `<Function name="down"><Intercept auto="1"/></Function>`), prog)
	file := filepath.Join(dir, profileDir, "p1", "interceptors.abp")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before := len(intercepts(t, dir, "--process", "1"))
	for _, n := range []int{len(whole) - 1, len(whole) / 2, 1100, 1024} {
		if err := os.WriteFile(file, whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		r := run(t, command{argv: []string{alleria(), "intercepts", profileDir, "--process", "1"}, dir: dir})
		if lines := strings.Count(string(r.stdout), "\n"); lines > before {
			t.Errorf("%d bytes of %d: %d calls", n, len(whole), lines)
		}
		r = run(t, command{argv: []string{alleria(), "verify", profileDir}, dir: dir})
		if !strings.Contains(string(r.stdout)+string(r.stderr), "interceptors.abp") {
			t.Errorf("verify does not name the file: %s%s", r.stdout, r.stderr)
		}
	}
}

// TestInterceptLive follows a run that waits until the follower has printed what it did.
func TestInterceptLive(t *testing.T) {
	dir := workDir(t)
	src := writeFile(t, dir, "waits.c", `#include <unistd.h>
__attribute__((noinline, noclone, noipa)) int step(int n) { return n + 1; }
int main(void) { char c; step(1); while (read(0, &c, 1) > 0) step(c); return 0; }
`)
	prog := build(t, src, "")
	config := interceptConfig(t, dir, `main="true"`, `<Function name="step"><Intercept auto="1"/></Function>`)
	record := exec.Command(alleria(), "-q", "record", "-o", profileDir, "-c", config, "--", prog)
	record.Dir = dir
	in, err := record.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := record.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = record.Process.Kill() }()
	waitFor(t, func() bool { _, err := os.Stat(filepath.Join(dir, profileDir, "run.json")); return err == nil })
	follow := exec.Command(alleria(), "intercepts", "--live", profileDir)
	follow.Dir = dir
	var out lockedBuffer
	follow.Stdout = &out
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = follow.Process.Kill() }()
	waitFor(t, func() bool { return out.String() == "step(n=1) = 2\n" })
	if _, err := in.Write([]byte("A")); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return out.String() == "step(n=1) = 2\nstep(n=65) = 66\n" })
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := record.Wait(); err != nil {
		t.Errorf("recording: %v", err)
	}
	if err := follow.Wait(); err != nil {
		t.Errorf("following: %v", err)
	}
}

// lockedBuffer is what a program has written so far.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write is io.Writer's.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String is what there is.
func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// waitFor waits until something is so: for a minute, since machines are slow at times.
func waitFor(t *testing.T, what func() bool) {
	t.Helper()
	for range 6000 {
		if what() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it did not happen")
}

// TestInterceptFair has threads that never rest at a function that is too small for anything but an int3, at each of which all threads are stopped: the first thread gets its turns as well.
func TestInterceptFair(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, writeFile(t, dir, "fair.c", `#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
__asm__(".text\n.globl tiny\n.type tiny,@function\ntiny: ret\n.size tiny,.-tiny\n");
void tiny(void);
static atomic_int stop;
static void *busy(void *n) { while (!stop) tiny(); return n; }
int main(void)
{
	pthread_t t[6];
	for (int i = 0; i < 6; i++) pthread_create(&t[i], 0, busy, 0);
	for (int i = 0; i < 50; i++) tiny();
	stop = 1;
	for (int i = 0; i < 6; i++) pthread_join(t[i], 0);
	puts("done");
	return 0;
}
`), "-pthread")
	r := run(t, command{argv: []string{alleria(), "-q", "record", "-o", profileDir, "--engine", "no-busy", "--intercept", "tiny@main", prog}, dir: dir})
	if string(r.stdout) != "done\n" || r.status != 0 {
		t.Errorf("status %d: %s%s", r.status, r.stdout, clip(r.stderr))
	}
	if got := intercepts(t, dir, "--thread", "1"); len(got) != 50 {
		t.Errorf("%d calls of the first thread, want 50", len(got))
	}
}
