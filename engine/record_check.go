package engine

import (
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// checkEnd writes the check for the chunk's end where the flags are dead.
//
// It comes once a block: RingSlack is more than two of the largest records, so that a block
// that begins before End always fits.
func (r *recorder) checkEnd() {
	a := &r.u.asm
	a.gs(rexW, 0x3b, r.rec.ra, layout.End) // cmp ra, gs:End
	a.bytes(0x0f, 0x87)                    // ja
	site := a.pos
	a.u32(0)
	r.coldSwitch(site, a.here())
}

// checkByRCX writes the check with rb, which is rcx, and without flags: the
// sign of ra - End, extracted by pext, is 0 if the chunk is full.
func (r *recorder) checkByRCX() {
	u, a := r.u, &r.u.asm
	if !u.p.hasBMI2 {
		r.checkKeepingFlagsAt()
		return
	}
	// jrcxz is the one test that no flags are needed for, hence rcx.
	a.load(x86.RCX, layout.NegEnd)
	a.lea(x86.RCX, operand{x86.RCX, r.rec.ra, 1, 0})
	a.bytes(0x65, 0xc4, 0xe2, 0xf2, 0xf5, 0x0c, 0x25) // pext rcx, rcx, gs:[SignMask]
	a.u32(layout.SignMask)
	a.bytes(0xe3, 2) // jrcxz full
	a.bytes(0xeb, 5) // over the jump
	a.bytes(0xe9)    // full:
	site := a.pos
	a.u32(0)
	r.coldSwitch(site, a.here())
}

// checkKeepingFlags writes the check before the registers are borrowed: rax
// carries the flags.
// `add al, 127` sets the overflow flag from al being 1, sahf the others from ah.
func (r *recorder) checkKeepingFlags() {
	a := &r.u.asm
	a.store(spillF, x86.RAX)
	a.bytes(0x9f, 0x0f, 0x90, 0xc0) // lahf; seto al
	a.store(spillF+8, x86.RAX)
	a.load(x86.RAX, layout.Buf)
	a.gs(rexW, 0x3b, x86.RAX, layout.End)
	a.bytes(0x0f, 0x87)
	site := a.pos
	a.u32(0)
	back := a.here()
	a.load(x86.RAX, spillF+8)
	a.bytes(0x04, 0x7f, 0x9e) // add al, 127; sahf
	a.load(x86.RAX, spillF)
	r.u.cold = append(r.u.cold, coldStub{site, func(u *unit) {
		u.switchStub(switchKey{reg: x86.RAX}, back)
	}})
}

// checkKeepingFlagsAt is checkKeepingFlags with the registers borrowed already:
// ra holds the pointer and is loaded again by what follows.
func (r *recorder) checkKeepingFlagsAt() {
	a := &r.u.asm
	r.checkKeepingFlags()
	a.load(r.rec.ra, layout.Buf)
	if r.rec.ra == x86.RAX {
		return
	}
}

// coldSwitch writes, behind the unit, the change to the next chunk; back is
// where the block goes on, with ra at the record's new place.
// The words that are written already go along to the new chunk, for ra points there
// then.
func (r *recorder) coldSwitch(site int, back uint64) {
	words := r.words + 1
	// The check is not within a record: nothing is to be carried along.
	if r.check < 0 {
		words = 0
	}
	ra := r.rec.ra
	r.u.cold = append(r.u.cold, coldStub{site, func(u *unit) {
		u.switchStub(switchKey{ra, uint16(words), true}, back)
	}})
}

// switchKey is what the change to the next chunk depends on, but for where it goes on.
type switchKey struct {
	reg   x86.Reg // is free
	words uint16  // of the unfinished record, which go along
	load  bool    // reg is to point behind them afterwards
}

// switchStub writes the change to the next chunk, after which all other registers and the flags are
// as they were: 12 bytes for each block, and what they share once an area. A
// change whole for each block was a tenth of the cache.
func (u *unit) switchStub(k switchKey, back uint64) {
	a := &u.asm
	shared := u.ar.switches[k]
	if shared != 0 {
		a.leaCode(k.reg, back)
		a.jmp(shared)
		return
	}
	if u.ar.switches == nil {
		u.ar.switches = make(map[switchKey]uint64)
	}
	a.leaCode(k.reg, back)
	u.ar.switches[k] = a.here()
	a.store(layout.After, k.reg)
	a.storeImm(layout.Carry, uint32(k.words)) // its upper half is never anything but 0
	resume := a.leaCode(k.reg, 0)
	a.store(layout.Resume, k.reg)
	a.jmp(u.ar.base + u.ar.rt.chunk)
	u.setRel(resume, a.here())
	if k.load {
		a.load(k.reg, layout.Buf)
	}
	a.bytes(0x65, 0xff, 0x24, 0x25) // jmp gs:[After]
	a.u32(layout.After)
}

// leaCode writes lea reg, [rip+to] and returns where the displacement is.
func (a *asm) leaCode(reg x86.Reg, to uint64) (site int) {
	rex := byte(rexW)
	if reg >= 8 {
		rex |= rexR
	}
	a.bytes(rex, 0x8d, 5|byte(reg&7)<<3)
	site = a.pos
	a.rel32(to)
	return site
}
