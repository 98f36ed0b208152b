package plan

import (
	"fmt"
	"os"
	"testing"

	"alleria/config"
	"alleria/engine"
	"alleria/engine/x86"
	"alleria/internal/records"
	"alleria/internal/symbols"
	"alleria/internal/sys"
)

// tablesOf are the tables of this very process, which has a C library.
func tablesOf(t *testing.T, c *config.Config) (*Tables, *symbols.Loaded) {
	t.Helper()
	cache := symbols.NewCache(symbols.Options{})
	t.Cleanup(func() { cache.Close() })
	tb := NewTables(Options{PID: os.Getpid(), Maps: sys.ReadMaps, Cache: cache, Asked: Asked(c)})
	if _, _, err := tb.Update(); err != nil {
		t.Fatal(err)
	}
	for _, l := range tb.Symbols.Images() {
		if l.Image.SOName() == "libc.so.6" {
			return tb, l
		}
	}
	t.Skip("this process has no C library")
	return nil, nil
}

// function is where a function of an image lies.
func function(t *testing.T, l *symbols.Loaded, name string) uint64 {
	t.Helper()
	for _, fn := range l.Image.Find(name, true) {
		if fn.Kind != symbols.PLT {
			return fn.Addr + l.Bias
		}
	}
	t.Fatalf("%s has no %s", l.Path, name)
	return 0
}

// block is a load and an addition, as if they lay there.
func block(t *testing.T, addr uint64) []x86.Insn {
	t.Helper()
	ins := make([]x86.Insn, 2)
	// mov rax, [rdi]; add rax, rbx
	if n, why := x86.Decode([]byte{0x48, 0x8b, 0x07, 0x48, 0x01, 0xd8}, addr, ins); n != 2 {
		t.Fatalf("%d instructions: %v", n, why)
	}
	return ins
}

// parsed is a configuration with a window for each profile of the C library's functions.
func parsed(t *testing.T, functions ...string) *config.Config {
	t.Helper()
	text := `<AlleriaConfig version="1.0">`
	for i, f := range functions {
		text += fmt.Sprintf(`<Window name="w%d">`, i) + `<Profile><Process><Thread><Image name="libc.so.6">` + f + `</Image></Thread></Process></Profile></Window>`
	}
	c, _, err := config.Parse("test", []byte(text+`</AlleriaConfig>`))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPlan: what is wanted goes by the function and the kind of instruction, and the answer is the same again.
func TestPlan(t *testing.T) {
	c := parsed(t, `<Function name="getpid"><Instruction cat="anyMem" accessValue="true"/></Function>`)
	tb, libc := tablesOf(t, c)
	matched := c.Matcher().Genesis(&config.ProcessFacts{Number: 1})
	p := New(tb, []*config.Profile{c.Windows[0].Profile}, matched, 1, 1, false)
	for range 2 {
		want := make([]engine.Want, 2)
		if image := p.Plan(block(t, function(t, libc, "getpid")), want); image == 0 || !tb.Recorded(libc) {
			t.Error("the block has no image")
		}
		if want[0].Flags&records.InsValues == 0 || want[0].Func == 0 || want[1].Flags != 0 {
			t.Errorf("of getpid is wanted %+v: the load's value, and nothing of the addition", want)
		}
		want = make([]engine.Want, 2)
		p.Plan(block(t, function(t, libc, "getppid")), want)
		if want[0].Flags != 0 || want[1].Flags != 0 {
			t.Errorf("of getppid is wanted %+v", want)
		}
	}
	want := make([]engine.Want, 2)
	New(tb, nil, matched, 1, 1, true).Plan(block(t, function(t, libc, "getppid")), want)
	if want[0].Flags != records.InsRecorded || want[1].Flags != records.InsRecorded {
		t.Errorf("where only blocks count, %+v is wanted", want)
	}
}

// TestApart: two windows select the same instruction, and each is known to have.
func TestApart(t *testing.T) {
	c := parsed(t, `<Function name="getpid"><Instruction cat="anyMem"/></Function>`, `<Function name="getpid"><Instruction cat="any"/></Function>`)
	tb, libc := tablesOf(t, c)
	matched := c.Matcher().Genesis(&config.ProcessFacts{Number: 1})
	each := make([]*Planner, 2)
	for w := range each {
		each[w] = New(tb, []*config.Profile{c.Windows[w].Profile}, matched, 1<<w, 1, false)
	}
	p := New(tb, []*config.Profile{c.Windows[0].Profile, c.Windows[1].Profile}, matched, 3, 1, false)
	var s Sites
	p.Apart(&s, 1, 1, each)
	ins := block(t, function(t, libc, "getpid"))
	want := make([]engine.Want, 2)
	p.Plan(ins, want)
	for i, windows := range []uint64{3, 2} {
		if got := s.of[site{1, 1, ins[i].Addr, ins[i].Len}]; got != windows || want[i].Flags&records.InsRecorded == 0 {
			t.Errorf("instruction %d: windows %b, wanted %+v", i, got, want[i])
		}
	}
}

// TestKey: a configuration may name an image by a link that leads to it.
func TestKey(t *testing.T) {
	c := parsed(t, `<Function/>`)
	tb, libc := tablesOf(t, c)
	if k := tb.Key(libc); !c.Windows[0].Profile.Processes[0].Threads[0].Images[0].Matches(k) {
		t.Errorf("libc.so.6 is not %+v", k)
	}
}

// TestTake: tables that take numbers over go on behind them; those that have given some already do not.
func TestTake(t *testing.T) {
	c := parsed(t, `<Function/>`)
	first, libc := tablesOf(t, c)
	fn := libc.Image.Find("getpid", true)[0]
	number, names := first.Function(libc, fn), first.Names()
	next, libc := tablesOf(t, c)
	if other := libc.Image.Find("getppid", true)[0]; next.Function(libc, other) != number || next.Take(names, libc) {
		t.Error("the number is given otherwise, and taken over")
	}
	next, l := NewTables(first.opts), libc
	if _, _, err := next.Update(); err != nil {
		t.Fatal(err)
	}
	for _, o := range next.Symbols.Images() {
		if o.Path == l.Path {
			l = o
		}
	}
	if !next.Take(names, l) || next.Function(l, fn) != number || next.Function(l, l.Image.Find("getppid", true)[0]) != number+1 {
		t.Error("the numbers are not those that were taken over")
	}
}
