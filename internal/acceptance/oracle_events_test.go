package acceptance

import "strings"

// oracleEvent is an event as the model has it, or a combination of some. Occurrences
// happen at the boundary in front of an instruction, by its index.
type oracleEvent struct {
	element  string // XML, without children
	all      bool   // of a combination: each has to fire
	children []*oracleEvent
	happens  func(i int) bool // of a leaf: at the boundary before instruction i
	phase    int              // of what happens there: returns, calls of the system, signals, arrivals
	// level, instead of happens, is a count that stays reached; opened is the boundary
	// at which the window opened last.
	level func(i, opened int) bool
	since bool // it counts from the opening of the window
	times int  // occurrences that it takes since it was armed; 0: one
	seen  int
	fired bool
}

// xml is the event in a configuration.
func (e *oracleEvent) xml() string {
	if e == nil {
		return ""
	}
	if len(e.children) == 0 {
		return "<" + e.element + "/>"
	}
	var b strings.Builder
	b.WriteString("<" + e.element + ">")
	for _, c := range e.children {
		b.WriteString(c.xml())
	}
	b.WriteString("</" + e.element + ">")
	return b.String()
}

// Phases of a boundary, in order: the instruction before has its effect, then a signal
// may be delivered, then the next instruction is arrived at.
const (
	phaseReturn = iota
	phaseCall
	phaseSignal
	phaseEntry
	phases
)

// occur lets happen at a boundary what happens there.
func (e *oracleEvent) occur(i, phase int) {
	for _, c := range e.children {
		c.occur(i, phase)
	}
	if e.happens != nil && e.phase == phase && e.happens(i) {
		if e.seen++; e.seen >= e.times {
			e.fired = true
		}
	}
}

// reach looks at the counts that stay reached.
func (e *oracleEvent) reach(i, opened int) {
	for _, c := range e.children {
		c.reach(i, opened)
	}
	if e.level != nil && e.level(i, opened) {
		e.fired = true
	}
}

// isTrue tells whether the event, or the combination, has happened; counts: by counts
// from the process's first instruction alone, which stay reached for ever.
func (e *oracleEvent) isTrue(counts bool) bool {
	if len(e.children) == 0 {
		return e.fired && !(counts && (e.happens != nil || e.since))
	}
	for _, c := range e.children {
		if c.isTrue(counts) != e.all {
			return !e.all
		}
	}
	return e.all
}

// reset arms the event anew.
func (e *oracleEvent) reset() {
	if e == nil {
		return
	}
	e.seen, e.fired = 0, false
	for _, c := range e.children {
		c.reset()
	}
}

// oracleChange is an opening or closing in front of an instruction.
type oracleChange struct {
	window int
	opened bool
	at     int
}

// oracleWindow is a window of a configuration.
type oracleWindow struct {
	on, till *oracleEvent // nil: open from the start, till the end
	reopens  bool
	process  int            // the Process that holds for the run; 0: the one for any
	threads  []oracleThread // of it
	before   string         // elements for other processes, in front of it and behind it
	behind   string
	open     bool
	over     bool
	openedAt int
}

// cross brings the window over the boundary in front of instruction i: what happens
// there happens, one after the other, to the event that is armed, and a window that
// opens or closes goes on with the counts that are reached already. change is called
// for each opening and closing.
func (w *oracleWindow) cross(i int, change func(opened bool)) {
	for phase := range phases {
		if phase == phaseSignal {
			// The instruction that raises it was about to execute: counts come first.
			w.settle(i, change)
		}
		if w.open && w.till != nil {
			w.till.occur(i, phase)
		} else if !w.open && !w.over && w.on != nil {
			w.on.occur(i, phase)
		}
		if w.turn(i, change) {
			w.settle(i, change)
		}
	}
	w.settle(i, change)
}

// settle lets counts that are reached open and close the window.
func (w *oracleWindow) settle(i int, change func(opened bool)) {
	for {
		if w.open && w.till != nil {
			w.till.reach(i, w.openedAt)
		} else if !w.open && w.on != nil {
			w.on.reach(i, w.openedAt)
		}
		if !w.turn(i, change) {
			return
		}
	}
}

// turn opens or closes the window, if what it waits for has happened.
func (w *oracleWindow) turn(i int, change func(opened bool)) bool {
	switch {
	case w.over:
		return false
	case w.open:
		if w.till == nil || !w.till.isTrue(false) {
			return false
		}
		w.open, w.over = false, !w.reopens || w.till.isTrue(true)
		w.on.reset()
	default:
		if w.on != nil && !w.on.isTrue(false) {
			return false
		}
		w.open, w.openedAt = true, i
		w.till.reset()
	}
	change(w.open)
	return true
}

// oracleResult is what the model finds out: changes in order, and of each instruction
// the open windows.
type oracleResult struct {
	changes []oracleChange
	open    []uint64
	changed []uint64 // those that opened or closed in front of it
}

// runWindows runs windows over n instructions.
func runWindows(windows []*oracleWindow, n int) oracleResult {
	var r oracleResult
	for _, w := range windows { // as they were made
		w.open, w.over = false, false
		w.on.reset()
	}
	for i := range n {
		var bits, changed uint64
		for k, w := range windows {
			w.cross(i, func(opened bool) {
				r.changes = append(r.changes, oracleChange{k, opened, i})
				changed |= 1 << k
			})
			if w.open {
				bits |= 1 << k
			}
		}
		r.open, r.changed = append(r.open, bits), append(r.changed, changed)
	}
	return r
}
