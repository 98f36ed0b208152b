package probe

import (
	"errors"
	"fmt"
	"sync/atomic"

	"alleria/engine/shm"
	"alleria/internal/layout"
)

// Never is a count that no counter reaches.
const Never = 1 << 62

// Counter is a function's entry, or its returns, whose executions translated code
// counts by itself: the client is asked when as many have come as it said. The
// count is one for all threads.
//
// The refused alternative, one count a thread, needs no locked instruction (6 ns
// here), but a threshold over several threads would have to be dealt out in
// shares that shrink to single calls, each of which asks.
//
// The count lies in the control area, where every thread reaches it. It is exact: each
// entry takes one off by a locked instruction, and the one that gets to zero asks.
type Counter struct {
	ctl     *shm.Control
	index   int
	addr    uint64
	Returns bool
	armed   int64 // what Left was set to
}

// point is what is counted at an address, and the function that begins there.
type point struct {
	entry, returns, within *Counter
	capture                *Interception
	function               []Extent // none: not known to be a function's first instruction
	looked, loops          bool     // see Points.loops
	inGo, goroutine        bool     // it is written in Go; and its calls belong to goroutines
}

// errCounters means that too many counters are watched.
var errCounters = errors.New("too many watched functions")

// Entries returns the counter that counts entries at addr, but those by jumps from within the
// function that begins there (see SetExtent). It is not armed.
// The same counter is returned for the same address. Errors: too many counters, or code
// that cannot be read.
func (p *Points) Entries(addr uint64) (*Counter, error) {
	at := p.pointAt(addr)
	if at.entry == nil {
		pl, err := p.newCounter(addr, false)
		if err != nil {
			return nil, err
		}
		at.entry = pl
		p.watch(addr)
	}
	return at.entry, p.probeNatively(addr)
}

// Returns returns the counter that counts the returns of the function at entry. It
// is not armed.
//
// A return counts for the innermost entry that is left by it: a function that is left by
// longjmp or an exception has not returned, see frame.go.
func (p *Points) Returns(entry uint64) (*Counter, error) {
	at := p.pointAt(entry)
	if at.returns == nil {
		p.returnsOfGo(entry, at)
		pl, err := p.newCounter(entry, true)
		if err != nil {
			return nil, err
		}
		at.returns = pl
		p.AwaitReturns()
		p.watch(entry)
	}
	return at.returns, p.probeNatively(entry)
}

// Within returns the counter that counts what Entries leaves out. It is not armed.
func (p *Points) Within(addr uint64) (*Counter, error) {
	at := p.pointAt(addr)
	if at.within == nil {
		pl, err := p.newCounter(addr, false)
		if err != nil {
			return nil, err
		}
		at.within = pl
		p.watch(addr)
	}
	return at.within, p.probeNatively(addr)
}

// AwaitReturns makes every return that is translated from now on look whether it
// is awaited. Where it is known early that Returns will be called, it saves
// translating everything anew then.
func (p *Points) AwaitReturns() {
	if p.translator.Awaits {
		return
	}
	p.translator.Awaits = true
	p.host.Invalidate(0, 1<<47)
}

// Addr is the address of the function.
func (pl *Counter) Addr() uint64 { return pl.addr }

// Take returns how many entries there were since Arm or the last Take. The count goes on meanwhile: a
// thread that gets to zero between Take and Arm asks, as ever.
//
// Refused: putting Never in the word's place for as long. An entry in between that used the
// whole new count up was known to nobody then, and was made up for by the next one: a window opened or
// closed one call late.
func (pl *Counter) Take() uint64 {
	now := int64(pl.left().Load())
	taken := pl.armed - now
	pl.armed = now
	return uint64(max(taken, 0))
}

// Arm has the client asked at the nth entry since Take.
// If threads have used a smaller count up already that nobody looked at, the next entry asks, and all of
// them are taken then.
func (pl *Counter) Arm(n uint64) {
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

// SetArmed notes that code has set the count to n.
func (pl *Counter) SetArmed(n uint64) { pl.armed = int64(n) }

// Disarm ends the counting: nothing that arrives has anybody asked.
func (pl *Counter) Disarm() {
	pl.left().Store(Never)
	pl.armed = Never
}

// Gone returns how many entries of a function whose returns are counted were left
// otherwise: by longjmp, an exception, or the end of their thread. It is known when the
// next function below returns.
func (pl *Counter) Gone() uint64 { return pl.Word(layout.PlaceGone).Load() }

// left is the word that code counts down.
func (pl *Counter) left() *atomic.Uint64 { return pl.Word(layout.PlaceLeft) }

// Word is one of the counter's words.
func (pl *Counter) Word(off int) *atomic.Uint64 {
	return pl.ctl.U64(pl.Offset() + off)
}

// Offset is where the counter lies in the control area.
func (pl *Counter) Offset() int { return layout.PlaceTable + pl.index*layout.PlaceSize }

// Count counts one entry by the tracer and tells whether the count ran out.
// It is for entries in native code, where a probe stops the thread.
func (pl *Counter) Count() bool { return pl.left().Add(^uint64(0)) == 0 }

// Retry leaves what made the count run out to the next entry, unless the counter
// was armed anew meanwhile. Others may have arrived since, below zero.
func (pl *Counter) Retry() {
	for {
		n := pl.left().Load()
		if int64(n) > 0 || pl.left().CompareAndSwap(n, 1) {
			return
		}
	}
}

// newCounter gives out the next entry of the table of counters. Entries are never used again:
// a thread may still be on its way through the code that counts.
func (p *Points) newCounter(addr uint64, returns bool) (*Counter, error) {
	if len(p.counters) == layout.MaxPlaces {
		return nil, fmt.Errorf("function at %#x: %w", addr, errCounters)
	}
	pl := NewCounter(p.shm.Ctl, len(p.counters), addr, returns)
	p.counters = append(p.counters, pl)
	return pl, nil
}

// NewCounter makes an entry of the table of counters one that counts entries at addr, or returns of the function there. It is not armed.
func NewCounter(ctl *shm.Control, index int, addr uint64, returns bool) *Counter {
	pl := &Counter{ctl: ctl, index: index, addr: addr, Returns: returns, armed: Never}
	pl.left().Store(Never)
	pl.Word(layout.PlaceCode).Store(0)
	pl.Word(layout.PlaceGone).Store(0)
	return pl
}

// pointAt is what is counted at an address, made if nothing is yet.
func (p *Points) pointAt(addr uint64) *point {
	at := p.at[addr]
	if at == nil {
		at = &point{}
		p.at[addr] = at
	}
	return at
}

// probeNatively puts a native probe at a watched function, if the process runs
// natively.
func (p *Points) probeNatively(addr uint64) error {
	if p.host.Native() {
		return p.Add(addr)
	}
	return nil
}

// Unwatch stops watching the function at addr: nothing that happens there matters any
// more.
// Its counters keep their numbers and count nothing any more.
func (p *Points) Unwatch(addr uint64) {
	at := p.at[addr]
	if at == nil {
		return
	}
	if at.entry, at.returns, at.within = nil, nil, nil; at.capture == nil {
		delete(p.at, addr)
	}
	p.watch(addr)
	p.RemoveIdle(addr)
}
