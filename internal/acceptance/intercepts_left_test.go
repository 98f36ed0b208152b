package acceptance

import (
	"fmt"
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
