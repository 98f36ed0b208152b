package engine

import (
	"alleria/engine/codecache"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// hasCode tells whether any block was translated from [start, end).
// Most mappings that programs change hold no code, and this is what it costs them.
func (p *Process) hasCode(start, end uint64) bool {
	for a := start &^ (pageSize - 1); a < end; a += pageSize {
		if _, ok := p.code.pages[a]; ok {
			return true
		}
		if len(p.code.pages) < int((end-a)/pageSize) { // a huge range: look from the other side
			for pg := range p.code.pages {
				if pg >= start&^(pageSize-1) && pg < end {
					return true
				}
			}
			return false
		}
	}
	return false
}

// invalidate forgets the code in [start, end) and every translation of it:
// each block's entry becomes a request for a new one. Threads that are inside
// such a block leave it at its end.
//
// Whole blocks are the unit, and pages of what was read; heads stay, since they lead to
// blocks' entries, which are what is overwritten.
func (p *Process) invalidate(start, end uint64) {
	clear(p.cache.Stepped)
	p.code.last = nil
	for pg := range p.code.pages {
		if pg+pageSize > start && pg < end {
			delete(p.code.pages, pg)
		}
	}
	var dead []*codecache.Block
	p.cache.EachBlock(func(b *codecache.Block) {
		if p.cache.Covers(b, start, end) {
			dead = append(dead, b)
		}
	})
	if len(dead) > 0 {
		p.forget(dead)
	}
}

// forget replaces translations by requests for others.
func (p *Process) forget(dead []*codecache.Block) {
	stood := p.tr.standStill(p, dead)
	for _, b := range dead {
		if b.Counts && !b.Dead {
			p.stopToggling() // it may lead behind the entry
		}
		p.cache.Kill(b)
	}
	for _, t := range stood {
		if len(t.held) > 0 {
			p.tr.threadError(t, p.tr.switchStopped(t))
			continue
		}
		p.tr.threadError(t, p.tr.resume(t, 0))
	}
}

// standStill stops the threads that run in the cache outside of the bytes that
// kill is about to overwrite, and returns those that it stopped. A thread that
// waits for the tracer is not there; one alone waits.
//
// The refused alternative pads every block so that one aligned store can
// replace an instruction of five bytes at its entry: that makes all code larger
// for the sake of what is rare.
func (tr *Tracer) standStill(p *Process, dead []*codecache.Block) []*Thread {
	var stood []*Thread
	for _, t := range p.running() {
		if t.stopped || t.native || t.vforking || t.slot.u32(layout.Req).Load() != 0 {
			continue
		}
		regs, err := tr.halt(t)
		for err == nil && codecache.Overwritten(dead, regs.Rip) {
			if err = tr.step(t); err == nil {
				err = sys.GetRegs(t.tid, regs)
			}
		}
		if err != nil {
			tr.threadError(t, err)
			continue
		}
		stood = append(stood, t)
	}
	return stood
}

// stale replaces a block whose code has changed.
// Another thread may have asked first.
func (p *Process) stale(b *codecache.Block) {
	if !b.Dead {
		p.forget([]*codecache.Block{b})
	}
}
