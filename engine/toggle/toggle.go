// Package toggle is the window that translated code opens and closes by itself.
//
// In a nutshell: a Window names two places of functions. At the nth entry at one of them code goes on in the recording variant, at
// the nth at the other in the plain one, each time with a mark in the thread's ring and without asking. Process holds the window and whether
// code does so (Ready, Stop); Thread learns what its thread has toggled since it was looked at last (Sync). What code goes by are words of both counters, see layout.PlaceMark and
// those behind it.
//
// Only a process of one thread does so: an instance opens for all threads, and the others would have to notice at each of
// their blocks. With several, or while a child shares the address space, the tracer is asked as for any other event.
//
// Package engine calls it on the tracer's goroutine, for a thread that is stopped or waits; code reads and writes the words
// meanwhile. Translations and tables are behind an interface (Code), so that tests need no process. It changes no modes and tells no client: those follow from what Sync returns.
package toggle

import (
	"alleria/engine/codecache"
	"alleria/engine/probe"
	"alleria/engine/shm"
	"alleria/internal/layout"
	"alleria/internal/records"
)

// Window is one that code opens and closes.
type Window struct {
	Open, Close         *probe.Counter // where it opens, where it closes
	OpenAfter           uint64         // entries at Open from each closing on
	CloseAfter          uint64         // entries at Close from each opening on
	OpenMark, CloseMark uint64         // the sets of open windows for the marks
}

// Code is the translations that a thread toggles between.
type Code interface {
	// Prepare makes the thread's look-up table of a variant what it has to be.
	Prepare(v codecache.Variant)
	// Behind is where the translation of a function begins for an entry that has been counted; 0: there is none.
	Behind(entry uint64, v codecache.Variant) uint64
}

// Process is the window that a process's code toggles, if it has one.
type Process struct {
	// Off has code ask at each opening and closing.
	Off    bool
	window *Window
	ready  bool // code does so by itself
}

// Set says which window code toggles from now on; nil: none.
// Threads may be toggling at that moment: what they did is learnt by Sync.
func (p *Process) Set(w *Window) {
	if w == nil && p.window == nil || w != nil && p.window != nil && *w == *p.window {
		return
	}
	p.Stop()
	p.window = w
}

// Has tells whether there is such a window.
func (p *Process) Has() bool { return p.window != nil }

// Stop makes code ask at the window's places.
// A thread that is past the look at the word still toggles once.
func (p *Process) Stop() {
	if w := p.window; w != nil {
		w.Open.Word(layout.PlaceCode).Store(0)
		w.Close.Word(layout.PlaceCode).Store(0)
	}
	p.ready = false
}

// May tells whether code could toggle, and does not yet.
func (p *Process) May() bool { return p.window != nil && !p.ready && !p.Off }

// Ready lets code toggle, where it may, in a process whose only thread has slot s; t waits or is stopped, in the recording variant or the plain one as inside says.
//
// It is done late, by a thread that has just asked: code at both places has to exist, with
// the table of its variant, before anything may lead there.
func (p *Process) Ready(t *Thread, s *shm.Slot, control uint64, record codecache.Variant, inside bool, c Code) {
	w := p.window
	if !p.May() || s.Get(layout.ChunkBytes) == 0 || s.Slotted() {
		return
	}
	c.Prepare(codecache.Plain)
	c.Prepare(record)
	now := uint64(0)
	if inside {
		now = 1
	}
	s.Set(layout.Inside, now)
	t.Look(s)
	// Each sets both counts. Behind an opening nothing opens until it is closed.
	ok := at(w.Open, control, record, w.OpenMark, w.Close, w.CloseAfter, c) &&
		at(w.Close, control, codecache.Plain, w.CloseMark, w.Open, w.OpenAfter, c)
	if !ok {
		p.Stop()
		return
	}
	p.ready = true
}

// at prepares the words of one of the window's places: it leads to variant v, where other counts from n down.
// The word that says that the others hold is written last.
func at(pl *probe.Counter, control uint64, v codecache.Variant, mark uint64, other *probe.Counter, n uint64, c Code) bool {
	code, addr := uint64(1), uint64(0) // a return goes by the table
	if !pl.Returns {
		addr = pl.Addr()
		if code = c.Behind(addr, v); code == 0 {
			return false
		}
	}
	inside := uint64(0)
	if v.Records() {
		inside = 1
	}
	for i, w := range []uint64{records.Mark(records.MarkSwitch, mark), addr, inside, uint64(codecache.TableOff(v)),
		control + uint64(pl.Offset()), probe.Never, control + uint64(other.Offset()), n} {
		pl.Word(layout.PlaceMark + 8*i).Store(w)
	}
	pl.Word(layout.PlaceCode).Store(code)
	return true
}

// Thread is what a thread has toggled.
type Thread struct {
	seen uint64 // layout.Toggles when it was last looked at
}

// Look notes what the thread has toggled so far as known.
func (t *Thread) Look(s *shm.Slot) { t.seen = s.Get(layout.Toggles) }

// Inside tells whether the thread has opened the window, as far as its process has one.
func (p *Process) Inside(s *shm.Slot) bool { return p.window != nil && s.Get(layout.Inside) != 0 }

// Sync learns what a thread that is stopped or waits has toggled since it was looked at last: how often, and whether the window is open now. Openings
// and closings alternate, so that these two tell all. What the counters count to is noted with it.
func (p *Process) Sync(t *Thread, s *shm.Slot) (times uint64, inside bool) {
	if p.window == nil {
		return 0, false
	}
	was := t.seen
	if t.Look(s); t.seen == was {
		return 0, false
	}
	w := p.window
	inside = s.Get(layout.Inside) != 0
	if inside {
		w.Open.SetArmed(probe.Never)
		w.Close.SetArmed(w.CloseAfter)
	} else {
		w.Open.SetArmed(w.OpenAfter)
		w.Close.SetArmed(probe.Never)
	}
	return t.seen - was, inside
}
