package probe

import (
	"encoding/binary"

	"alleria/engine/shm"
	"alleria/internal/layout"
)

// Frames of intercepted calls: as those of awaited returns (frame.go), but with what is saved for the return, and on a stack of
// their own. The innermost is at CaptureTop. A frame has been left once the stack pointer is above where its return
// address lies. Who has returned is told by the address as well: the stack pointer is right behind where it lay. All frames of which
// that holds return together, since one has tail-called the other; others have been left by longjmp or an exception, and
// are dropped without a word: whoever reads calls sees it by the next one's place on the stack.
//
// At an entry frames below the stack pointer are dropped, and one of the same function at the very same place: a loop that
// calls what is left by an exception each time would pile them up. A function that jumps to its own entry is taken for that.

// Frame is one of a thread's frames.
type Frame struct {
	s   *shm.Slot
	off int // in the slot
}

// frameAt is the frame at a distance from the first one.
func frameAt(s *shm.Slot, top uint64) Frame {
	const size = layout.CaptureFrame * layout.CaptureMax
	return Frame{s, layout.CaptureFrames + int(top&(size-1))}
}

func (f Frame) Sp() uint64   { return f.s.Get(f.off + layout.CaptureSP) }
func (f Frame) Site() uint64 { return f.s.Get(f.off + layout.CaptureSite) }

// Save is a value that was saved at entry.
func (f Frame) Save(i int) uint64 { return f.s.Get(f.off + layout.CaptureSaves + 8*i) }

func (f Frame) SetSave(i int, v uint64) { f.s.Set(f.off+layout.CaptureSaves+8*i, v) }

// Of is the function that a frame is of; nil if it is not intercepted any more.
func (f Frame) Of(p *Points) *Interception {
	n := f.s.Get(f.off + layout.CapturePoint)
	if n >= uint64(len(p.captures.points)) {
		return nil
	}
	if c := p.captures.points[n]; c.Armed {
		return c
	}
	return nil
}

// isOf tells whether a frame is of the function at entry, by whatever program.
func (f Frame) isOf(p *Points, entry uint64) bool {
	n := f.s.Get(f.off + layout.CapturePoint)
	return n < uint64(len(p.captures.points)) && p.captures.points[n].Entry == entry
}

// InitCaptureFrames empties a thread's stack of frames, and makes its slot known to code as one.
func InitCaptureFrames(s *shm.Slot) {
	s.Set(layout.CaptureTop, 0)
	s.Set(layout.CaptureFrames+layout.CaptureSP, layout.FrameNone)
	emptyFrames(s)
	setFrames(s, layout.OwnStack, 0, parkedFrames{})
	NotScheduler(s, layout.OwnStack)
	s.Set(layout.CaptureOurs, layout.CaptureMagic)
	s.Set(layout.CaptureSlow, 0)
}

// TopFrame is the thread's innermost frame.
func TopFrame(s *shm.Slot) Frame { return frameAt(s, s.Get(layout.CaptureTop)) }

// PushCapture pushes a frame, with nothing saved yet.
func PushCapture(s *shm.Slot, c *Interception, sp, site uint64) Frame {
	f, top := nextFrame(s)
	s.Set(f.off+layout.CaptureSite, site)
	s.Set(f.off+layout.CapturePoint, uint64(c.number))
	setTop(s, f, top, sp)
	return f
}

// nextFrame is the one that is pushed next, and its distance from the first.
func nextFrame(s *shm.Slot) (Frame, uint64) {
	top := (s.Get(layout.CaptureTop) + layout.CaptureFrame) & (layout.CaptureFrame*layout.CaptureMax - 1)
	return frameAt(s, top), top
}

// setTop makes a frame the innermost.
func setTop(s *shm.Slot, f Frame, top, sp uint64) {
	s.Set(f.off+layout.CaptureSP, sp)
	s.Set(layout.CaptureTop, top)
	await(s, sp)
}

// await has returns look whether the stack pointer has reached sp.
func await(s *shm.Slot, sp uint64) {
	if s.Get(layout.FramesG)&1 != 0 {
		s.Set(layout.CaptureAwait, -sp)
	} else {
		s.Set(layout.CaptureGoAwait, -sp)
	}
}

// DropFrame drops the innermost frame.
func DropFrame(s *shm.Slot) {
	top := s.Get(layout.CaptureTop)
	s.Set(frameAt(s, top).off+layout.CaptureSP, layout.FrameNone)
	top = (top - layout.CaptureFrame) & (layout.CaptureFrame*layout.CaptureMax - 1)
	s.Set(layout.CaptureTop, top)
	await(s, frameAt(s, top).Sp())
}

// DropDeadFrames drops what a thread has left that enters c with the stack pointer rsp.
func (p *Points) DropDeadFrames(s *shm.Slot, c *Interception, rsp uint64) {
	for {
		f := TopFrame(s)
		switch sp := f.Sp(); {
		case sp < rsp:
		case sp == rsp && f.isOf(p, c.Entry):
		default:
			return
		}
		DropFrame(s)
	}
}

// eachCapture calls f for a thread's frames, from the innermost.
func eachCapture(s *shm.Slot, f func(Frame)) {
	top := s.Get(layout.CaptureTop)
	for range layout.CaptureMax {
		c := frameAt(s, top)
		if c.Sp() >= layout.FrameNone {
			return
		}
		f(c)
		top -= layout.CaptureFrame
	}
}

// CatchAt has native returns of c to site caught from now on. Where they were already, other memory may be there by now: a library that natively went and
// came again.
func (p *Points) CatchAt(c *Interception, site uint64) error {
	p.captures.goSite(c != nil && c.Prog.Goroutine, site)
	if p.Lost(site, site+1); p.captures.sites[site] {
		p.noteSite(site) // others may have taken its place
		return nil
	}
	if !p.code.Executable(site) {
		if p.code.Remapped(); !p.code.Executable(site) { // natively, mappings come unnoticed
			return nil
		}
	}
	if p.captures.sites == nil {
		p.captures.sites = make(map[uint64]bool)
	}
	p.captures.sites[site] = true
	if err := p.Add(site); err != nil {
		return err
	}
	// Not before the int3 lies there: code of other threads that finds the site in the table leaves the return to it.
	p.noteSite(site)
	return nil
}

// CatchTop is CatchAt of a thread's innermost frame.
func (p *Points) CatchTop(s *shm.Slot) error {
	f := TopFrame(s)
	return p.CatchAt(f.Of(p), f.Site())
}

// placeCaptureSites catches natively the returns of calls that began in the cache, and goes on
// with those that were caught before. Those that lay in memory that is gone are not among them (forgetSites).
func (p *Points) placeCaptureSites(slots []*shm.Slot) error {
	var err error
	note := func(e error) {
		if err == nil {
			err = e
		}
	}
	for _, s := range slots {
		eachCapture(s, func(f Frame) {
			if c := f.Of(p); c != nil && p.returnsTo(f.Sp(), f.Site()) {
				note(p.CatchAt(c, f.Site()))
			}
		})
	}
	p.captures.goroutines.parkedSites(func(point uint32, site uint64) { // whose stack pointers may be others by now
		if c := p.Interception(point); c != nil && c.Armed {
			note(p.CatchAt(c, site))
		}
	})
	for site := range p.captures.sites {
		if _, ok := p.probes.get(site); ok { // nothing to be read of most
			continue
		}
		if p.Lost(site, site+1); p.captures.sites[site] {
			note(p.Add(site))
		}
	}
	return err
}

// returnsTo tells whether the return address of a frame still lies where it lay: not where the function was left by longjmp or an exception, and the
// stack used for something else. Its site may be in memory that is gone then.
func (p *Points) returnsTo(sp, site uint64) bool {
	at, ok := p.ReturnAddress(sp)
	return ok && at == site
}

// forgetSites forgets return sites in [start, end), where code of others is or none.
func (p *Points) forgetSites(start, end uint64) {
	for site := start; site < end && len(p.captures.sites) > 0; site++ {
		if p.captures.sites[site] {
			delete(p.captures.sites, site)
			p.dropNoted(site)
		}
	}
}

// dropCaptureSites gives the application's code back where returns were caught.
func (p *Points) dropCaptureSites() {
	old := p.captures.sites
	p.captures.sites = nil
	p.dropSites()
	for site := range old {
		p.RemoveIdle(site)
	}
}

// NoSite is where nothing returns to: no address of a program.
const NoSite = 1 << 63

// ByReturn tells whether a thread that has natively come to site may have done so by a return whose address lay at sp, right below its stack pointer. A return
// leaves it there, and no signal handler overwrites it, since the kernel keeps away from the 128 bytes below the stack pointer. Who gets to the same place by a jump
// has mostly called something from there since, whose return address lies there now: a catch block ends so, after its calls of __cxa_begin_catch and __cxa_end_catch.
func (p *Points) ByReturn(site, sp uint64) bool {
	at, ok := p.ReturnAddress(sp)
	return !ok || at == site
}

// ReturnAddress reads what lies at the stack pointer; false: nothing, so that what was entered there cannot return.
func (p *Points) ReturnAddress(rsp uint64) (uint64, bool) {
	var b [8]byte
	_, err := p.mem.ReadAt(b[:], int64(rsp))
	return binary.LittleEndian.Uint64(b[:]), err == nil
}
