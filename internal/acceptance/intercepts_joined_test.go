package acceptance

import (
	"slices"
	"testing"
)

// TestInterceptUnderWay has calls that are under way when another window begins to capture their function in another way, and when it ends: each returns as it was entered.
func TestInterceptUnderWay(t *testing.T) {
	t.Parallel()
	prog := build(t, writeFile(t, t.TempDir(), "under.c", `#include <stdio.h>
#define API __attribute__((noinline, noclone, noipa))
API int open_now(int n) { return n; }
API int close_now(int n) { return n; }
API long deep(long n, long turns)
{
	for (long i = 0; i < turns; i++) {
		if (n == 2)
			open_now(1);
		if (n == 1)
			close_now(1);
	}
	long r = n ? deep(n - 1, turns) : 0;
	__asm__ volatile("" : "+r"(r));
	return r + n;
}
int main(void)
{
	long n = 0;
	for (int i = 0; i < 20; i++)
		n += deep(3, i == 15);
	printf("%ld\n", n);
	return 0;
}
`), "-g0")
	const one = `<Window><Profile><Process><Thread><Image main="true"><Function name="deep"><Intercept retType="s8"><Parameter name="n" index="0" type="s8" in="true"/></Intercept></Function></Image></Thread></Process></Profile></Window>`
	const later = `<Window><On><Call name="open_now"/></On><Till><Return name="close_now"/></Till><Profile><Process><Thread><Image main="true">` +
		`<Function name="deep"><Intercept retType="s8"><Parameter name="turns" index="1" type="s8" in="true"/></Intercept></Function></Image></Thread></Process></Profile></Window>`
	var want []string
	for i := range 20 {
		inner := "deep(n=1) = 1"
		if i == 15 {
			inner = "deep(n=1, turns=1) = 1"
		}
		want = append(want, "deep(n=0) = 0", inner, "deep(n=2) = 3", "deep(n=3) = 6")
	}
	for name, engine := range map[string]string{"by code": "no-reuse", "by the tracer": "no-native-capture,no-code-capture"} {
		t.Run(name, func(t *testing.T) {
			dir := workDir(t)
			r := run(t, command{argv: []string{alleria(), "-q", "record", "--engine", engine, "-o", profileDir, "-c", writeFile(t, dir, "c.xml", `<AlleriaConfig version="1.0">`+one+later+`</AlleriaConfig>`), "--", prog}, dir: dir})
			if string(r.stdout) != "120\n" || len(r.stderr) > 0 {
				t.Errorf("it prints %q, and says %s", r.stdout, clip(r.stderr))
			}
			if got := intercepts(t, dir); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestInterceptJoined has several windows, and elements for different threads, that capture one function in different ways: each gets what it asks for, and a call is one call.
func TestInterceptJoined(t *testing.T) {
	t.Parallel()
	prog := build(t, writeFile(t, t.TempDir(), "joined.c", `#include <pthread.h>
#include <stdio.h>
#define API __attribute__((noinline, noclone, noipa))
API long part(const char *s, long n, long m) { return s[n] + m; }
API int open_now(int n) { return n; }
API int close_now(int n) { return n; }
static void *thread(void *arg) { part("thread", 5, 1); return arg; }
int main(void)
{
	part("abcd", 3, 2);
	open_now(1);
	part("efgh", 1, 4);
	close_now(1);
	part("ijkl", 2, 3);
	pthread_t t;
	pthread_create(&t, 0, thread, 0);
	pthread_join(t, 0);
	puts("done");
	return 0;
}
`), "-g0 -pthread")
	const types = `<Types><Pointer name="text" elementType="ascii" direction="inc" countVariable="n"/><Pointer name="one" elementType="ascii" count="1"/></Types>`
	const some = `<Function name="part"><Intercept><Parameter name="s" index="0" type="text" in="true"/><Parameter name="n" index="1" type="s8" in="true"/></Intercept></Function>`
	// n is another parameter here, so that s has another length.
	const others = `<Function name="part"><Intercept retType="s8"><Parameter name="s" index="0" type="text" in="true"/><Parameter name="n" index="2" type="s8" in="true"/></Intercept></Function>`
	const more = `<Function name="part"><Intercept retType="s8"><Parameter name="s" index="0" type="text" in="true" out="true"/><Parameter name="n" index="1" type="s8" in="true"/></Intercept></Function>`
	const open, closed = `<Window><Profile><Process><Thread><Image main="true">`, `</Image></Thread></Process></Profile></Window>`
	const later = `<Window><On><Call name="open_now"/></On><Till><Return name="close_now"/></Till><Profile><Process><Thread><Image main="true">`
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"two windows": {open + some + closed + open + others + closed, []string{`part(s="abc", s="ab", n=3, n=2) = 102`, `part(s="e", s="efgh", n=1, n=4) = 106`,
			`part(s="ij", s="ijk", n=2, n=3) = 110`, `part(s="threa", s="t", n=5, n=1) = 101`}},
		"one is open for a while": {open + some + closed + later + more + closed, []string{`part(s="abc", n=3) returned`, `part(s="e", n=1) = 106`, `part(s="ij", n=2) returned`, `part(s="threa", n=5) returned`}},
		"the other way round":     {later + some + closed + open + more + closed, []string{`part(s="abc", n=3) = 102`, `part(s="e", n=1) = 106`, `part(s="ij", n=2) = 110`, `part(s="threa", n=5) = 101`}},
		"by thread": {`<Window><Profile><Process><Thread n="2"><Image main="true">` + more + `</Image></Thread><Thread n="1"><Image main="true"><Function name="part"><Intercept/></Function></Image></Thread></Process></Profile></Window>`,
			[]string{`part(s="abc", n=3) = 102`, `part(s="e", n=1) = 106`, `part(s="ij", n=2) = 110`, `part(s="threa", n=5) = 101`}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := workDir(t)
			if out := intercepted(t, dir, writeFile(t, dir, "c.xml", `<AlleriaConfig version="1.0">`+types+c.text+`</AlleriaConfig>`), prog); out != "done\n" {
				t.Errorf("it prints %q", out)
			}
			if got := intercepts(t, dir); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
