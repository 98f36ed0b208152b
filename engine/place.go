package engine

import (
	"errors"
	"fmt"
	"sync/atomic"

	"alleria/engine/codecache"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// probeTable is what is watched by address, natively and in the cache, and what lies in the application's code for it.
type probeTable struct {
	probes  map[uint64]byte // original bytes under native breakpoints
	removed map[uint64]byte // and under those that are no more: a thread may have run into one just before
	jumps   jumps
	start   *startSites // breakpoints in place of stops at a native start's calls; nil: none
	// whose arrivals code counts, by number and by address; sites are native returns
	// that frames await, and how many. awaits: returns look whether they are awaited
	places      []*Place
	placeAt     map[uint64]*placesAt
	sites       map[uint64]int
	captures    captures
	toggle      *Toggle
	toggleReady bool // code toggles by itself
}

func newProbeTable(noJumps bool) probeTable {
	return probeTable{probes: make(map[uint64]byte), removed: make(map[uint64]byte),
		jumps: newJumps(noJumps), placeAt: make(map[uint64]*placesAt), sites: make(map[uint64]int)}
}

// Never is a count that no place reaches.
const Never = 1 << 62

// Place is a function's entry, or its returns, whose arrivals translated code
// counts by itself: the client is asked when as many have come as it said. The
// count is one for all threads.
//
// The refused alternative, one count a thread, needs no locked instruction (6 ns
// here), but a threshold over several threads would have to be dealt out in
// shares that shrink to single calls, each of which asks.
//
// The count lies in the control area, where every thread reaches it. It is exact: each
// arrival takes one off by a locked instruction, and the one that gets to zero asks.
type Place struct {
	p       *Process
	index   int
	addr    uint64
	returns bool
	armed   int64 // what Left was set to
}

// placesAt is what is counted at an address, and the function that begins there.
type placesAt struct {
	entry, returns, within *Place
	capture                *capturePoint
	function               []Extent // none: not known to be a function's first instruction
	looked, loops          bool     // see Process.loops
}

// errPlaces means that too many places are watched.
var errPlaces = errors.New("too many watched functions")

// Entries returns the place that counts arrivals at addr, but those by jumps from within the
// function that begins there (see SetExtent). It is not armed.
// The same place is returned for the same address. Errors: too many places, or code
// that cannot be read.
func (p *Process) Entries(addr uint64) (*Place, error) {
	at := p.placesOf(addr)
	if at.entry == nil {
		pl, err := p.newPlace(addr, false)
		if err != nil {
			return nil, err
		}
		at.entry = pl
		p.watch(addr)
	}
	return at.entry, p.probePlace(addr)
}

// Returns returns the place that counts the returns of the function at entry. It
// is not armed.
//
// A return counts for the innermost entry that is left by it: a function that is left by
// longjmp or an exception has not returned, see frame.go.
func (p *Process) Returns(entry uint64) (*Place, error) {
	at := p.placesOf(entry)
	if at.returns == nil {
		pl, err := p.newPlace(entry, true)
		if err != nil {
			return nil, err
		}
		at.returns = pl
		p.AwaitReturns()
		p.watch(entry)
	}
	return at.returns, p.probePlace(entry)
}

// Within returns the place that counts what Entries leaves out. It is not armed.
func (p *Process) Within(addr uint64) (*Place, error) {
	at := p.placesOf(addr)
	if at.within == nil {
		pl, err := p.newPlace(addr, false)
		if err != nil {
			return nil, err
		}
		at.within = pl
		p.watch(addr)
	}
	return at.within, p.probePlace(addr)
}

// AwaitReturns makes every return that is translated from now on look whether it
// is awaited. Where it is known early that Returns will be called, it saves
// translating everything anew then.
func (p *Process) AwaitReturns() {
	if p.translator.Awaits {
		return
	}
	p.translator.Awaits = true
	p.invalidate(0, 1<<47)
}

// Addr is the address of the function.
func (pl *Place) Addr() uint64 { return pl.addr }

// Take returns how many arrivals there were since Arm or the last Take. The count goes on meanwhile: a
// thread that gets to zero between Take and Arm asks, as ever.
//
// Refused: putting Never in the word's place for as long. An arrival in between that used the
// whole new count up was known to nobody then, and was made up for by the next one: a window opened or
// closed one call late.
func (pl *Place) Take() uint64 {
	now := int64(pl.left().Load())
	taken := pl.armed - now
	pl.armed = now
	return uint64(max(taken, 0))
}

// Arm has the client asked at the nth arrival since Take.
// If threads have used a smaller count up already that nobody looked at, the next arrival asks, and all of
// them are taken then.
func (pl *Place) Arm(n uint64) {
	target := int64(min(n, Never))
	for {
		now := int64(pl.left().Load()) // threads count meanwhile
		since := max(pl.armed-now, 0)
		want := target - since
		if want <= 0 {
			if now <= 0 { // who got there asks
				return
			}
			want = 1
		}
		if now == want || pl.left().CompareAndSwap(uint64(now), uint64(want)) {
			pl.armed = want + since
			return
		}
	}
}

// Disarm ends the counting: nothing that arrives has anybody asked.
func (pl *Place) Disarm() {
	pl.left().Store(Never)
	pl.armed = Never
}

// Gone returns how many entries of a function whose returns are counted were left
// otherwise: by longjmp, an exception, or the end of their thread. It is known when the
// next function below returns.
func (pl *Place) Gone() uint64 { return pl.word(layout.PlaceGone).Load() }

// left is the word that code counts down.
func (pl *Place) left() *atomic.Uint64 { return pl.word(layout.PlaceLeft) }

// word is one of the place's words.
func (pl *Place) word(off int) *atomic.Uint64 {
	return pl.p.shm.Ctl.U64(pl.offset() + off)
}

// offset is where the place lies in the control area.
func (pl *Place) offset() int { return layout.PlaceTable + pl.index*layout.PlaceSize }

// arrive counts one arrival by the tracer and tells whether the count ran out.
// It is for arrivals in native code, where a probe stops the thread.
func (pl *Place) arrive() bool { return pl.left().Add(^uint64(0)) == 0 }

// again leaves what made the count run out to the next arrival, unless the place
// was armed anew meanwhile. Others may have arrived since, below zero.
func (pl *Place) again() {
	for {
		n := pl.left().Load()
		if int64(n) > 0 || pl.left().CompareAndSwap(n, 1) {
			return
		}
	}
}

// newPlace gives out the next entry of the table of places. Entries are never used again:
// a thread may still be on its way through the code that counts.
func (p *Process) newPlace(addr uint64, returns bool) (*Place, error) {
	if len(p.places) == layout.MaxPlaces {
		return nil, fmt.Errorf("function at %#x: %w", addr, errPlaces)
	}
	pl := &Place{p: p, index: len(p.places), addr: addr, returns: returns, armed: Never}
	p.places = append(p.places, pl)
	pl.left().Store(Never)
	pl.word(layout.PlaceCode).Store(0)
	pl.word(layout.PlaceGone).Store(0)
	return pl, nil
}

// placesOf is what is counted at an address, made if nothing is yet.
func (p *Process) placesOf(addr uint64) *placesAt {
	at := p.placeAt[addr]
	if at == nil {
		at = &placesAt{}
		p.placeAt[addr] = at
	}
	return at
}

// probePlace puts a native probe at a watched function, if the process runs
// natively.
func (p *Process) probePlace(addr uint64) error {
	if p.mode == ModeNative {
		return p.addProbe(addr)
	}
	return nil
}

// Unwatch stops watching the function at addr: nothing that happens there matters any
// more.
// Its places keep their numbers and count nothing any more.
func (p *Process) Unwatch(addr uint64) {
	at := p.placeAt[addr]
	if at == nil {
		return
	}
	if at.entry, at.returns, at.within = nil, nil, nil; at.capture == nil {
		delete(p.placeAt, addr)
	}
	p.watch(addr)
	p.removeIdleProbe(addr)
}

// reached tells the client that a place's count ran out in a thread that is
// stopped or waits. at is the application's next address.
// The client may arm the place anew, open a window, or both.
func (tr *Tracer) reached(t *Thread, pl *Place, at uint64) {
	if t.vfork { // its calls are not the program's: it is left for who comes next
		pl.again()
		return
	}
	t.p.client.Reached(t, pl, at)
	t.p.readyToggle(t)
}

// placeEntered answers a thread that waits because the count of an entry ran out.
// It goes on behind the counting, or the arrival would count twice.
func (tr *Tracer) placeEntered(t *Thread) error {
	pl := t.p.places[t.slot.U32(layout.Place).Load()]
	tr.reached(t, pl, pl.addr)
	return tr.answerPast(t, pl.addr, codecache.Counted)
}

// placeReturned answers a thread that waits because the count of a function's returns
// ran out; the return has been executed.
func (tr *Tracer) placeReturned(t *Thread) error {
	site := t.slot.Get(layout.ReqArg)
	tr.reached(t, t.p.places[t.slot.U32(layout.Place).Load()], site)
	return tr.answer(t, site, true)
}

// hitProbe tells whether a held signal is that of a native probe, and takes the
// thread back to it. The probe may have been taken away since.
func (p *Process) hitProbe(regs *sys.Regs, h *heldSignal) bool {
	if !h.breakpoint() {
		return false
	}
	at := regs.Rip - 1
	if p.probeHitAt(at, regs) {
		return true
	}
	if p.gone(at) {
		regs.Rip = at
		return true
	}
	return false
}

// answerPast lets a thread that waits go on at app, whose arrival has been
// counted as how says.
func (tr *Tracer) answerPast(t *Thread, app uint64, how codecache.Entry) error {
	if how == codecache.BackEdge && t.p.cache.Watched[app] {
		t.p.client.Notified(t, app, NotifiedRegs{t.slot.Get(layout.Save + 4*8), t.slot.Get(layout.Save + 7*8)})
	}
	if tr.modeDiffers(t) {
		return tr.switchWaiting(t, app, how)
	}
	code := t.p.codeFor(app, t.variant, how)
	if code == 0 {
		return tr.leaveAt(t, app)
	}
	tr.reply(t, code)
	return nil
}

// codeFor returns where the translation of app begins, made if there is none, for an
// arrival that has been counted so far. It is 0 if there is no code at app.
func (p *Process) codeFor(app uint64, v codecache.Variant, how codecache.Entry) uint64 {
	b := p.cache.BlockOf(app, v)
	if b == nil {
		b = p.translator.Translate(app, v)
	}
	if b == nil {
		return 0
	}
	return b.At(how)
}

// returnedNatively counts the return of a thread that ran natively and is about to
// execute addr, if that is where it returned to.
func (tr *Tracer) returnedNatively(t *Thread, addr, rsp uint64) {
	if t.p.sites[addr] == 0 {
		return
	}
	if pl := t.popFrame(addr, rsp); pl != nil && pl.arrive() {
		tr.reached(t, pl, addr)
	}
}

// enteredNatively counts, for a thread that is about to execute addr natively, what
// translated code would count there.
func (tr *Tracer) enteredNatively(t *Thread, addr, rsp uint64, how codecache.Entry) {
	p := t.p
	at := p.placeAt[addr]
	switch {
	case at == nil || how == codecache.Counted:
		return
	case how == codecache.BackEdge:
		if at.within != nil && at.within.arrive() {
			tr.reached(t, at.within, addr)
		}
		return
	}
	if p.translator.Awaits {
		t.dropDead(rsp)
	}
	if at.returns != nil {
		tr.threadError(t, t.pushFrame(at.returns, rsp))
	}
	if at.entry != nil && at.entry.arrive() {
		tr.reached(t, at.entry, addr)
	}
}
