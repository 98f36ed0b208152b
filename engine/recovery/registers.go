package recovery

import (
	"alleria/engine/codecache"
	"alleria/engine/translate"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// RegOf is the field of a general register.
func RegOf(r *sys.Regs, n x86.Reg) *uint64 {
	return [...]*uint64{&r.Rax, &r.Rcx, &r.Rdx, &r.Rbx, &r.Rsp, &r.Rbp, &r.Rsi, &r.Rdi,
		&r.R8, &r.R9, &r.R10, &r.R11, &r.R12, &r.R13, &r.R14, &r.R15}[n]
}

// Generals puts the general registers in the order of their numbers.
// The field order of the kernel's structure is another.
func Generals(r *sys.Regs) [x86.NumRegs]uint64 {
	return [...]uint64{r.Rax, r.Rcx, r.Rdx, r.Rbx, r.Rsp, r.Rbp, r.Rsi, r.Rdi,
		r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15}
}

// Saved replaces the registers that the routines use by what they saved.
// Those that the routines do not use have kept their values.
func (t *Thread) Saved(r *sys.Regs) {
	s := t.slot
	get := func(i int) uint64 { return s.Get(layout.Save + 8*i) }
	r.Rax, r.Rcx, r.Rdx, r.Rsi, r.Rdi = get(0), get(1), get(2), get(6), get(7)
	r.R8, r.R9, r.R10, r.R11 = get(8), get(9), get(10), get(11)
	r.Eflags = flagsFrom(r.Eflags, s.Get(layout.SaveFlags))
	r.Orig_rax = ^uint64(0)
}

// SavedSP is the stack pointer of a thread that waits in the dispatch routine.
func (t *Thread) SavedSP() uint64 { return t.slot.Get(layout.Save + 4*8) }

// flagsFrom puts the arithmetic flags as lahf and seto left them into eflags.
// lahf puts SF, ZF, AF, PF and CF into ah, seto the overflow flag into al.
func flagsFrom(eflags, saved uint64) uint64 {
	const mask = 0x8d5
	f := saved >> 8 & 0xd5
	if saved&1 != 0 {
		f |= 0x800
	}
	return eflags&^mask | f
}

// CompleteSide does for a stopped thread what the code of a side exit would: its record is
// completed, and regs, but for rip, are the application's.
func (t *Thread) CompleteSide(s *codecache.LazySideExit, regs *sys.Regs) {
	sl, b := t.slot, t.cache.BlockPool.At(int(s.Block))
	buf := sl.Get(layout.Buf)
	sl.Set(int(buf-sl.Base), uint64(t.cache.NumberSideExit(s, b)))
	sl.Set(layout.Buf, buf+8*(1+uint64(s.Words)))
	*RegOf(regs, b.Rec.RA) = sl.Get(translate.SpillA)
	if b.Rec.HasB {
		*RegOf(regs, b.Rec.RB) = sl.Get(translate.SpillB)
	}
}

// Registers takes the registers that a block has borrowed at a place in its code from where it keeps them; false where it stands in
// the middle of an instruction's code, and exact is not said.
func (t *Thread) Registers(b *codecache.Block, at uint32, regs *sys.Regs, exact bool) bool {
	// clean: nothing of instruction i has been executed, and what was before it is
	// done.
	pos := t.cache.PositionsOf(b)
	i, clean := pos.Find(at)
	switch {
	// the load of an indirect branch's target faulted, or of a byte at the target: rcx, and rdx, are in their spill words
	case exact && i == pos.N-1 && b.Term == codecache.TermIndirect && at > uint32(pos.At[i].Exec):
		regs.Rcx = t.slot.Get(layout.S0)
		if size, popped := t.TargetLoad(regs.Rip); size > 0 {
			regs.Rdx = t.slot.Get(layout.S1)
			regs.Rsp -= popped
		}
	case exact:
		t.farOperand(regs, at-uint32(pos.At[i].Exec))
		t.unspill(b, at, regs)
		t.wrote = b.Rec.ID != 0 && t.cache.Writes(&b.Rec, at)
	case clean, at == uint32(pos.At[i].Exec), b.Rec.ID != 0 && t.cache.Again(&b.Rec, at): // also between the iterations of a repeated string instruction
		t.unspill(b, at, regs)
	default:
		return false
	}
	return true
}

// farOperand takes the register back that the instruction at a place in the cache has for its operand's address, if it has one; into is how far behind the beginning of
// the instruction's code that is.
func (t *Thread) farOperand(regs *sys.Regs, into uint32) {
	a := t.cache.RegionAt(regs.Rip)
	if a == nil || into == 0 || uint64(into) > regs.Rip-a.Base {
		return
	}
	if r, ok := translate.FarScratch(a.Mem[regs.Rip-a.Base-uint64(into):]); ok {
		*RegOf(regs, r) = t.slot.Get(translate.FarSpill)
	}
}

// TargetLoad tells of a place in the cache how long the load from a branch's target there is (translate.TargetLoad), 0 if there is none, and by how much the
// stack pointer has moved.
func (t *Thread) TargetLoad(rip uint64) (size int, popped uint64) {
	a := t.cache.RegionAt(rip)
	if a == nil {
		return 0, 0
	}
	b := t.cache.BlockAt(a, rip)
	if b == nil || b.Term != codecache.TermIndirect {
		return 0, 0
	}
	pos := t.cache.PositionsOf(b)
	if i, _ := pos.Find(uint32(rip - b.Code)); i != pos.N-1 || rip-b.Code <= uint64(pos.At[i].Exec) {
		return 0, 0 // what the program does itself
	}
	return translate.TargetLoad(a.Mem[rip-a.Base:])
}

// fix takes what recording has put aside back into the registers.
func (t *Thread) fix(rec *codecache.Recording, at uint32, regs *sys.Regs) {
	odd := t.cache.OddOf(rec)
	if odd == nil {
		return
	}
	for i := range odd.Fixes {
		f := &odd.Fixes[i]
		if at < f.From || at >= f.To {
			continue
		}
		v := t.slot.Get(f.Word)
		if f.Reg != x86.NoReg {
			*RegOf(regs, f.Reg) = v
			continue
		}
		const all = 0x8d5 // OF SF ZF AF PF CF
		flags := v >> 8 & 0xd5
		if v&1 != 0 {
			flags |= 0x800
		}
		regs.Eflags = regs.Eflags&^all | flags
	}
}

// unspill takes the registers that the block borrowed from the spill words.
func (t *Thread) unspill(b *codecache.Block, at uint32, regs *sys.Regs) {
	if r := &b.Rec; r.ID != 0 && at >= uint32(r.From) && at < uint32(r.To) {
		*RegOf(regs, r.RA) = t.slot.Get(translate.SpillA)
		if r.HasB {
			*RegOf(regs, r.RB) = t.slot.Get(translate.SpillB)
		}
		t.fix(r, at, regs)
	}
}
