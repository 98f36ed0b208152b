package acceptance

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// wrongConfigs is how many configurations TestInterceptWrong makes, and wrongFirst the seed of the first: 5 has calls captured by code, whose loads fault; others are mostly captured by the tracer.
var (
	wrongConfigs = flag.Int("wrong", 3, "random configurations of TestInterceptWrong")
	wrongFirst   = flag.Uint64("wrong-first", 5, "the first one's seed")
)

// TestInterceptWrong captures calls by types that the arguments are not of, in random configurations: the program runs as it does natively, and what was captured can be read.
func TestInterceptWrong(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/intercept/wrong.c", "-g0 -pthread")
	native := run(t, command{argv: []string{prog}, dir: workDir(t)})
	for i := range uint64(*wrongConfigs) {
		seed := *wrongFirst + i
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir := workDir(t)
			text := wrongConfig(rand.New(rand.NewPCG(seed, 9)))
			writeFile(t, dir, "c.xml", text)
			r := run(t, command{argv: []string{alleria(), "-q", "record", "-o", profileDir, "-c", "c.xml", "--", prog}, dir: dir})
			if string(r.stdout) != string(native.stdout) || r.status != native.status || len(r.stderr) > 0 {
				t.Errorf("it prints %q and ends with %d, natively %q and %d; %s\n%s", r.stdout, r.status, native.stdout, native.status, clip(r.stderr), text)
			}
			if got := intercepts(t, dir, "--function", "mixed", "--max-elements", "1"); len(got) != 400 {
				t.Errorf("%d calls, want 400\n%s", len(got), text)
			}
		})
	}
}

// wrongConfig makes a configuration. It is correct by itself: n is a number and e an address, on which lengths hang, whatever the program passes there.
func wrongConfig(r *rand.Rand) string {
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	var types strings.Builder
	followed := []string{"p0", "p1"}
	elements := []string{"u1", "s4", "u8", "f8", "ptr", "ascii", "p0"} // also of pointers that lie in memory: their lengths hang on nothing
	plain := func() string { return pick("u1", "s2", "u4", "u8", "ascii", "unicode") }
	way := func() string { return pick("inc", "dec") }
	bound := func() string { return pick("", ` maxBytes="64"`, ` maxBytes="100000"`) }
	fmt.Fprintf(&types, `<Pointer name="p0" elementType="%s" direction="%s" sentinel="%d"%s/>`, plain(), way(), r.IntN(3), bound())
	fmt.Fprintf(&types, `<Type name="list"><Field name="x" type="%s"/><Field name="next" type="p1"/></Type><Pointer name="p1" elementType="list" count="1"/>`, plain())
	for i := range 1 + r.IntN(4) {
		name := fmt.Sprintf("q%d", i)
		switch r.IntN(3) {
		case 0:
			fmt.Fprintf(&types, `<Pointer name="%s" elementType="%s" direction="%s" countVariable="n"%s/>`, name, plain(), way(), bound())
		case 1:
			fmt.Fprintf(&types, `<Pointer name="%s" elementType="u1" direction="inc" endVariable="e" endValid="%s"%s/>`, name, pick("true", "false"), bound())
		default:
			fmt.Fprintf(&types, `<Pointer name="%s" elementType="%s" direction="%s" count="%s"%s/>`, name, pick(elements...), way(), pick("1", "2", "5000", "4000000"), bound())
			elements = append(elements, name)
		}
		followed = append(followed, name)
	}
	parameter := func(name string, index int, types ...string) string {
		return fmt.Sprintf(`<Parameter name="%s" index="%d" type="%s" in="true"%s/>`, name, index, pick(types...), pick("", ` out="true"`))
	}
	function := func(name string, parameters ...string) string {
		return `<Function name="` + name + `"><Intercept retType="` + pick("u8", "u1", "ptr", "p0", "p1") + `">` + strings.Join(parameters, "") + `</Intercept></Function>`
	}
	return `<AlleriaConfig version="1.0"><Types>` + types.String() + `</Types><Window><Profile><Process><Thread><Image main="true">` +
		function("mixed", parameter("n", 0, "u8", "s8", "s4", "u1"), parameter("p", 1, followed...), parameter("s", 2, followed...), parameter("e", 3, "ptr")) +
		function("numbers", parameter("n", 0, "u8", "s4"), parameter("e", 1, "ptr"), parameter("q", 2, followed...)) +
		function("fills", parameter("to", 0, followed...), parameter("n", 1, "u8", "s1"), parameter("e", 2, "ptr")) +
		`</Image></Thread></Process></Profile></Window></AlleriaConfig>`
}

// TestInterceptManyPointers captures of a function with many pointers what can be, and says what cannot.
func TestInterceptManyPointers(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/intercept/many.c", "")
	r := run(t, command{argv: []string{alleria(), "-q", "record", "-o", profileDir, "--intercept", "many@main", prog}, dir: dir})
	if want := "alleria: not captured at return, since no more than 8 words are kept until then: i, j of many\n"; string(r.stderr) != want || string(r.stdout) != "29\n" {
		t.Errorf("recording says %s%s", clip(r.stdout), clip(r.stderr))
	}
	want := "many(a=&0, b=&1, c=&2, d=&3, e=&4, f=&5, g=&6, h=&7, i=&8, j=&9) = 29, a=&10, b=&11, c=&12, d=&13, e=&14, f=&15, g=&16, h=&17"
	if got := intercepts(t, dir); !slices.Equal(got, []string{want}) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestInterceptUserfault captures what leads to memory that userfaultfd is to fill: it must not be asked for, since a thread of the program would be told, and fill what the program
// has not touched, or wait for the tracer at that time. Where a program calls userfaultfd code follows no pointers.
func TestInterceptUserfault(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/intercept/userfault.c", "")
	natively := run(t, command{argv: []string{prog}, dir: workDir(t)})
	if natively.status == 77 {
		t.Skip("no userfaultfd here")
	}
	for _, engine := range []string{"no-toggle", "no-native-capture", "no-native-capture,no-capture-pages"} {
		dir := workDir(t)
		c := interceptConfig(t, dir, `main="true"`, `<Function name="text*"><Intercept auto="true" depth="3"/></Function>`)
		r := run(t, command{argv: []string{alleria(), "-q", "record", "--engine", engine, "-o", profileDir, "-c", c, "--", prog}, dir: dir})
		if r.status != 0 || string(r.stdout) != string(natively.stdout) || len(r.stderr) > 0 {
			t.Errorf("%s: status %d, %s%snatively %s", engine, r.status, clip(r.stdout), clip(r.stderr), clip(natively.stdout))
		}
		all := intercepts(t, dir)
		got := strings.Join(all[max(0, len(all)-3):], "\n")
		want := `^text\(s=0x[0-9a-f]+ \(unreadable\), n=1\) = 1\ntext\(s=0x[0-9a-f]+ \(unreadable\), n=2\) = 2\ntexts\(t=&\{first="there", second=0x[0-9a-f]+ \(unreadable\)\}\) = 1$`
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s: %s", engine, got)
		}
	}
}
