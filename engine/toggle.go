package engine

import (
	"alleria/engine/codecache"
	"alleria/engine/probe"
	"alleria/internal/layout"
	"alleria/internal/records"
)

// Toggle is one window that translated code opens and closes by itself, without
// asking: at the nth entry at one place it goes on in the recording variant, at
// the nth at another in the plain one. Each leaves a mark in the thread's ring.
//
// Only a process of one thread does so: an instance opens for all threads, and the
// others would have to notice at each of their blocks. With several, or while a
// child shares the address space, the tracer is asked as for any other event.
// The words of both places tell code what to do, see layout.PlaceMark and those
// behind it.
type Toggle struct {
	Open, Close         *probe.Counter // where it opens, where it closes
	OpenAfter           uint64         // entries at Open from each closing on
	CloseAfter          uint64         // entries at Close from each opening on
	OpenMark, CloseMark uint64         // the sets of open windows for the marks
}

// windowToggle is the window that code opens and closes.
type windowToggle struct {
	toggle      *Toggle
	toggleReady bool // code does so by itself
}

// SetToggle says which window code toggles from now on; nil: none. The process
// runs in ModePlain (also if only ModeNative was asked for) or in ModeRecord.
// Threads may be toggling at that moment: what they did is learnt by sync.
func (p *Process) SetToggle(tg *Toggle) {
	if tg == nil && p.toggle == nil || tg != nil && p.toggle != nil && *tg == *p.toggle {
		return
	}
	p.stopToggling()
	p.toggle = tg
}

// stopToggling makes code ask at the toggle's places.
// A thread that is past the look at the word still toggles once.
func (p *Process) stopToggling() {
	if tg := p.toggle; tg != nil {
		tg.Open.Word(layout.PlaceCode).Store(0)
		tg.Close.Word(layout.PlaceCode).Store(0)
	}
	p.toggleReady = false
}

// readyToggle lets code toggle, if t is the process's only thread. It waits or is
// stopped.
//
// It is done late, by a thread that has just asked: code at both places has to exist, with
// the table of its variant, before anything may lead there.
func (p *Process) readyToggle(t *Thread) {
	tg := p.toggle
	if tg == nil || p.toggleReady || p.noToggle || len(p.threads) != 1 || t.vfork || p.mode != ModePlain && p.mode != ModeRecord ||
		t.slot.Get(layout.ChunkBytes) == 0 || t.slot.Slotted() {
		return
	}
	record := codecache.Record + codecache.Variant(t.plan)
	t.prepareTable(codecache.Plain)
	t.prepareTable(record)
	now := uint64(0)
	if p.mode == ModeRecord {
		now = 1
	}
	t.slot.Set(layout.Inside, now)
	t.toggles = t.slot.Get(layout.Toggles)
	// Each sets both counts. Behind an opening nothing opens until it is closed.
	ok := p.toggleAt(tg.Open, record, tg.OpenMark, tg.Close, tg.CloseAfter) &&
		p.toggleAt(tg.Close, codecache.Plain, tg.CloseMark, tg.Open, tg.OpenAfter)
	if !ok {
		p.stopToggling()
		return
	}
	p.toggleReady = true
}

// toggleAt prepares the words of one of the toggle's places: it leads to variant v,
// where other counts from n down.
// The word that says that the others hold is written last.
func (p *Process) toggleAt(pl *probe.Counter, v codecache.Variant, mark uint64, other *probe.Counter, n uint64) bool {
	code, addr := uint64(1), uint64(0) // a return goes by the table
	if !pl.Returns {
		addr = pl.Addr()
		if code = p.codeFor(pl.Addr(), v, codecache.Counted); code == 0 {
			return false
		}
	}
	inside := uint64(0)
	if v.Records() {
		inside = 1
	}
	base := p.shm.Control()
	for i, w := range []uint64{records.Mark(records.MarkSwitch, mark), addr, inside, uint64(codecache.TableOff(v)),
		base + uint64(pl.Offset()), probe.Never, base + uint64(other.Offset()), n} {
		pl.Word(layout.PlaceMark + 8*i).Store(w)
	}
	pl.Word(layout.PlaceCode).Store(code)
	return true
}

// syncAll is sync for every thread, also those that run: what it learns may be
// outdated at once, but not by more than a few transitions.
func (tr *Tracer) syncAll(p *Process) {
	for _, t := range p.running() {
		tr.sync(t)
	}
}

// sync learns what a thread that is stopped or waits has toggled since the tracer
// heard of it last.
//
// The client hears how often the window has changed, and in which state it is: openings and
// closings alternate, so that the number tells both.
func (tr *Tracer) sync(t *Thread) {
	p := t.p
	if p.toggle == nil || t.slot == nil || t.vfork {
		return
	}
	n := t.slot.Get(layout.Toggles)
	if n == t.toggles {
		return
	}
	times := n - t.toggles
	t.toggles = n
	tg := p.toggle
	inside := t.slot.Get(layout.Inside) != 0
	m := ModePlain
	tg.Open.SetArmed(tg.OpenAfter)
	tg.Close.SetArmed(probe.Never)
	if inside {
		m = ModeRecord
		tg.Open.SetArmed(probe.Never)
		tg.Close.SetArmed(tg.CloseAfter)
	}
	was := p.mode
	p.mode = m
	t.variant = t.due()
	p.variant = m.variant()
	if was == ModeNative { // it was to run natively, and has toggled just before
		p.mode = was
	}
	p.stats.Toggles += int(times)
	p.residency.Used(tr.now())
	t.p.client.Toggled(t, inside, times)
}
