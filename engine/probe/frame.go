package probe

import (
	"encoding/binary"
	"fmt"

	"alleria/engine/shm"
	"alleria/internal/layout"
)

// Frames of awaited returns. Translated code pushes one at each entry of a
// function whose returns are counted and looks, at each return, whether the stack
// pointer has reached the innermost: by a subtraction and the sign, so that frames
// that were left by longjmp or an exception are found, too. Natively, where an
// entry is a stop anyway, the tracer does the same, and awaits the return by a
// probe at its site.
//
// The refused alternatives: a dispatch at each site, which costs a microsecond and
// has the code there translated anew the first time; swapping the return address,
// which the application sees.

// InitFrames empties a thread's stack of frames.
// The entry below all others has the highest stack pointer there is: nothing
// reaches it.
func InitFrames(s *shm.Slot) {
	none := int64(-layout.FrameNone)
	s.Set(layout.Top, 0)
	s.Set(layout.FrameSP, layout.FrameNone)
	s.Set(layout.Await, uint64(none))
	s.Set(layout.GoAwait, uint64(none))
}

// awaitReturn has returns look whether the stack pointer has reached sp.
func awaitReturn(s *shm.Slot, sp uint64) {
	if s.Get(layout.FramesG)&1 != 0 {
		s.Set(layout.Await, -sp)
	} else {
		s.Set(layout.GoAwait, -sp)
	}
}

// PushReturn notes that a thread has entered a function whose returns pl counts;
// rsp is where the return address lies.
func (p *Points) PushReturn(s *shm.Slot, pl *Counter, rsp uint64) error {
	var b [8]byte
	if _, err := p.mem.ReadAt(b[:], int64(rsp)); err != nil {
		return nil // not a call: it cannot return
	}
	site := binary.LittleEndian.Uint64(b[:])
	pushReturn(s, rsp, site, uint16(pl.index))
	if p.host.Native() {
		return p.addSite(pl, site)
	}
	return nil
}

// AwaitedAt is the stack pointer of a slot's innermost frame.
func AwaitedAt(s *shm.Slot) uint64 { return s.Get(layout.FrameSP + 8*int(uint16(s.Get(layout.Top)))) }

// pushReturn pushes a frame.
func pushReturn(s *shm.Slot, sp, site uint64, place uint16) {
	top := uint16(s.Get(layout.Top)) + 1
	s.Set(layout.FrameSP+8*int(top), sp)
	s.Set(layout.FrameSite+8*int(top), site)
	s.SetU16(layout.FramePlace+2*int(top), place)
	s.Set(layout.Top, uint64(top))
	awaitReturn(s, sp)
}

// PopReturns drops the frames that a thread has left which has come to site with
// the stack pointer rsp, and returns what counts the innermost that returned
// there, nil if none did.
//
// A frame has been left if the stack pointer is above where its return address lay, by
// whatever way. Those that were passed on the way are dropped without counting.
func (p *Points) PopReturns(s *shm.Slot, site, rsp uint64) *Counter {
	var found *Counter
	for {
		top := int(uint16(s.Get(layout.Top)))
		sp := s.Get(layout.FrameSP + 8*top)
		if sp >= rsp {
			awaitReturn(s, sp)
			return found
		}
		at := s.Get(layout.FrameSite + 8*top)
		// A return may take arguments off the stack, 65535 bytes at most. Its address lies there still if it did not.
		pl := p.counters[s.GetU16(layout.FramePlace+2*top)]
		switch here := at == site && rsp-sp <= 8+1<<16 && (rsp-sp != 8 || p.ByReturn(site, sp)); {
		case !here:
			pl.Word(layout.PlaceGone).Add(1)
		case found == nil:
			found = pl
		}
		s.Set(layout.FrameSP+8*top, layout.FrameNone)
		s.Set(layout.Top, uint64(uint16(top-1)))
		p.dropSite(at)
	}
}

// DropDeadReturns drops the frames that a thread has left which has natively come to a
// function's entry with the stack pointer rsp: nothing else tells natively that a
// function was left without a return. A frame at rsp itself lives where the function
// was entered by a jump from the one that it is of.
func (p *Points) DropDeadReturns(s *shm.Slot, rsp uint64) {
	for {
		top := int(uint16(s.Get(layout.Top)))
		sp, site := s.Get(layout.FrameSP+8*top), s.Get(layout.FrameSite+8*top)
		if sp > rsp {
			return
		}
		var b [8]byte
		if sp == rsp {
			if _, err := p.mem.ReadAt(b[:], int64(rsp)); err != nil || binary.LittleEndian.Uint64(b[:]) == site {
				return
			}
		}
		p.counters[s.GetU16(layout.FramePlace+2*top)].Word(layout.PlaceGone).Add(1)
		s.Set(layout.FrameSP+8*top, layout.FrameNone)
		s.Set(layout.Top, uint64(uint16(top-1)))
		awaitReturn(s, s.Get(layout.FrameSP+8*int(uint16(top-1))))
		p.dropSite(site)
	}
}

// AbandonReturns counts the functions that a thread is in when it ends. Those of a goroutine go on elsewhere, and so may those on a stack that need not be the thread's.
func (p *Points) AbandonReturns(s *shm.Slot) {
	p.TurnTo(s, layout.OwnStack, 0)
	if p.Stacks() {
		p.captures.goroutines.putAway(s)
		setFrames(s, layout.OwnStack, 0, parkedFrames{})
	}
	p.eachFrame(s, func(f returnFrame) { f.of.Word(layout.PlaceGone).Add(1) })
	InitFrames(s)
}

// returnFrame is one of a thread's frames: where its return address lies, where it returns to, and what counts that.
type returnFrame struct {
	sp, site uint64
	of       *Counter
}

// eachFrame calls f for a thread's frames, from the innermost.
func (p *Points) eachFrame(s *shm.Slot, f func(returnFrame)) {
	eachReturn(s, func(r savedReturn) { f(returnFrame{r.sp, r.site, p.counters[r.place]}) })
}

// eachReturn is eachFrame for them as they lie in the slot.
func eachReturn(s *shm.Slot, f func(savedReturn)) {
	top := uint16(s.Get(layout.Top))
	for range layout.FrameMax {
		sp := s.Get(layout.FrameSP + 8*int(top))
		if sp >= layout.FrameNone {
			return
		}
		f(savedReturn{sp, s.Get(layout.FrameSite + 8*int(top)), s.GetU16(layout.FramePlace + 2*int(top))})
		top--
	}
}

// addSite awaits a native return at an address.
// Several frames may return to one site: it is counted how many.
//
// What lies at the stack pointer need not be a return address: a function may be jumped
// to, and a program's first one finds the number of its arguments. A breakpoint is only
// written where code is.
func (p *Points) addSite(pl *Counter, site uint64) error {
	p.captures.goSite(p.at[pl.addr].ofGoroutine(), site)
	if !p.code.Executable(site) {
		if p.code.Remapped(); !p.code.Executable(site) { // natively, mappings come unnoticed
			return nil
		}
	}
	p.sites[site]++
	if err := p.Add(site); err != nil {
		return fmt.Errorf("awaited return: %w", err)
	}
	return nil
}

// awaited tells whether a native return is awaited at an address.
func (p *Points) awaited(site uint64) bool { return p.sites[site] > 0 || p.captures.sites[site] }

// dropSite undoes addSite once.
func (p *Points) dropSite(site uint64) {
	n := p.sites[site]
	if n == 0 {
		return // pushed in the cache
	}
	if n > 1 {
		p.sites[site] = n - 1
		return
	}
	delete(p.sites, site)
	p.RemoveIdle(site)
}

// placeSites awaits natively what was awaited in the cache. Threads may run natively
// already: what they await stays in place.
func (p *Points) placeSites(slots []*shm.Slot) error {
	old := p.sites
	p.sites = make(map[uint64]int)
	var err error
	if p.translator.Awaits {
		for _, s := range slots {
			p.eachFrame(s, func(f returnFrame) {
				if !p.returnsTo(f.sp, f.site) {
					return
				}
				if e := p.addSite(f.of, f.site); err == nil {
					err = e
				}
			})
		}
		p.captures.goroutines.parkedReturns(func(f savedReturn) {
			if e := p.addSite(p.counters[f.place], f.site); err == nil {
				err = e
			}
		})
	}
	for site := range old {
		p.RemoveIdle(site)
	}
	return err
}
