package acceptance

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// changedConfig changes what testdata/intercept/changed.c does.
const changedConfig = `<AlleriaConfig version="1.0"><Types><Pointer name="text" elementType="ascii" direction="inc" sentinel="0"/><Pointer name="one" elementType="s4" count="1"/></Types>
<Window><Profile><Process><Thread><Image main="true">
<Function name="number"><Intercept retType="s4"><Parameter name="n" index="0" type="s4" in="1" set="41"/></Intercept></Function>
<Function name="tiny"><Intercept retType="s1"><Parameter name="c" index="0" type="s1" in="1" set="-3"/></Intercept></Function>
<Function name="real"><Intercept retType="f8"><Parameter name="x" index="0" type="f8" in="1" set="2.5"/><Parameter name="f" index="1" type="f4" in="1" set="-1"/><Result set="100.25"/></Intercept></Function>
<Function name="seventh"><Intercept retType="s4"><Parameter name="g" index="6" type="s4" in="1" set="50"/></Intercept></Function>
<Function name="text"><Intercept retType="s4" seed="3"><Parameter name="s" index="0" type="text" in="1" set="bitflip"/></Intercept></Function>
<Function name="fill"><Intercept><Parameter name="p" index="0" type="one" out="1" set="boundary"/></Intercept></Function>
<Function name="inner"><Intercept retType="s4" fail="EINVAL"/></Function>
<Function name="tail"><Intercept retType="s4"><Parameter name="n" index="0" type="s4" in="1"/></Intercept></Function>
</Image><Image name="libc.so.6">
<Function name="open"><Intercept auto="1" fail="ENOTDIR"/></Function>
<Function name="access"><Intercept retType="s4" fail="EACCES" probability="1/4"/></Function>
<Function name="malloc"><Intercept retType="ptr" fail="ENOMEM"><Parameter name="size" index="0" type="u8" in="1"/></Intercept></Function>
</Image>INSTRUCTIONS</Thread></Process></Profile></Window></AlleriaConfig>`

// TestInterceptChanges changes values of calls, natively and where instructions are recorded as well, and reads what was changed.
func TestInterceptChanges(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/intercept/changed.c", "-pthread")
	for name, c := range map[string]struct {
		instructions string
		args         []string
	}{
		"native":  {"", nil},
		"threads": {"", []string{"two"}},
		"cache":   {`<Image name="none.so"><Function><Instruction cat="any"/></Function></Image>`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := workDir(t)
			file := writeFile(t, dir, "c.xml", strings.Replace(changedConfig, "INSTRUCTIONS", c.instructions, 1))
			if r := run(t, command{argv: []string{alleria(), "-q", "record", "-o", profileDir, "-c", file, "--", prog}, dir: dir}); r.status != 2 || !strings.Contains(string(r.stderr), "--allow-modify allows that") {
				t.Errorf("without --allow-modify it says %s", clip(r.stderr))
			}
			r := run(t, command{argv: append([]string{alleria(), "-q", "record", "--allow-modify", "-o", profileDir, "-c", file, "--", prog}, c.args...), dir: dir})
			// The string's one bit may make another letter of it, or one that is not counted; 0x80000000 and its like are edges of int.
			want := regexp.MustCompile(`^(number 42
tiny -3
real 100.25
seventh 56
text 1
constant 0
fill (0|1|-1|2147483647|-2147483648)
tail -1
open Not a directory
access failed ([1-3][0-9]|[5-9]) of 100
malloc Cannot allocate memory
)+$`)
			if !want.Match(r.stdout) {
				t.Errorf("it prints\n%s", r.stdout)
			}
			checkChanges(t, dir)
			run(t, command{argv: []string{alleria(), "verify", profileDir}, dir: dir})
		})
	}
}

// checkChanges reads what was changed out of the profile.
func checkChanges(t *testing.T, dir string) {
	t.Helper()
	lines := intercepts(t, dir, "--thread", "1")
	for _, want := range []string{"number(n=41 [was 1]) = 42", "tiny(c=-3 [was 1]) = -3", "real(x=2.5 [was 1], f=-1 [was 2]) = 100.25 [was 1.5]", "seventh(g=50 [was 1]) = 56", `text(s="aaaa") = 0`,
		"tail(n=1) = -1", "inner() = -1 EINVAL (Invalid argument) [made to fail]", `open(path="/dev/null", flags=0) = -1 ENOTDIR (Not a directory) [made to fail]`,
		"malloc(size=100000) = NULL ENOMEM (Cannot allocate memory) [made to fail]", "access() = 0", "access() = -1 EACCES (Permission denied) [made to fail]"} {
		if !slices.ContainsFunc(lines, func(s string) bool {
			return s == want || strings.HasPrefix(want, "open") && strings.HasPrefix(s, "open(") && strings.HasSuffix(s, "ENOTDIR (Not a directory) [made to fail]")
		}) {
			t.Errorf("no call is %q:\n%s", want, strings.Join(lines[:min(len(lines), 12)], "\n"))
		}
	}
	if !slices.ContainsFunc(lines, regexp.MustCompile(`^text\(s="[^"]*" \[byte [0-7] was 0x61, is 0x[0-9a-f]{2}\]\) = [01]$`).MatchString) {
		t.Errorf("no string was changed: %q", lines[:min(len(lines), 8)])
	}
	if !slices.ContainsFunc(lines, regexp.MustCompile(`^fill\(\) returned, p=&-?\d+ \[byte 0 was 0x00000007, is 0x[0-9a-f]{8}\]$`).MatchString) {
		t.Errorf("no result behind a pointer was changed: %q", lines[:min(len(lines), 12)])
	}
	for _, c := range []struct{ function, of, was string }{{"real", "x", "1"}, {"malloc", "result", ""}} {
		var row struct {
			Changes []struct {
				Of    string
				Was   json.RawMessage
				Error int
			}
		}
		text := intercepts(t, dir, "--json", "--thread", "1", "--function", c.function)[0]
		if err := json.Unmarshal([]byte(text), &row); err != nil || len(row.Changes) == 0 || row.Changes[0].Of != c.of || string(row.Changes[0].Was) != c.was {
			t.Errorf("%s: %v in %s", c.function, err, text)
		}
	}
}

// TestInterceptGo compares calls of Go functions with what the program's own comments say of them: with debug information, and of some by a
// configuration that says their types.
func TestInterceptGo(t *testing.T) {
	t.Parallel()
	src := "../../testdata/intercept/convention.go"
	prog := build(t, src, "")
	dir := workDir(t)
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^\t// (main\.\(?\*?\w.*)$`).FindAllStringSubmatch(readText(t, src), -1) {
		want = append(want, m[1])
	}
	var functions strings.Builder
	for _, w := range want {
		name := w[:strings.LastIndex(w[:strings.Index(w, "=")], "(")]
		functions.WriteString(`<Function name="` + name + `"><Intercept auto="true" depth="3"/></Function>`)
	}
	c := interceptConfig(t, dir, `main="true"`, functions.String())
	if out := intercepted(t, dir, c, prog); out != "38 te {8 5} 145 2 1.5 two 4 10 6\n" {
		t.Errorf("it prints %q", out)
	}
	if got := intercepts(t, dir, "--max-string", "0"); len(want) != 8 || !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	dir = workDir(t)
	c = interceptConfig(t, dir, `main="true"`, `<Function name="main.many"><Intercept retType="s8"><Parameter name="b" index="1" type="s8" in="1"/><Parameter name="j" index="9" type="s8" in="1"/></Intercept></Function>`)
	intercepted(t, dir, c, prog)
	if got := intercepts(t, dir); !slices.Equal(got, []string{"main.many(b=2, j=10) = 145"}) {
		t.Errorf("got %q", got)
	}
}

// replayConfig captures what testdata/intercept/pure.c calls.
const replayConfig = `<AlleriaConfig version="1.0"><Types><Pointer name="ints" elementType="s4" direction="inc" countVariable="n"/><Pointer name="one" elementType="s4" count="1"/></Types><Window><Profile><Process><Thread>
<Image main="true"><Function name="sum"><Intercept retType="s4"><Parameter name="a" index="0" type="ints" in="1"/><Parameter name="n" index="1" type="s4" in="1"/></Intercept></Function>
<Function name="list"><Intercept auto="1" depth="4"/></Function><Function name="mixed"><Intercept auto="1"/></Function><Function name="impure"><Intercept auto="1"/></Function>
<Function name="depth"><Intercept auto="1" depth="4"/></Function><Function name="is_even"><Intercept auto="1"/></Function>
<Function name="by_size"><Intercept retType="s4"><Parameter index="0" type="one" in="1"/><Parameter index="1" type="ptr" in="1"/></Intercept></Function></Image>
<Image name="libc.so.6"><Function name="strlen"><Intercept auto="1"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`

// TestReplay makes captured calls again: arguments in all places, of functions of the program and of the C library; one that is not pure, one whose
// pointer was not followed, and one of another build.
func TestReplay(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := filepath.Join(dir, "pure")
	for _, option := range []string{"", "-DOTHER"} {
		if option == "" {
			if out, err := exec.Command("gcc", "-O1", "-g", "-fno-builtin", "-o", prog, "../../testdata/intercept/pure.c").CombinedOutput(); err != nil {
				t.Fatalf("gcc: %v\n%s", err, out)
			}
			intercepted(t, dir, writeFile(t, dir, "c.xml", replayConfig), prog)
		} else if out, err := exec.Command("gcc", "-O0", "-g", "-fno-builtin", "-o", prog, "../../testdata/intercept/pure.c").CombinedOutput(); err != nil {
			t.Fatalf("gcc: %v\n%s", err, out)
		}
		for _, c := range []struct {
			function, where string
			status          int
			want            string
		}{
			{"sum", "", 0, "sum(a={1,2,3,4}, n=4) = 10, as before; NAME has its 5 accesses"},
			{"list", "", 0, "list(l=&{value=1, next=&{value=2, next=NULL}}) = 3, as before"},
			{"mixed", "", 0, "mixed(x=1.5, a=1, b=2, c=3, d=4, e=5, f=6, g=7) = 42, as before"},
			{"depth", "result=2", 0, "depth(l=&{value=1, next=&{value=2, next=NULL}}) = 2, as before"},
			{"is_even", "n=7", 0, "is_even(n=7) = 0, as before"},
			{"impure", "result=7", 1, "impure(n=5) = 6, before = 7: it depends on more than what was captured of its arguments"},
			{"strlen", "result=7", 0, `strlen(s="dynamic") = 7, as before`},
			{"by_size", "", 1, "points to was not captured: give its type as a Pointer"},
		} {
			if option != "" {
				if c.function != "sum" {
					continue
				}
				c.status, c.want = 1, "is not the code that was captured: it is another build"
			}
			args := []string{"--json", "--function", c.function}
			if c.where != "" {
				args = append(args, "--where", c.where)
			}
			var row struct{ Call int }
			if err := json.Unmarshal([]byte(intercepts(t, dir, args...)[0]), &row); err != nil {
				t.Fatal(err)
			}
			name := "again-" + c.function + option
			r := run(t, command{argv: []string{alleria(), "replay", "--call", strconv.Itoa(row.Call), "-o", name, profileDir}, dir: dir})
			if text := string(r.stdout) + string(r.stderr); r.status != c.status || !strings.Contains(text, strings.Replace(c.want, "NAME", name, 1)) {
				t.Errorf("%s: status %d, %s\nwant %q", c.function, r.status, text, c.want)
			} else if strings.Contains(text, "10 3 42") { // also where the call cannot be made
				t.Errorf("%s: main was run: %s", c.function, text)
			}
		}
	}
}

// TestInterceptGrown holds calls of Go functions to how often their program says that it made them, where stacks grow: natively, in the cache, and by the tracer. A function that starts anew on a
// larger stack is called once, and code captures it without a stop.
func TestInterceptGrown(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/intercept/grown.go", "")
	functions := ""
	for _, name := range []string{"small", "medium", "large", "deep"} {
		functions += `<Function name="main.` + name + `"><Intercept auto="true"/></Function>`
	}
	recorded := functions + `<Function name="main.main"><Instruction cat="CALL"/></Function>`
	ways := []struct{ name, engine, functions string }{
		{"native", "no-busy", functions},
		{"cache", "no-huge", recorded},
		{"by the tracer in the cache", "no-code-capture", recorded},
		{"by the tracer", "no-native-capture", functions},
	}
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			dir := workDir(t)
			c := interceptConfig(t, dir, `main="true"`, w.functions)
			r := run(t, command{argv: []string{alleria(), "-q", "record", "--engine", w.engine, "-o", profileDir, "-c", c, "--", prog}, dir: dir})
			if len(r.stderr) > 0 || r.status != 0 {
				t.Fatalf("status %d: %s", r.status, clip(r.stderr))
			}
			said := string(r.stdout)
			if strings.HasPrefix(said, "it waited") && w.name != "by the tracer" && w.name != "by the tracer in the cache" {
				t.Errorf("calls cost stops: %s", said)
			}
			if at := strings.LastIndex(strings.TrimSpace(said), "\n"); at >= 0 {
				said = said[at+1:]
			}
			counts := make(map[string]int)
			for _, l := range intercepts(t, dir) {
				name, args, _ := strings.Cut(strings.TrimPrefix(l, "main."), "(")
				if counts[name]++; name == "small" && !strings.Contains(args, "a=") {
					t.Fatalf("no arguments in %s", l)
				}
			}
			got := fmt.Sprintf("small %d medium %d large %d deep %d\n", counts["small"], counts["medium"], counts["large"], counts["deep"])
			if got != said {
				t.Errorf("captured are %swhere it made %s", got, said)
			}
		})
	}
}
