package acceptance

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
)

// TestInterceptGoroutines: calls of functions in Go return as they were entered, with their results, on whichever thread and wherever the goroutine's stack is by then: natively, in the
// cache, and where the tracer captures them.
func TestInterceptGoroutines(t *testing.T) {
	t.Parallel()
	const functions = `<Function name="main.take"><Intercept auto="true"/></Function><Function name="main.grow"><Intercept auto="true"/></Function><Function name="main.deep"><Intercept auto="true"/></Function>` +
		`<Function name="main.safe"><Intercept auto="true"/></Function><Function name="main.bad"><Intercept auto="true"/></Function>`
	prog, dir := build(t, "../../testdata/intercept/goroutines.go", ""), workDir(t)
	const around = `<AlleriaConfig version="1.0"><Window><Profile><Process><Thread><Image main="true">`
	const behind = `</Image></Thread></Process></Profile></Window></AlleriaConfig>`
	natively := writeFile(t, dir, "natively.xml", around+functions+behind)
	recorded := writeFile(t, dir, "recorded.xml", around+strings.Replace(functions, `<Function name="main.deep">`, `<Function name="main.deep"><Instruction class="MOV"/>`, 1)+behind)
	want := map[string]int{"main.take returned": 400, "main.grow returned": 20, "main.deep returned": 20 * 41, "main.safe returned": 400, "main.bad returned": 320, "main.bad left without returning": 80}
	for _, c := range []struct{ name, config, engine string }{
		{"natively", natively, "fresh"},
		{"by the tracer", natively, "no-native-capture,no-code-capture"},
		{"in the cache", recorded, "fresh"},
		{"in the cache by the tracer", recorded, "no-code-capture"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			argv := []string{alleria(), "-q", "record", "-c", c.config, "-o", profileDir}
			if c.engine != "fresh" {
				argv = append(argv, "--engine", c.engine)
			}
			if r := run(t, command{argv: append(argv, "--", prog), dir: dir}); string(r.stderr) != "23670\n" {
				t.Errorf("it prints %q", r.stderr)
			}
			got, threads := make(map[string]int), make(map[int]int)
			for _, line := range intercepts(t, dir, "--json") {
				var row struct {
					Function string
					End      string
					Thread   int
					In       struct{ N int }
					Result   int
				}
				if err := json.Unmarshal([]byte(line), &row); err != nil {
					t.Fatal(err)
				}
				got[row.Function+" "+row.End]++
				threads[row.Thread]++
				if n := row.In.N; row.End == "returned" && row.Result != map[string]int{"take": n + 1, "grow": 820 + n, "deep": n * (n + 1) / 2, "safe": n - (n+1)*b2i(n%5 == 3), "bad": n}[strings.TrimPrefix(row.Function, "main.")] {
					t.Errorf("it captures %s", line)
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("ends: got %v, want %v", got, want)
			}
			for n, calls := range threads { // each with its returns, wherever these are
				if of := intercepts(t, dir, "--json", "--thread", strconv.Itoa(n)); len(of) != calls || strings.Contains(strings.Join(of, ""), "unfinished") {
					t.Errorf("thread %d has %d calls, want %d, and all returned or left", n, len(of), calls)
				}
			}
		})
	}
}

// TestInterceptCallbacks: functions of C return that have called back into Go, and those of Go around them.
func TestInterceptCallbacks(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/intercept/callbacks.go", "")
	want := map[string]int{"main.outer returned": 400, "cwork returned": 400, "main.goback returned": 400, "main.inner returned": 400, "twice returned": 400}
	for _, engine := range []string{"", "no-native-capture", "no-native-capture,no-code-capture"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			argv := []string{alleria(), "-q", "record", "-o", profileDir}
			for _, name := range []string{"main.outer", "main.goback", "main.inner", "cwork", "twice"} {
				argv = append(argv, "--intercept", name+"@main")
			}
			if engine != "" {
				argv = append(argv, "--engine", engine)
			}
			if r := run(t, command{argv: append(argv, "--", prog), dir: dir}); string(r.stderr) != "6175 6175\n" {
				t.Errorf("it prints %q", r.stderr)
			}
			got := make(map[string]int)
			for _, line := range intercepts(t, dir, "--json") {
				var row struct{ Function, End string }
				if err := json.Unmarshal([]byte(line), &row); err != nil {
					t.Fatal(err)
				}
				got[row.Function+" "+row.End]++
			}
			if !maps.Equal(got, want) {
				t.Errorf("ends: got %v, want %v", got, want)
			}
		})
	}
}

// TestInterceptCoroutines: calls return on the stack that they were entered on, whatever the thread did on other stacks meanwhile, and in whichever thread: coroutines, and handlers on
// an alternate stack below and above the thread's.
func TestInterceptCoroutines(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/intercept/coroutines.c", "-O1")
	calls := map[string]int{"work": 400, "leaf": 500, "sig": 100, "moved": 40}
	for _, where := range []string{"below", "above"} {
		argv := []string{prog}
		if where == "above" {
			argv = append(argv, where)
		}
		for _, engine := range []string{"", "no-native-capture", "no-native-capture,no-code-capture"} {
			t.Run(where+" "+engine, func(t *testing.T) {
				t.Parallel()
				dir := workDir(t)
				record := []string{alleria(), "-q", "record", "-o", profileDir}
				if engine != "" {
					record = append(record, "--engine", engine)
				}
				for name := range calls {
					record = append(record, "--intercept", name+"@main")
				}
				run(t, command{argv: append(append(record, "--"), argv...), dir: dir})
				got := make(map[string]int)
				for _, line := range intercepts(t, dir, "--json") {
					var row struct{ Function, End string }
					if err := json.Unmarshal([]byte(line), &row); err != nil {
						t.Fatal(err)
					}
					if row.End != "returned" {
						row.Function += " " + row.End
					}
					got[row.Function]++
				}
				if !maps.Equal(got, calls) {
					t.Errorf("got %v, want %v", got, calls)
				}
			})
		}
		for _, name := range []string{"work", "leaf", "sig"} {
			opensAtReturn(t, where, "main", name, calls[name], argv)
		}
	}
}

// TestReturnsOfGoroutines: windows wait for returns of functions in Go, each of which counts once, natively and in the cache.
func TestReturnsOfGoroutines(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/intercept/goroutines.go", "")
	for name, n := range map[string]int{"main.take": 400, "main.grow": 20, "main.deep": 20 * 41, "main.safe": 400, "main.bad": 320} {
		opensAtReturn(t, "", "main.main", name, n, []string{prog})
	}
}

// opensAtReturn has windows wait for the nth return of a function in a program and for the one behind that, of which the first alone opens; main is a function that is recorded.
func opensAtReturn(t *testing.T, what, main, name string, n int, prog []string) {
	t.Helper()
	profile := `<Profile><Process><Thread><Image main="true"><Function name="` + main + `"><Instruction cat="anyMem"/></Function></Image></Thread></Process></Profile>`
	for _, beside := range []string{"", "<Window>" + profile + "</Window>"} {
		t.Run(fmt.Sprintf("%s %s %t", what, name, beside != ""), func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			on := func(n int) string {
				return fmt.Sprintf(`<Window><On><Return name="%s" threshold="%d"/></On>%s</Window>`, name, n, profile)
			}
			config := writeFile(t, dir, "c.xml", `<AlleriaConfig version="1.0">`+on(n)+on(n+1)+beside+"</AlleriaConfig>")
			run(t, command{argv: append([]string{alleria(), "-q", "record", "-c", config, "-o", profileDir, "--"}, prog...), dir: dir})
			out := string(run(t, command{argv: []string{alleria(), "windows", profileDir}, dir: dir}).stdout)
			if !strings.Contains(out, fmt.Sprintf("Return %s %d", name, n)) || strings.Contains(out, fmt.Sprintf("Return %s %d", name, n+1)) {
				t.Errorf("opened were %s", out)
			}
		})
	}
}

// b2i is 1 for true.
func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
