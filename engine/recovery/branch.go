package recovery

import (
	"encoding/binary"

	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// A branch to an address that is not canonical faults at itself, not at its target. Returns and jumps of code that does not record do so in translated code, too
// (translate.TargetLoad). Of the others the target has been looked up in vain by then, and no word says which branch asked. But it is one of those that have been translated, its operand still holds the target, and a call has
// left its return address. A call of which both is true is the one; else a jump or a return, if it is the only one that can be. (Code that changes its caller's operand and jumps by it
// at once, with nothing pushed, is taken for its caller.) A block that records has written its record last, if it was the last one, at no cost.
//
// With conditions a block may leave no record; its words are there all the same then, behind what the thread has written last.

// Canonical tells whether an address can be one.
func Canonical(addr uint64) bool { return int64(addr<<16)>>16 == int64(addr) }

// Branch is the indirect branch of variant v that has led to target, and its stack pointer, of a thread whose registers are regs and which stands behind it; false where that can be
// several. fetch reads code.
func (t *Thread) Branch(target uint64, regs *sys.Regs, v codecache.Variant, fetch func(addr uint64, n int) []byte) (at, sp uint64, ok bool) {
	const longest = 15 // bytes of an instruction
	var one [1]x86.Insn
	call, many := false, false
	for n := range t.cache.BlockPool.N {
		b := t.cache.BlockPool.At(n)
		if b.Variant != v || b.Insns == 0 || b.Term != codecache.TermIndirect {
			continue
		}
		addr := t.cache.InsAddr(b, int(b.Insns)-1)
		if ok && addr == at {
			continue
		}
		if k, _ := x86.Decode(fetch(addr, longest), addr, one[:]); k != 1 {
			continue
		}
		was, leads := t.ledTo(&one[0], target, regs)
		if !leads || !t.canBeLast(b, one[0].Cat == x86.CatCALL) {
			continue
		}
		switch is := one[0].Cat == x86.CatCALL; {
		case ok && call == is:
			many = true
		case !ok || is:
			at, sp, ok, call, many = addr, was, true, is, false
		}
	}
	return at, sp, ok && !many
}

// canBeLast tells whether a block can be what the thread has executed last, and has come through its branch: false where that would have loaded from its target, and where
// it would have left a record, and another one, or none, lies in front of the thread's words.
func (t *Thread) canBeLast(b *codecache.Block, call bool) bool {
	r := &b.Rec
	if r.ID == 0 {
		return call || t.translator.NoTargetLoad || t.translator.Predict
	}
	if t.cache.Conditional(r) && t.slot.Get(layout.Kept) == 0 {
		return t.slot.Begins(r.ID)
	}
	return t.cache.IsLoop(r) || t.slot.EndsWith(r.ID, int(r.Words))
}

// ledTo tells whether a branch can have led to target, with registers as they are behind it, and what the stack pointer was.
func (t *Thread) ledTo(in *x86.Insn, target uint64, regs *sys.Regs) (sp uint64, ok bool) {
	sp = regs.Rsp
	switch in.Cat {
	case x86.CatRET:
		sp -= 8
		if in.ImmSize > 0 {
			sp -= uint64(uint16(in.Imm))
		}
		v, there := t.word(sp)
		return sp, there && v == target
	case x86.CatCALL:
		if v, there := t.word(sp); !there || v != in.Next() {
			return 0, false
		}
		sp += 8
	}
	if in.Opcode != 0xff {
		return 0, false
	}
	r := Generals(regs)
	r[x86.RSP] = sp
	if in.ModRM>>6 == 3 {
		return sp, r[x86.Reg(in.ModRM&7)|x86.Reg(in.Rex&1)<<3] == target
	}
	for _, o := range in.Accesses(nil) {
		if o.Store {
			continue
		}
		v, there := t.word(o.Address(&r, regs.Fs_base, 0))
		return sp, there && v == target
	}
	return 0, false
}

// word reads a word of the application's memory.
func (t *Thread) word(addr uint64) (v uint64, ok bool) {
	var b [8]byte
	if _, err := t.mem.ReadAt(b[:], int64(addr)); err != nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[:]), true
}
