package translate

import (
	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
)

// The x87 keeps the address of its last instruction, and programs can have it written to memory. In the cache it is the
// copy's. An instruction that writes it ends its block, and code behind it looks at what was written: what is not 0 the tracer
// puts right, if it lies in a region. Where it was 0, as in programs that switch contexts (fnstenv) and do not use the x87,
// the look is three instructions. Where xsave and its kind were not asked for the x87's state, it is a dozen more.
//
// Refused: to write the application's address as a constant where an x87 instruction stands in front in the same block. Processors
// write the address of fxsave and xsave only where an exception waits (AMD), and it may have been loaded.

// pointerStored is where an instruction writes the x87's instruction pointer, from its operand's start, and in how many
// bytes; false if it writes none. Environments of 16-bit code have the low half only, which tells nothing: they are left.
func pointerStored(in *x86.Insn) (p codecache.X87Pointer, ok bool) {
	switch in.Mnem {
	case x86.MFNSTENV, x86.MFNSAVE:
		return codecache.X87Pointer{Off: 12, Size: 4}, in.OpBits != 16
	case x86.MFXSAVE, x86.MXSAVE, x86.MXSAVEC, x86.MXSAVEOPT:
		return codecache.X87Pointer{Off: 8, Size: 4}, true
	case x86.MFXSAVE64, x86.MXSAVE64, x86.MXSAVEC64, x86.MXSAVEOPT64:
		return codecache.X87Pointer{Off: 8, Size: 8}, true
	}
	return p, false
}

// untilPointer returns how many of the instructions a block may have: one that writes the instruction pointer is its last.
func untilPointer(ins []x86.Insn) int {
	for i := range ins {
		if _, ok := pointerStored(&ins[i]); ok {
			return i + 1
		}
	}
	return len(ins)
}

// checkPointer writes, behind a block that ends with such an instruction, the look at what was written. None of its registers has changed.
func (u *Translator) checkPointer(b *codecache.Block, in *x86.Insn, next uint64) {
	p, ok := pointerStored(in)
	if !ok || next == 0 {
		return
	}
	o, ok := storeOf(u, in)
	if !ok {
		return
	}
	o.Disp += int64(p.Off)
	a := &u.asm
	a.StoreWord(spillF, x86.RCX)
	m, ok := u.at(&o, x86.RCX, b.App)
	if !ok {
		a.LoadWord(x86.RCX, spillF)
		return
	}
	a.Load(x86.RCX, m, int(p.Size))
	site := a.JnrcxzLater()
	back := a.Here()
	a.LoadWord(x86.RCX, spillF)
	n := u.cache.NewExit(codecache.Exit{Target: next, Region: u.ar, Variant: u.Variant, Fixed: true, Spent: u.limit > 0,
		RareExit: codecache.RareExit{X87: p}})
	chosen := chosenByEAX(in.Mnem) && !u.AskPointers
	u.cold = append(u.cold, coldStub{site, func(u *Translator) {
		if chosen {
			u.unlessChosen(back)
		}
		u.askPointer(&o, b.App, n)
	}})
}

// chosenByEAX tells instructions that write what EAX and EDX name. The others write the x87's state always.
func chosenByEAX(m uint16) bool {
	switch m {
	case x86.MXSAVE, x86.MXSAVEC, x86.MXSAVEOPT, x86.MXSAVE64, x86.MXSAVEC64, x86.MXSAVEOPT64:
		return true
	}
	return false
}

// unlessChosen goes back where bit 0 of EAX, the x87's, is not set: what lies there was not written then. The dynamic linker saves so around each function that
// it binds when it is first called, on a stack that has something else there. rcx is free.
func (u *Translator) unlessChosen(back uint64) {
	a := &u.asm
	u.lowBits(x86.RAX, 1)
	a.Jrcxz(2)
	over := a.JmpShort()
	a.Jmp(back)
	a.Land(over)
}

// lowBits has rcx be zero where a register's low n bits are: they are shifted up until they are alone. Without flags it is lea that shifts.
func (u *Translator) lowBits(from x86.Reg, n int) {
	for left := 32 - n; left > 0; left -= 3 {
		u.asm.LeaBits(x86.RCX, asm.Sum(x86.NoReg, from, 1<<min(left, 3), 0), 32)
		from = x86.RCX
	}
}

// askPointer has the tracer put right what lies at o.
//
// Refused: to ask only for what lies in a region. It nearly always does, and regions lie elsewhere where the code is taken over.
func (u *Translator) askPointer(o *x86.Operand, app uint64, n int) {
	a := &u.asm
	a.LoadWord(x86.RCX, spillF) // the address may be formed by it
	if m, ok := u.at(o, x86.RCX, app); ok {
		a.Lea(x86.RCX, m)
	}
	a.StoreWord(layout.ReqArg, x86.RCX)
	a.LoadWord(x86.RCX, spillF)
	u.dispatch(uint32(n) + 1)
}

// storeOf is the operand that an instruction writes state to; false for one whose address is not told by registers. What has no
// registers cannot be moved with its image: the code that names it is written behind the block.
func storeOf(u *Translator, in *x86.Insn) (o x86.Operand, ok bool) {
	from := len(u.opBuf)
	u.opBuf = in.Accesses(u.opBuf)
	for _, op := range u.opBuf[from:] {
		if op.Store {
			o, ok = op, op.Seg != records.SegFS && op.Seg != records.SegGS
		}
	}
	u.opBuf = u.opBuf[:from]
	if ok && o.Base == x86.NoReg && o.Index == x86.NoReg {
		u.cache.Written.Mixed = true
	}
	return o, ok
}
