package translate

import (
	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// checkEnd writes the check for the chunk's end where the flags are dead.
//
// It comes once a block: RingSlack is more than two of the largest records, so that a block
// that begins before End always fits.
func (r *recorder) checkEnd() {
	a := &r.u.asm
	a.CmpWord(r.rec.RA, layout.End)
	site := a.JccLater(asm.IfAbove)
	r.coldSwitch(site, a.Here())
}

// checkByRCX writes the check with rb, which is rcx, and without flags: the
// sign of ra - End, extracted by pext, is 0 if the chunk is full.
func (r *recorder) checkByRCX() {
	u, a := r.u, &r.u.asm
	if !u.HasBMI2 {
		r.checkKeepingFlagsAt()
		return
	}
	// jrcxz is the one test that no flags are needed for, hence rcx.
	a.LoadWord(x86.RCX, layout.NegEnd)
	a.Lea(x86.RCX, asm.Sum(x86.RCX, r.rec.RA, 1, 0))
	a.PextWord(x86.RCX, x86.RCX, layout.SignMask)
	site := a.JrcxzLater()
	r.coldSwitch(site, a.Here())
}

// checkKeepingFlags writes the check before the registers are borrowed: rax
// carries the flags.
// `add al, 127` sets the overflow flag from al being 1, sahf the others from ah.
func (r *recorder) checkKeepingFlags() {
	a := &r.u.asm
	a.StoreWord(spillF, x86.RAX)
	a.FlagsToRAX()
	a.StoreWord(spillF+8, x86.RAX)
	a.LoadWord(x86.RAX, layout.Buf)
	a.CmpWord(x86.RAX, layout.End)
	site := a.JccLater(asm.IfAbove)
	back := a.Here()
	a.LoadWord(x86.RAX, spillF+8)
	a.FlagsFromRAX()
	a.LoadWord(x86.RAX, spillF)
	r.u.cold = append(r.u.cold, coldStub{site, func(u *Translator) {
		u.switchStub(codecache.SwitchKey{Reg: x86.RAX}, back)
	}})
}

// checkKeepingFlagsAt is checkKeepingFlags with the registers borrowed already:
// ra holds the pointer and is loaded again by what follows.
func (r *recorder) checkKeepingFlagsAt() {
	a := &r.u.asm
	r.checkKeepingFlags()
	a.LoadWord(r.rec.RA, layout.Buf)
	if r.rec.RA == x86.RAX {
		return
	}
}

// coldSwitch writes, behind the group, the change to the next chunk; back is
// where the block goes on, with ra at the record's new place.
// The words that are written already go along to the new chunk, for ra points there
// then.
func (r *recorder) coldSwitch(site asm.Site, back uint64) {
	words := r.words + 1
	// The check is not within a record: nothing is to be carried along.
	if r.check < 0 {
		words = 0
	}
	ra := r.rec.RA
	r.u.cold = append(r.u.cold, coldStub{site, func(u *Translator) {
		u.switchStub(codecache.SwitchKey{Reg: ra, Words: uint16(words), Load: true}, back)
	}})
}

// switchStub writes the change to the next chunk, after which all other registers and the flags are
// as they were: 12 bytes for each block, and what they share once a region. A
// change whole for each block was a tenth of the cache.
func (u *Translator) switchStub(k codecache.SwitchKey, back uint64) {
	a := &u.asm
	shared := u.ar.Switches[k]
	if shared != 0 {
		a.LeaCode(k.Reg, back)
		a.Jmp(shared)
		return
	}
	if u.ar.Switches == nil {
		u.ar.Switches = make(map[codecache.SwitchKey]uint64)
	}
	a.LeaCode(k.Reg, back)
	u.ar.Switches[k] = a.Here()
	a.StoreWord(layout.After, k.Reg)
	a.StoreWordImm(layout.Carry, uint32(k.Words)) // its upper half is never anything but 0
	resume := a.LeaCode(k.Reg, 0)
	a.StoreWord(layout.Resume, k.Reg)
	a.Jmp(u.ar.Base + u.ar.Routines.Chunk)
	a.Link(resume, a.Here())
	if k.Load {
		a.LoadWord(k.Reg, layout.Buf)
	}
	a.JmpWord(layout.After)
}

// checkSlot writes the look whether the slot behind the record is free, in front of everything else that the
// block records: once it is, all in front of it are.
//
// The slot's place is filled in when the record's length is known.
func (r *recorder) checkSlot() {
	a, ra := &r.u.asm, r.rec.RA
	back := a.Here()
	a.LoadWord(ra, layout.Buf)
	var site asm.Site
	if r.flagsFree(0) {
		a.Get(ra, ra, layout.RingSlack)
		r.slotAt = a.Pos() - 4
		a.CmpWord(ra, layout.Clear)
		site = a.JccLater(asm.IfNotZero)
	} else {
		a.Get(x86.RCX, ra, layout.RingSlack)
		r.slotAt = a.Pos() - 4
		a.LoadWord(ra, layout.NegClear)
		a.Lea(x86.RCX, asm.Sum(x86.RCX, ra, 1, 0))
		site = a.JnrcxzLater()
	}
	a.LoadWord(ra, layout.Buf)
	r.u.cold = append(r.u.cold, coldStub{site, func(u *Translator) {
		u.switchStub(codecache.SwitchKey{Reg: ra}, back)
	}})
}

// checkSlotKeepingFlags is checkSlot before the registers are borrowed: rax carries the flags.
func (r *recorder) checkSlotKeepingFlags() {
	a := &r.u.asm
	a.StoreWord(spillF, x86.RAX)
	a.FlagsToRAX()
	a.StoreWord(spillF+8, x86.RAX)
	back := a.Here()
	a.LoadWord(x86.RAX, layout.Buf)
	a.Get(x86.RAX, x86.RAX, layout.RingSlack)
	r.slotAt = a.Pos() - 4
	a.CmpWord(x86.RAX, layout.Clear)
	site := a.JccLater(asm.IfNotZero)
	a.LoadWord(x86.RAX, spillF+8)
	a.FlagsFromRAX()
	a.LoadWord(x86.RAX, spillF)
	r.u.cold = append(r.u.cold, coldStub{site, func(u *Translator) {
		u.switchStub(codecache.SwitchKey{Reg: x86.RAX}, back)
	}})
}
