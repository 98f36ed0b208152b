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
		u.switchStub(x86.RAX, 0, func() { u.asm.jmp(back) })
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
		u.switchStub(ra, words, func() {
			u.asm.load(ra, layout.Buf)
			u.asm.jmp(back)
		})
	}})
}

// switchStub writes the call of the chunk routine: words of the unfinished
// record go along; reg is free.
// The routine goes on at then's code with all registers and flags as they were.
func (u *unit) switchStub(reg x86.Reg, words int, then func()) {
	a := &u.asm
	a.storeImm(layout.Carry, uint32(words)) // its upper half is never anything but 0
	rex := byte(rexW)
	if reg >= 8 {
		rex |= rexR
	}
	a.bytes(rex, 0x8d, 5|byte(reg&7)<<3) // lea reg, [rip+resume]
	site := a.pos
	a.u32(0)
	a.store(layout.Resume, reg)
	a.jmp(u.ar.base + u.ar.rt.chunk)
	u.setRel(site, a.here())
	then()
}
