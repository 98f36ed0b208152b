package acceptance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// switchCase is a way to run testdata/windows/switch.c, and what a window that opens
// and closes by two events has to show.
type switchCase struct {
	arg      string
	on, till string
	openings int // exactly, or, with atMost, at least
	atMost   int
	closed   bool // each opening has a closing
	runs     int  // instructions recorded, 0: not known
}

// switchCases: a run of target's own instructions without recursion has 7.
func switchCases() []switchCase {
	call := func(f string) string { return `<Call name="` + f + `"/>` }
	ret := func(f string) string { return `<Return name="` + f + `"/>` }
	return []switchCase{
		{arg: "loop", on: call("target"), till: ret("target"), openings: 3000, closed: true, runs: 3000 * 7},
		{arg: "loop", on: `<Call name="target" threshold="7"/>`, till: ret("target"), openings: 3000 / 7, closed: true, runs: 3000 / 7 * 7},
		{arg: "loop", on: call("target"), till: `<Return name="target" threshold="5"/>`, openings: 600, closed: true},
		{arg: "loop", on: ret("target"), till: call("target"), openings: 3000},
		{arg: "loop", on: `<Return name="target" threshold="10"/>`, till: `<Call name="target" threshold="3"/>`, openings: 3000 / 12},
		{arg: "recursion", on: call("target"), till: ret("target"), openings: 500, closed: true},
		{arg: "recursion", on: call("target"), till: `<Return name="target" threshold="4"/>`, openings: 500, closed: true},
		{arg: "deep", on: call("target"), till: ret("target"), openings: 2, closed: true},
		{arg: "longjmp", on: call("leaver"), till: ret("target"), openings: 500, closed: true},
		{arg: "longjmp", on: call("target"), till: ret("leaver"), openings: 1},
		{arg: "tail", on: call("tail"), till: ret("tail"), openings: 500, closed: true},
		{arg: "tail", on: call("target"), till: ret("tail"), openings: 500, closed: true, runs: 500 * 7},
		{arg: "signals", on: call("target"), till: ret("target"), openings: 30000, atMost: 32000, closed: true},
		{arg: "threads", on: call("target"), till: ret("target"), openings: 1400, atMost: 2900, closed: true},
		{arg: "children", on: call("target"), till: ret("target"), openings: 40, closed: true, runs: 40 * 7},
		{arg: "slow", on: call("target"), till: ret("target"), openings: 2, closed: true, runs: 2 * 7},
	}
}

// switchWays are the ways in which windows open and close: by code, by requests, and
// by native probes, each hit a stop.
func switchWays() map[string][]string {
	return map[string][]string{
		"":               nil,
		"no-toggle":      {"--engine", "no-toggle"},
		"no-fast-return": {"--engine", "no-fast-return"},
		"no-busy":        {"--engine", "no-busy,no-toggle"},
	}
}

// TestSwitch opens and closes windows often, and compares what was recorded between
// the ways in which that is done.
func TestSwitch(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/switch.c", "-O1 -foptimize-sibling-calls -Wno-clobbered")
	at := labels(t, prog)
	for i, c := range switchCases() {
		t.Run(c.arg, func(t *testing.T) {
			t.Parallel()
			c.test(t, prog, at, i)
		})
	}
}

// test runs a case: the first one in every way, others in two by turns.
func (c *switchCase) test(t *testing.T, prog string, at map[string]uint64, number int) {
	first := map[string]recorded{}
	for way, flags := range switchWays() {
		if in := []string{"", "no-toggle", "no-fast-return", "no-busy"}; number > 0 && way != "" && way != in[1+number%3] && !*every {
			continue
		}
		if way == "no-busy" && (c.openings > 1000 || c.arg == "deep") {
			continue // minutes
		}
		dir := workDir(t)
		config := windowed(`reopenable="true"`, "<On>"+c.on+"</On><Till>"+c.till+"</Till>", "")
		config = strings.Replace(config, "<Image>", `<Image main="true">`, 1)
		config = strings.Replace(config, "<Process>", `<Process n="1">`, 1)
		got := recordWith(t, dir, config, c.atMost == 0, append([]string{"--no-aslr"}, flags...), prog, c.arg)
		list := openings(t, dir)
		if n := len(list); n < c.openings || n > max(c.openings, c.atMost) {
			t.Errorf("%s %s: %d openings, want %d", c.on, way, n, c.openings)
		}
		for i, o := range list {
			if c.closed && o.Closed == "" {
				t.Errorf("%s %s: opening %d of %d is not closed", c.on, way, i+1, len(list))
				break
			}
		}
		main := got["1/1"]
		if c.runs > 0 && len(main.addrs) != c.runs {
			t.Errorf("%s %s: %d instructions recorded, want %d", c.on, way, len(main.addrs), c.runs)
		}
		if c.runs > 0 && way == "" && c.arg == "loop" {
			c.checkCounts(t, dir)
		}
		if strings.HasPrefix(c.on, `<Call name="target"`) && offsetOf(main.first(), at["target"]) != 0 {
			t.Errorf("%s %s: recorded from %#x on, target is at %#x", c.on, way, main.first(), at["target"])
		}
		if c.atMost > 0 {
			continue // no two runs are the same
		}
		for where, r := range got {
			if f, ok := first[where]; ok && !slices.Equal(f.addrs, r.addrs) {
				t.Errorf("%s: %s and another way differ: %d and %d instructions of %s", c.on, way, len(r.addrs), len(f.addrs), where)
			}
		}
		first = got
	}
}

// checkCounts compares what WINDOWS says was recorded up to each opening and closing
// that code made (the first opening is the tracer's) with what follows from the
// program.
func (c *switchCase) checkCounts(t *testing.T, dir string) {
	t.Helper()
	var list []struct {
		Instructions int
		Closed       struct{ Instructions int }
	}
	r := run(t, command{argv: []string{alleria(), "windows", "--json", "--window", "w", profileDir}, dir: dir})
	if err := json.Unmarshal(r.stdout, &list); err != nil {
		t.Fatal(err)
	}
	each := c.runs / c.openings
	for i := len(list) - 1; i > 2; i-- {
		if l := list[i]; l.Instructions != i*each || l.Closed.Instructions != (i+1)*each {
			t.Fatalf("%s: opening %d after %d instructions, closing after %d, want %d and %d", c.on, i+1, l.Instructions, l.Closed.Instructions, i*each, (i+1)*each)
		}
	}
}

// offsetOf is how far an address lies behind a symbol, wherever the image was loaded.
func offsetOf(addr, symbol uint64) uint64 { return (addr - symbol) & 0xfff }

// recordWith is record with flags, and, where the output is not the same each time,
// without comparing it.
func recordWith(t *testing.T, dir, config string, compare bool, flags []string, argv ...string) map[string]recorded {
	t.Helper()
	writeConfig(t, dir, config)
	full := append(append([]string{alleria(), "-q", "record", "--force", "-c", "w.xml", "-o", profileDir}, flags...), "--")
	r := run(t, command{argv: append(full, argv...), dir: dir})
	if compare {
		same(t, run(t, command{argv: argv, dir: dir}), r)
	} else if r.status != 0 {
		t.Fatal(fmt.Errorf("status %d: %s", r.status, clip(r.stderr)))
	}
	verify(t, dir)
	return dumped(t, dir)
}

// TestDetached records a function and looks whether the program finds itself untraced
// afterwards, and whether how it ends is still reported.
func TestDetached(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/detached.c", "-O1")
	for _, c := range []struct {
		arg    string
		flags  []string
		stdout string
		status int
	}{
		{"", nil, "detached\n", 7},
		{"15", nil, "detached\n", 128 + 15},
		{"9", nil, "detached\n", 128 + 9},
		{"", []string{"--engine", "no-detach"}, "still traced\n", 3},
	} {
		dir := workDir(t)
		writeConfig(t, dir, strings.Replace(windowed("", `<On><Call name="work"/></On><Till><Return name="work"/></Till>`, ""), "<Process>", `<Process n="1">`, 1))
		argv := append([]string{alleria(), "-q", "record", "-c", "w.xml", "-o", profileDir}, c.flags...)
		argv = append(argv, "--", prog)
		if c.arg != "" {
			argv = append(argv, c.arg)
		}
		same(t, result{stdout: []byte(c.stdout), status: c.status}, run(t, command{argv: argv, dir: dir}))
		verify(t, dir)
	}
}

// TestTailCallsLeaveNothing has returns awaited, of a function and of the one that it ends with a
// jump to, whose frames lie at one stack pointer: both are gone with one return, also where it is
// dropped without looking further. A frame left behind would be taken for a function that was left
// otherwise by the return of opener. The second window keeps the program in the cache.
func TestTailCallsLeaveNothing(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/switch.c", "-O1 -foptimize-sibling-calls -Wno-clobbered")
	stay := `<Window name="never"><On><Instructions threshold="1000000000000"/></On><Profile><Process><Thread><Image/></Thread></Process></Profile></Window>`
	for _, flags := range [][]string{nil, {"--engine", "no-fast-return"}} {
		dir := workDir(t)
		config := windowed("", `<On><Call name="opener"/></On><Till><One><Return name="tail"/><Return name="target"/></One></Till>`, stay)
		recordWith(t, dir, config, true, flags, prog, "tails")
		if o := openings(t, dir); len(o) != 1 || o[0].Closed != "end of the process" {
			t.Errorf("%v: %+v, want one that nothing but the end closes", flags, o)
		}
	}
}

// TestLeftWithoutReturn looks whether WINDOWS says how often a function whose return
// closes a window was left otherwise, in the code cache and natively.
func TestLeftWithoutReturn(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/left.cc", "-O1")
	end := "end of the process"
	for name, want := range map[string]string{
		"thrower":  end + "; left without a return 5 times",
		"jumper":   end + "; left without a return 10 times",
		"quitter":  end + "; left without a return once",
		"returner": "Return returner",
	} {
		for _, flags := range [][]string{nil, {"--engine", "no-toggle"}} {
			dir := workDir(t)
			config := windowed("", `<On><Call name="`+name+`"/></On><Till><Return name="`+name+`"/></Till>`, "")
			recordWith(t, dir, config, true, flags, prog)
			if o := openings(t, dir); len(o) != 1 || o[0].Closed != want {
				t.Errorf("%s: %+v, want closed by %q", name, o, want)
			}
		}
		// While closed the returns are awaited natively: what was left before is not of
		// the window.
		dir := workDir(t)
		recordWith(t, dir, windowed("", `<On><Call name="quitter"/></On><Till><Return name="`+name+`"/></Till>`, ""), true, nil, prog)
		want := end
		if name == "quitter" {
			want += "; left without a return once"
		}
		if o := openings(t, dir); len(o) != 1 || o[0].Closed != want {
			t.Errorf("opened at the end, %s: %+v, want closed by %q", name, o, want)
		}
	}
}
