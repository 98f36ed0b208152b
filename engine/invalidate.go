package engine

import (
	"alleria/engine/asm"
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
	clear(p.stepped)
	p.code.last = nil
	for pg := range p.code.pages {
		if pg+pageSize > start && pg < end {
			delete(p.code.pages, pg)
		}
	}
	var dead []*block
	p.eachBlock(func(b *block) {
		if p.covers(b, start, end) {
			dead = append(dead, b)
		}
	})
	if len(dead) > 0 {
		p.forget(dead)
	}
}

// forget replaces translations by requests for others.
func (p *Process) forget(dead []*block) {
	stood := p.tr.standStill(p, dead)
	for _, b := range dead {
		p.kill(b)
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
func (tr *Tracer) standStill(p *Process, dead []*block) []*Thread {
	var stood []*Thread
	for _, t := range p.running() {
		if t.stopped || t.native || t.vforking || t.slot.u32(layout.Req).Load() != 0 {
			continue
		}
		regs, err := tr.halt(t)
		for err == nil && overwritten(dead, regs.Rip) {
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

// entryBytes is how much of a block kill overwrites: a jump.
const entryBytes = 5

// overwritten tells whether a thread at a cache address would go on in the
// middle of the jump that kill writes.
// At the entry itself the thread would execute the jump as a whole.
func overwritten(dead []*block, rip uint64) bool {
	for _, b := range dead {
		for how := fresh; how <= b.counting(); how++ {
			if rip-b.at(how)-1 < entryBytes-1 {
				return true
			}
		}
	}
	return false
}

// kill makes a block's entry lead to another translation, once there is one,
// and ask for it until then.
//
// The entry has room for the jump: finish sees to that. Whoever is behind the entry
// executes the rest of the old block and leaves it by its links. Jumps from within the function
// lead behind the counting, where the same is done.
func (p *Process) kill(b *block) {
	if b.dead {
		return
	}
	b.dead = true
	if s := p.slotAt(b.app, b.variant); s != nil && p.refTo(s.ref) == b {
		s.ref = forgotten
		if b.headed {
			p.noteHead(b.app, b.variant)
		}
	}
	if b.counts {
		p.stopToggling() // it may lead behind the entry
	}
	p.overwrite(b, fresh)
	if b.counts {
		p.overwrite(b, past)
		if b.inner != b.body {
			p.overwrite(b, within)
		}
	}
}

// overwrite writes, over the code where a block is entered, a jump to a request for another
// translation.
func (p *Process) overwrite(b *block, how arrival) {
	ar := p.areaAt(b.code)
	stub := asm.New(ar.mem[:ar.size], ar.base, ar.cold)
	stub.AlignRel32(1)
	at := stub.Here()
	site := stub.AddrOf(stub.JmpLater()) // to what follows
	n := p.newExit(exit{site: site, target: b.app, area: ar, v: b.variant, how: how})
	stub.StoreWordImm(askOff, uint32(n)+1)
	stub.Jmp(ar.base + ar.rt.request)
	ar.cold = (stub.Pos() + 7) &^ 7
	entry := asm.New(ar.mem, ar.base, int(b.at(how)-ar.base))
	entry.Jmp(at)
	if p.goneEntries == nil {
		p.goneEntries = make(map[uint64]struct{})
	}
	p.goneEntries[b.at(how)] = struct{}{}
}

// siteGone tells whether a branch's displacement lies in what overwrite has written over. A
// block may begin with a branch to what has not been translated yet: linked when that is, it would
// make of the jump there one to nowhere, or to where the branch led.
func (p *Process) siteGone(site uint64) bool {
	if len(p.goneEntries) == 0 {
		return false
	}
	for entry := site - entryBytes + 1; entry < site+4; entry++ {
		if _, ok := p.goneEntries[entry]; ok {
			return true
		}
	}
	return false
}
