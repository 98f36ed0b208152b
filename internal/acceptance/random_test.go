package acceptance

import (
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// The model below runs windows over the instructions of a whole run, as the
// reference of the window language says, without anything of alleria's: for each
// instruction that is about to execute, first the events that it is, then whether
// it is recorded.

// modelEvent is an event, or a combination of some.
type modelEvent struct {
	xml      string
	all      bool // of a combination: each has to fire
	children []*modelEvent
	happens  func(i int) bool // about the instruction about to execute; leaves only
	times    int              // occurrences that it takes since the window was armed
	level    bool             // a count, which stays reached
	seen     int
	fired    bool
}

// step lets the instruction of index i be about to execute; of an event that has just
// been armed only counts are looked at.
func (e *modelEvent) step(i int, armed bool) {
	for _, c := range e.children {
		c.step(i, armed)
	}
	if e.happens == nil || armed && !e.level || !e.happens(i) {
		return
	}
	if e.seen++; e.seen >= e.times {
		e.fired = true
	}
}

// isTrue tells whether the event, or the combination, has happened.
func (e *modelEvent) isTrue() bool {
	if e.happens != nil {
		return e.fired
	}
	for _, c := range e.children {
		if c.isTrue() != e.all {
			return !e.all
		}
	}
	return e.all
}

// reset arms the event anew.
func (e *modelEvent) reset() {
	e.seen, e.fired = 0, false
	for _, c := range e.children {
		c.reset()
	}
}

// modelWindow is a window and what the model found out about it.
type modelWindow struct {
	on, till                *modelEvent
	reopens                 bool
	open, over              bool
	openings, instructions  int
	firstOpened, firstClose int
}

// run runs the window over n instructions.
func (w *modelWindow) run(n int) {
	for i := range n {
		switch {
		case w.over:
			return
		case w.open:
			if w.till.step(i, false); w.till.isTrue() {
				w.close(i)
			}
		default:
			if w.on.step(i, false); w.on.isTrue() {
				w.open = true
				w.till.reset()
				if w.openings++; w.openings == 1 {
					w.firstOpened = i
				}
				if w.till.step(i, true); w.till.isTrue() {
					w.close(i)
				}
			}
		}
		if w.open {
			w.instructions++
		}
	}
}

// close closes the window ahead of instruction i: for good, if a count closed it.
func (w *modelWindow) close(i int) {
	counts := w.till
	counts.reset()
	counts.step(i, true)
	w.open, w.over = false, !w.reopens || counts.isTrue()
	w.on.reset()
	if w.openings == 1 {
		w.firstClose = i
	}
}

// modelProgram is what random events are made of.
type modelProgram struct {
	whole []stepped
	entry map[string]uint64
	back  map[string]map[int]bool // by function: instructions that are the next behind a return from it
}

// newModelProgram follows the calls of a whole run. A function is entered when its
// first instruction executes; it has returned when the stack of calls has it no more.
func newModelProgram(t *testing.T, prog string, whole []stepped) *modelProgram {
	f, err := elf.Open(prog)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	p := &modelProgram{whole: whole, entry: map[string]uint64{}, back: map[string]map[int]bool{}}
	in := func(at uint64) (name string, entry bool) {
		for _, s := range syms {
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && at >= s.Value && at < s.Value+s.Size {
				return s.Name, at == s.Value
			}
		}
		return "", false
	}
	var stack []string
	for i := range whole {
		name, entry := in(whole[i].addr)
		switch top := len(stack) - 1; {
		case entry:
			p.entry[name] = whole[i].addr
			stack = append(stack, name)
		case top > 0 && i > 0 && whole[i-1].ret:
			if p.back[stack[top]] == nil {
				p.back[stack[top]] = map[int]bool{}
			}
			p.back[stack[top]][i] = true
			stack = stack[:top]
		}
	}
	return p
}

// leaf makes a random event; counts: also a count.
func (p *modelProgram) leaf(rng *rand.Rand, counts bool) *modelEvent {
	name := []string{"next", "sort", "sum"}[rng.IntN(3)]
	times := 1 + rng.IntN(4)*rng.IntN(300)
	kinds := 3
	if counts {
		kinds = 5
	}
	switch rng.IntN(kinds) {
	case 0:
		at := p.entry[name]
		return &modelEvent{xml: fmt.Sprintf(`<Call name="%s" threshold="%d"/>`, name, times), times: times,
			happens: func(i int) bool { return p.whole[i].addr == at }}
	case 1:
		back := p.back[name]
		return &modelEvent{xml: fmt.Sprintf(`<Return name="%s" threshold="%d"/>`, name, times), times: times,
			happens: func(i int) bool { return back[i] }}
	case 2:
		at := p.whole[rng.IntN(len(p.whole))].addr
		return &modelEvent{xml: fmt.Sprintf(`<Address value="%#x" threshold="%d"/>`, at, times), times: times,
			happens: func(i int) bool { return p.whole[i].addr == at }}
	case 3:
		n := uint64(1 + rng.IntN(int(p.whole[len(p.whole)-1].total)))
		return &modelEvent{xml: fmt.Sprintf(`<Accesses total="%d"/>`, n), times: 1, level: true,
			happens: func(i int) bool { return i > 0 && p.whole[i-1].total >= n }}
	}
	n := 1 + rng.IntN(len(p.whole))
	return &modelEvent{xml: fmt.Sprintf(`<Instructions threshold="%d"/>`, n), times: 1, level: true,
		happens: func(i int) bool { return i >= n }}
}

// event makes a random event, or a combination; counts: also of counts.
func (p *modelProgram) event(rng *rand.Rand, depth int, counts bool) *modelEvent {
	if depth == 0 || rng.IntN(3) > 0 {
		return p.leaf(rng, counts)
	}
	e := &modelEvent{all: rng.IntN(2) == 0}
	var b strings.Builder
	for range 2 + rng.IntN(2) {
		c := p.event(rng, depth-1, counts)
		e.children = append(e.children, c)
		b.WriteString(c.xml)
	}
	element := "One"
	if e.all {
		element = "All"
	}
	e.xml = "<" + element + ">" + b.String() + "</" + element + ">"
	return e
}

// TestRandomConfigurations runs random windows and compares when each opened and
// closed, how often, and how much was recorded meanwhile, with the model.
func TestRandomConfigurations(t *testing.T) {
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/sort.c", "-static -nostdlib -fno-stack-protector -fno-tree-vectorize")
	whole := wholeRun(t, dir, prog)
	p := newModelProgram(t, prog, whole)
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	rng := rand.New(rand.NewPCG(3, 5))
	for range rounds {
		// One window by itself too: then what is closed runs natively, and code may
		// toggle by itself.
		windows := make([]*modelWindow, []int{1, 1, 4}[rng.IntN(3)])
		var config strings.Builder
		for k := range windows {
			// Counts stay reached: in the On of a window that reopens they would open it
			// again at once.
			reopens := rng.IntN(2) == 0
			w := &modelWindow{on: p.event(rng, 2, !reopens), till: p.event(rng, 2, true), reopens: reopens}
			windows[k] = w
			fmt.Fprintf(&config, `<Window name="w%d" reopenable="%t"><On>%s</On><Till>%s</Till>%s</Window>`, k, w.reopens, w.on.xml, w.till.xml, profileAll)
			w.run(len(whole))
		}
		writeConfig(t, dir, `<AlleriaConfig version="1.0">`+config.String()+`</AlleriaConfig>`)
		r := run(t, command{argv: []string{alleria(), "-q", "record", "--force", "-c", "w.xml", "-o", profileDir, "--", prog}, dir: dir})
		if len(r.stderr) > 0 {
			t.Fatalf("%s: %s", config.String(), clip(r.stderr))
		}
		verify(t, dir)
		got := reportedWindows(t, dir)
		for k, w := range windows {
			g := got[fmt.Sprintf("w%d", k)]
			if g.Openings != w.openings || g.Instructions != uint64(w.instructions) {
				t.Errorf("%s\nwindow %d: %d openings, %d instructions; the model has %d, %d", config.String(), k, g.Openings, g.Instructions, w.openings, w.instructions)
				continue
			}
			if w.openings > 0 && g.First.Address != whole[w.firstOpened].addr {
				t.Errorf("%s\nwindow %d opened before %#x, not %#x", config.String(), k, g.First.Address, whole[w.firstOpened].addr)
			}
			if w.firstClose > 0 && (g.First.Closed == nil || g.First.Closed.Address != whole[w.firstClose].addr) {
				t.Errorf("%s\nwindow %d closed at %+v, not before %#x", config.String(), k, g.First.Closed, whole[w.firstClose].addr)
			}
		}
	}
}
