package engine

import (
	"errors"
	"fmt"
	"slices"

	"alleria/engine/codecache"
	"alleria/engine/tracee"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// forget replaces translations by exits that dispatch for others.
func (p *Process) forget(dead []*codecache.Block) {
	var stood []*Thread
	if slices.ContainsFunc(dead, func(b *codecache.Block) bool { return !b.Idles() }) {
		stood = p.standStill(dead)
	}
	for _, b := range dead {
		if b.Is(codecache.HasCounts) && !b.Is(codecache.Dead) {
			p.toggle.Stop() // it may lead behind the entry
		}
		p.cache.Kill(b)
	}
	for _, t := range stood {
		if t.tracee.Holds() {
			t.failed(t.switchStopped())
			continue
		}
		t.failed(t.run(0))
	}
}

// standStill stops the threads that run in the cache outside of the bytes that
// kill is about to overwrite, and returns those that it stopped. A thread that
// waits for the tracer is not there; one alone waits.
//
// The refused alternative pads every block so that one aligned store can
// replace an instruction of five bytes at its entry: that makes all code larger
// for the sake of what is rare.
func (p *Process) standStill(dead []*codecache.Block) []*Thread {
	var stood []*Thread
	for _, t := range p.running() {
		if t.tracee.Stopped || t.native || t.vforking || t.slot.U32(layout.Req).Load() != 0 {
			continue
		}
		regs, err := t.tracee.Halt()
		for err == nil && codecache.Overwritten(dead, regs.Rip) {
			if err = t.step(); err == nil {
				err = t.tracee.GetRegs(regs)
			}
		}
		if err != nil {
			t.failed(err)
			continue
		}
		stood = append(stood, t)
	}
	return stood
}

// stale replaces a block whose code has changed.
// Another thread may have asked first.
func (p *Process) stale(b *codecache.Block) {
	if !b.Is(codecache.Dead) {
		p.code.Changed(b.App)
		p.forget([]*codecache.Block{b})
	}
}

// renew forgets all of a process's translations where its cache is crowded, and uses the memory again. All threads that are in the
// cache are taken out of it, as when the mode changes. It is put off while one cannot be: within vfork, with something else to report, or
// just being born, in the translation of the call that made it.
func (tr *Tracer) renew(p *Process) {
	for _, t := range p.running() {
		if t.vforking || t.calls.Awaits() && !t.native {
			return
		}
	}
	p.toggle.Stop()
	out, all := p.takeOut(func(t *Thread) bool { return t.native })
	if all && !tr.births.Any(func(k told) bool { return k.parent == nil || k.by(p) }) {
		for _, t := range p.running() {
			t.counts.Keep(t.recovery.Partial())
		}
		p.cache.Renew()
		p.from, p.tookOver = nil, true
		p.code.DropAside()
		p.translator.Entries.Forget()
		p.stats.Renewed++
	}
	p.putBack(out)
}

// takenOut is a thread that was taken out of the cache, and its registers.
type takenOut struct {
	t    *Thread
	regs *sys.Regs
}

// takeOut takes all threads out of the cache but those that are ending and those that skip tells of; all: none could not be.
func (p *Process) takeOut(skip func(*Thread) bool) (out []takenOut, all bool) {
	all = true
	for _, t := range p.running() {
		if t.tracee.Ending || skip(t) {
			continue
		}
		regs, err := t.tracee.Halt()
		if err == nil {
			var none tracee.Signal
			err = t.toSafePoint(regs, &none)
		}
		switch {
		case err == nil:
			out = append(out, takenOut{t, regs})
		case errors.Is(err, tracee.ErrEnded) || sys.Gone(err):
		case errors.Is(err, tracee.ErrBusy):
			all = false
		default:
			t.failed(err)
			all = false
		}
	}
	return out, all
}

// putBack has them go on there.
func (p *Process) putBack(out []takenOut) {
	for _, o := range out {
		o.t.failed(o.t.enter(o.regs, 0))
	}
}

// checkCode forgets what was translated from code that is not there any more, before t goes on in the cache. It is
// done for each thread that comes back and has run since it was done last: what a thread changed natively in between it may be about to execute.
func (p *Process) checkCode(t *Thread) {
	others := slices.ContainsFunc(p.running(), func(o *Thread) bool { return o != t && o.native && !o.vfork && !o.tracee.Ending })
	if !p.code.Check(t.unseen, others) {
		return
	}
	for _, o := range p.running() {
		o.unseen = o != t && o.native && !o.tracee.Stopped
	}
}

// Ours tells whether an address belongs to the mappings that the tracer made.
func (p *Process) Ours(addr uint64) bool { return p.ours(addr) }

// ours tells whether an address belongs to the mappings that the tracer made.
func (p *Process) ours(addr uint64) bool {
	if p.shm.Holds(addr) {
		return true
	}
	for _, a := range p.cache.Regions {
		if a.Contains(addr) {
			return true
		}
	}
	return p.points.HoldsRegion(addr)
}

// errUnmapped says that a program has unmapped memory of ours, as some do with all that they do not know.
var errUnmapped = errors.New("the program has unmapped memory that tracing needs (it can be recorded up to there, with a window that closes before)")

// lostOurs tells a fault of ours at memory of ours that is not mapped any more. A program's own wild pointer finds
// something there, which it may not use.
func (p *Process) lostOurs(h *tracee.Signal) bool {
	const notMapped = 1 // SEGV_MAPERR
	return h.Number == tracee.SIGSEGV && h.Info.Code() == notMapped && p.ours(h.Info.Addr())
}

// codeOwner is a process as what is known of its code sees it.
type codeOwner struct{ p *Process }

func (o codeOwner) Ours(addr uint64) bool             { return o.p.ours(addr) }
func (o codeOwner) Unprobed(page []byte, addr uint64) { o.p.points.Unprobed(page, addr) }
func (o codeOwner) Forget(dead []*codecache.Block)    { o.p.forget(dead) }
func (o codeOwner) ImagesChanged()                    { o.p.client.ImagesChanged(o.p) }

// Fetched has images be unknown whose code is not that of their files any more.
func (o codeOwner) Fetched(page []byte, addr uint64) {
	o.p.written.Compare(o.p.pid, o.p.code.Mapping(addr), addr, page)
}

// ReadPage reads a page as it is without breakpoints of ours.
func (o codeOwner) ReadPage(b []byte, addr uint64) error {
	if _, err := o.p.mem.ReadAt(b, int64(addr)); err != nil {
		return fmt.Errorf("code at %#x: %w", addr, err)
	}
	o.p.points.Unprobed(b, addr)
	return nil
}

// Mapped makes translations known of images that are there now.
func (o codeOwner) Mapped(maps []sys.Mapping) {
	o.p.written.NoteImages(o.p.pid, maps)
	o.p.takeImages()
}
