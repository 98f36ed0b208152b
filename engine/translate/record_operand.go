package translate

import (
	"alleria/engine/asm"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
)

// at is the memory that an access names before the instruction. tmp takes the
// address of one that is too far for a displacement; ok is false if there is
// none and it is needed.
// Operands by way of gs are never copied: the tracer executes such instructions.
func (r *recorder) at(o *x86.Operand, tmp x86.Reg) (m asm.Mem, ok bool) {
	return r.u.at(o, tmp, r.b.App)
}

// at is the same for code of the block at app.
func (u *Translator) at(o *x86.Operand, tmp x86.Reg, app uint64) (m asm.Mem, ok bool) {
	m = asm.Mem{Base: o.Base, Index: o.Index, Scale: o.IndexScale, Disp: o.Disp}
	switch o.Seg {
	case records.SegFS:
		m.Seg = x86.SegFS
	case records.SegGS:
		return m, false
	}
	if o.Base != x86.NoReg || o.Index != x86.NoReg {
		m.Addr32 = o.AddrBits == 32
		return m, o.Disp == int64(int32(o.Disp))
	}
	addr := uint64(o.Disp)
	if o.AddrBits == 32 {
		// An address-size prefix without registers cuts the displacement off.
		addr = uint64(uint32(addr))
		u.cache.Written.Mixed = true // as in Translator.relocate
	}
	switch {
	case int64(addr) == int64(int32(addr)):
		m.Disp = int64(addr)
	// Near means from any place of the region: where this code comes to does not
	// matter.
	case u.ar.Near(addr):
		m.Base, m.Disp = x86.RIP, int64(addr)
	case tmp == x86.NoReg:
		return m, false
	default:
		u.movAddress(tmp, app, addr)
		m.Base, m.Disp = tmp, 0
	}
	return m, true
}

// reaches tells whether the access can be named without a register for its
// address.
func (r *recorder) reaches(o *x86.Operand) bool {
	if o.Base != x86.NoReg || o.Index != x86.NoReg {
		return o.Seg != records.SegGS && o.Disp == int64(int32(o.Disp))
	}
	addr := uint64(o.Disp)
	return o.Seg != records.SegGS && (int64(addr) == int64(int32(addr)) || o.AddrBits == 64 && r.u.ar.Near(addr))
}

// onRegister writes the instruction with general register rm in place of its
// memory operand; false if it can't be encoded.
//
// EVEX forms go by the copy in the slot instead.
func (r *recorder) onRegister(in *x86.Insn, rm x86.Reg) bool {
	return r.u.asm.CopyReg(in, r.u.InsBytes(in), rm)
}

// onSlot writes the instruction with the thread's operand copy in place of its
// memory operand. Every form can be led there: gs and a displacement need no
// register.
func (r *recorder) onSlot(in *x86.Insn) {
	r.u.asm.CopyWord(in, r.u.InsBytes(in), layout.Operand)
}

// rotates tells rotations by a constant: some processors (Intel's) leave the overflow flag as it was where a register is rotated so, by more than one bit,
// and set it where memory is. No other instruction's flags were seen to differ so, with some hundred forms and random operands.
func rotates(in *x86.Insn) bool {
	return (in.Mnem == x86.MROL || in.Mnem == x86.MROR) && in.ImmSize > 0
}

// apply lets the instruction work on the low bytes of rb instead of on memory.
func (r *recorder) apply(in *x86.Insn) {
	if !rotates(in) && r.onRegister(in, r.rec.RB) {
		return
	}
	r.u.asm.StoreWord(layout.Operand, r.rec.RB)
	r.onSlot(in)
	r.u.asm.LoadWord(r.rec.RB, layout.Operand)
}
