package translate

import (
	"alleria/engine/asm"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
)

// registers records what the registers that are wanted of instruction i hold
// before it. Registers that are parts of one share its words. What the processor
// does not have is not recorded.
func (r *recorder) registers(i int) {
	seen := make(map[records.Reg]int16)
	for _, reg := range r.want[i].Regs {
		whole := wholeRegister(reg, r.want[i].Regs)
		w, ok := seen[whole]
		if !ok {
			w, ok = r.register(whole)
			if !ok {
				continue
			}
			seen[whole] = w
		}
		r.facts.Regs = append(r.facts.Regs, records.RegWord{Ins: uint16(i), Reg: reg, Word: w})
		r.facts.Ins[i].Flags |= records.InsRegs
	}
}

// trapRegisters says where in the words of an instruction that the tracer executes are the registers that are wanted of it.
func (u *Translator) trapRegisters(f *records.Block, list []records.Reg) {
	seen := make(map[records.Reg]int16)
	for _, reg := range list {
		whole := wholeRegister(reg, list)
		if !u.hasRegister(whole) {
			continue
		}
		w, ok := seen[whole]
		if !ok {
			w = records.NoWord
			if whole != records.RegRIP && whole != records.RegFSBase && whole != records.RegGSBase {
				w = int16(f.Words)
				f.Words += registerWords([]records.Reg{whole})
			}
			seen[whole] = w
		}
		f.Regs = append(f.Regs, records.RegWord{Reg: reg, Word: w})
		f.Ins[0].Flags |= records.InsRegs
	}
}

// hasRegister tells whether the processor has a register.
func (u *Translator) hasRegister(reg records.Reg) bool {
	switch c := reg &^ 0xff; c {
	case records.RegXMM, records.RegYMM, records.RegZMM:
		wide := reg&0xff > 15 || c == records.RegZMM
		return !(wide && !u.HasAVX512) && (c == records.RegXMM || u.HasAVX)
	case records.RegMask:
		return u.HasAVX512
	}
	return true
}

// wholeRegister is the register that a register is the low part of: of vector
// registers the widest in the list.
func wholeRegister(reg records.Reg, list []records.Reg) records.Reg {
	n := reg & 0xff
	switch reg &^ 0xff {
	case records.RegGPR32, records.RegGPR16, records.RegGPR8, records.RegHigh:
		return records.RegGPR64 | n
	case records.RegXMM, records.RegYMM, records.RegZMM:
		for _, o := range list {
			if c := o &^ 0xff; o&0xff == n && c > reg&^0xff && c <= records.RegZMM {
				reg = o
			}
		}
	}
	return reg
}

// registerWords is how many words the registers of a list may take.
func registerWords(list []records.Reg) (n int) {
	for _, reg := range list {
		switch reg &^ 0xff {
		case records.RegXMM, records.RegX87:
			n += 2
		case records.RegYMM:
			n += 4
		case records.RegZMM:
			n += 8
		default:
			n++
		}
	}
	return n
}

// register writes one whole register into the record; false if there is none.
func (r *recorder) register(reg records.Reg) (word int16, ok bool) {
	if !r.u.hasRegister(reg) {
		return 0, false
	}
	a := &r.u.asm
	n := uint8(reg)
	switch c := reg &^ 0xff; c {
	case records.RegGPR64:
		w, off := r.newWord()
		r.general(x86.Reg(n), off)
		return w, true
	case records.RegXMM, records.RegYMM, records.RegZMM:
		return r.vectorRegister(n, 16<<((c-records.RegXMM)>>8)), true
	case records.RegMask:
		w, off := r.newWord()
		a.MoveMask64(r.rec.RB, n)
		a.Put(r.rec.RA, off, r.rec.RB)
		return w, true
	case records.RegMMX, records.RegX87:
		return r.stackRegister(n, c == records.RegX87), true
	}
	switch reg {
	case records.RegFlags:
		return r.flags(), true
	case records.RegMXCSR:
		w, off := r.newWord()
		a.PutImm(r.rec.RA, off, 0)
		a.Stmxcsr(asm.At(r.rec.RA, off))
		return w, true
	}
	return records.NoWord, true
}

// general writes a general register; those that the block has borrowed are in
// their spill words.
func (r *recorder) general(reg x86.Reg, off int) {
	a, rec := &r.u.asm, r.rec
	switch reg {
	case rec.RA:
		a.LoadWord(rec.RB, SpillA)
		reg = rec.RB
	case rec.RB:
		a.LoadWord(rec.RB, SpillB)
	}
	a.Put(rec.RA, off, reg)
}

func (r *recorder) vectorRegister(n uint8, size int) int16 {
	w, off := r.newWord()
	r.words += size/8 - 1
	r.putVector(off, n, size, n > 15 || size > 32)
	return w
}

// flags writes rflags: pushf is the one way to all of them, and pushes them into
// the record, which the stack pointer leads to for the two instructions that this
// takes. Nobody else uses it meanwhile: a signal is delivered at safe points.
func (r *recorder) flags() int16 {
	a := &r.u.asm
	w, off := r.newWord()
	a.StoreWord(layout.Scratch0, x86.RSP)
	a.LeaDisp(x86.RSP, r.rec.RA, int64(off+8))
	a.PushFlags()
	a.LoadWord(x86.RSP, layout.Scratch0)
	return w
}

// stackRegister writes an x87 or MMX register from the image that fxsave makes,
// which disturbs neither, as a move of an MMX register would the x87's.
func (r *recorder) stackRegister(n uint8, x87 bool) int16 {
	a := &r.u.asm
	a.Fxsave64(asm.Word(layout.FXSave))
	w, off := r.newWord()
	a.LoadWord(r.rec.RB, layout.FXSave+32+16*int(n))
	a.Put(r.rec.RA, off, r.rec.RB)
	if x87 {
		_, off = r.newWord()
		a.Load(r.rec.RB, asm.Word(layout.FXSave+32+16*int(n)+8), 2)
		a.Put(r.rec.RA, off, r.rec.RB)
	}
	return w
}
