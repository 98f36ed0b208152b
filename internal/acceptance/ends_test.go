package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestThreadEnds opens and closes windows as threads end. Whoever waits for that end has
// its window opened or closed before it goes on, since the ending thread is held
// until then.
func TestThreadEnds(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/rows-ends.S", "-nostdlib -static -no-pie")
	at := labels(t, prog)
	for _, c := range []struct {
		on, till string
		ended    int // the thread whose end opens, or closes if nothing opens
	}{
		{on: `<Termination process="1" thread="2"/>`, ended: 2},
		{on: `<Termination process="1"/>`, ended: 2},
		{on: `<Termination process="1" thread="3"/>`, ended: 3},
		{on: `<Termination process="1" thread="4"/>`, ended: 4},
		{on: `<Termination process="1" thread="1"/>`, ended: 1},
		{till: `<Termination process="1" thread="2"/>`, ended: 2},
		{till: `<Termination process="1" thread="3"/>`, ended: 3},
		{till: `<Termination process="1" thread="4"/>`, ended: 4},
		{till: `<Termination process="1" thread="1"/>`, ended: 1},
		{on: `<All><Threads largerEqual="2"/><Termination process="1" thread="3"/></All>`, ended: 3},
		{on: `<Termination process="1" thread="2"/>`, till: `<Termination process="1" thread="3"/>`, ended: 2},
		{on: `<Creation process="1" thread="4"/>`, till: `<Threads smallerEqual="1"/>`, ended: -4},
	} {
		for kind, others := range map[string]string{"native": "", "cached": nothing} {
			t.Run(fmt.Sprint(c.on, c.till, " ", kind), func(t *testing.T) {
				t.Parallel()
				events := ""
				if c.on != "" {
					events = "<On>" + c.on + "</On>"
				}
				if c.till != "" {
					events += "<Till>" + c.till + "</Till>"
				}
				got := record(t, workDir(t), windowed("", events, others), prog)
				ended := max(c.ended, -c.ended)
				waiter := got["1/1"]
				from, to := at[fmt.Sprint("start", ended)], at[fmt.Sprint("after", ended)]
				if ended == 1 {
					waiter, from = got["1/5"], at["start1"]
				}
				if c.on != "" && c.ended > 0 {
					// Thread 5 may not even have begun: behind the clone in _start.
					if first := waiter.first(); ended == 1 && first >= to && first < at["_start"] || ended > 1 && (first < from || first >= to) {
						t.Errorf("begins at %#x, not between %#x and %#x", first, from, to)
					}
					if c.till == "" && !waiter.has(to) {
						t.Errorf("does not hold %#x", to)
					}
				}
				switch {
				case c.till == "":
				case c.on != "" && c.ended > 0: // closed by the next one's end
					if last := waiter.last(); last < to || last >= at["after3"] {
						t.Errorf("ends at %#x, not between %#x and %#x", last, to, at["after3"])
					}
				case waiter.has(to):
					t.Errorf("holds %#x", to)
				}
			})
		}
	}
}

// has tells whether an instruction was recorded.
func (r recorded) has(addr uint64) bool {
	for _, a := range r.addrs {
		if a == addr {
			return true
		}
	}
	return false
}

// TestFirstThreadEnds opens and closes a window in threads whose process's first one has
// ended: the kernel shows nothing in the process's name any more, and reports that
// thread's end only when all have ended.
func TestFirstThreadEnds(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/first-ends.c", "-O1")
	for kind, others := range map[string]string{"native": "", "cached": nothing} {
		// What two threads do first, 200 returns, may be over before either is taken over.
		for attrs, returns := range map[string]int{"": 250, `reopenable="true"`: 1} {
			dir := workDir(t)
			till := fmt.Sprintf(`<Till><Return name="other" threshold="%d"/></Till>`, returns)
			got := record(t, dir, windowed(attrs, `<On><Call name="target" threshold="2"/></On>`+till, others), prog)
			if o := openings(t, dir); len(o) < max(100/returns, 1) || !strings.HasPrefix(o[0].Closed, "Return other") {
				t.Errorf("%s %s: %d openings", kind, attrs, len(o))
			}
			functions := 0
			for _, r := range got {
				functions += r.functions["other"]
			}
			if functions < 100 {
				t.Errorf("%s: %d instructions of other recorded", kind, functions)
			}
		}
	}
}

// TestCallsAtOnce has threads call a function at the same moment that opens a window with the
// first or the second of the calls: the breakpoint is taken away while others have just run into it.
func TestCallsAtOnce(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/race-calls.c", "-O1")
	for _, threshold := range []string{"1", "2"} {
		for range 3 {
			dir := workDir(t)
			record(t, dir, windowed("", `<On><Call name="target" threshold="`+threshold+`"/></On>`, ""), prog)
			if o := openings(t, dir); len(o) != 1 {
				t.Errorf("%d openings", len(o))
			}
		}
	}
}

// TestDetachBehindBreakpoint ends the recording while threads run into a breakpoint one after the
// other: those that have just done so when it is taken away are detached at it.
func TestDetachBehindBreakpoint(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/race-calls.c", "-O1")
	argv := []string{prog, "300000"}
	native := run(t, command{argv: argv, dir: workDir(t)})
	for range 5 {
		dir := workDir(t)
		writeConfig(t, dir, windowed("", `<On><Call name="target" threshold="1000000000"/></On>`, ""))
		r := recordNatively("no-jumps,no-busy", argv)
		same(t, native, run(t, command{argv: slices.Insert(r, 3, "--max-time", "200ms"), dir: dir}))
	}
}

// TestFixturesWithEnds runs the programs whose threads end in some way, by themselves,
// by a signal, an exit of all, or an execve, while a window waits for the end of a thread
// that never was: natively and in the code cache.
func TestFixturesWithEnds(t *testing.T) {
	t.Parallel()
	for _, file := range fixtures(t) {
		name := filepath.Base(file)
		if kind, _, _ := strings.Cut(name, "-"); kind != "threads" && kind != "death" && kind != "exec" && kind != "children" && kind != "goroutines.go" {
			continue
		}
		fx, err := readFixture(file)
		if err != nil {
			t.Fatal(err)
		}
		var in []mode
		for _, kind := range []string{"native", "cached"} {
			config := filepath.Join(t.TempDir(), kind+".xml")
			text := windowed("", `<On><All><Termination process="1" thread="999"/><Threads largerEqual="1000"/></All></On>`, map[string]string{"cached": nothing}[kind])
			if err := os.WriteFile(config, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			in = append(in, mode{name: kind, flags: []string{"-c", config, "-o", "../" + profileDir}, disk: true})
		}
		if k := len(name) % 2; !*every {
			in = in[k : k+1]
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fx.test(t, fx.builds[0], in)
		})
	}
}
