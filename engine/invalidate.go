package engine

import (
	"bytes"
	"fmt"
	"os"
	"strings"

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

// Code also changes by calls that say nothing of code: advice that drops a private mapping's pages, so that the file's
// come back, and writes to a process's own memory as a file.

const (
	sysWrite    = 1
	sysPwrite64 = 18
	sysWritev   = 20
	sysOpenat   = 257
	sysPwritev  = 296
	sysPwritev2 = 328

	madvDontNeed = 4
	madvFree     = 8
	madvRemove   = 9
)

// forgets tells advice behind which memory may hold something else.
func forgets(advice uint64) bool {
	return advice == madvDontNeed || advice == madvFree || advice == madvRemove
}

// replaced notes that a stretch of memory may hold something else.
func (p *Process) replaced(addr, length uint64) {
	end := addr + (length+pageSize-1)&^(pageSize-1)
	p.lostProbes(addr, end)
	if p.hasCode(addr, end) {
		p.invalidate(addr, end)
	}
}

// opened looks whether the file whose path lies at an address, which has been opened, is a process's memory: what is written
// to files is looked at from then on.
func (p *Process) opened(path uint64) {
	var b [32]byte
	n, _ := p.mem.ReadAt(b[:], int64(path))
	text, _, _ := bytes.Cut(b[:n], []byte{0})
	if !bytes.HasPrefix(text, []byte("/proc/")) || !bytes.HasSuffix(text, []byte("/mem")) {
		return
	}
	for _, nr := range []uint32{sysWrite, sysPwrite64, sysWritev, sysPwritev, sysPwritev2} {
		p.special[int(nr)] = layout.SyscallNotify
		p.setCallTable(nr)
	}
}

// wroteFile notes what was written to a descriptor, if that is a process's memory: code that lies there is forgotten.
func (p *Process) wroteFile(fd, at, n uint64) {
	file, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", p.pid, fd))
	if err == nil && strings.HasPrefix(file, "/proc/") && strings.HasSuffix(file, "/mem") {
		p.replaced(at, n)
	}
}
