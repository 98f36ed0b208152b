package translate

import (
	"bytes"

	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// copy writes an instruction that is no branch so that it does the same from
// the cache: its bytes, with an operand relative to RIP adjusted.
func (u *Translator) copy(in *x86.Insn) {
	code := u.InsBytes(in)
	switch {
	case in.RIPRelative():
		u.relocate(in, code)
	case in.Mnem == x86.MXTEST: // there are no transactions: ZF is set, the other flags cleared
		u.xtest()
	default:
		u.asm.Copy(code)
	}
}

// relocate writes an instruction with a RIP-relative operand: as an absolute
// one where the address fits in 31 bits, relative where the region is near, else
// through a register that holds the address.
//
// The third way is for images that lie far from every region: the register is one that the
// instruction does not mention, and is back before the next instruction.
func (u *Translator) relocate(in *x86.Insn, code []byte) {
	addr := u.RipTarget(in)
	a := &u.asm
	if in.AddrBits == 32 { // what becomes of the address where the image lies elsewhere is not worth saying
		u.cache.Written.Mixed = true
	}
	if addr < 1<<31 {
		a.CopyAbs(in, code, uint32(addr))
		return
	}
	disp := int64(addr) - int64(a.Here()+uint64(in.Len))
	if disp == int64(int32(disp)) {
		a.CopyDisp(code, int(in.DispOff), uint32(disp))
		u.reloc(codecache.RelocDisp, in.Addr, 4, int(in.Len)-int(in.DispOff)-4)
		return
	}
	r := scratchFor(in.Mentions())
	a.StoreWord(FarSpill, r)
	u.movAddress(r, in.Addr, addr)
	a.CopyAt(in, code, r)
	a.LoadWord(r, FarSpill)
}

// movAddress writes the load of an address that follows from where the code at app lies, and moves with it. One of 32 bits is of what lies where it lies.
// Whatever code has as a constant about the application comes by here, or is noted by itself (reloc).
func (u *Translator) movAddress(r x86.Reg, app, addr uint64) {
	u.asm.MovImm(r, addr)
	if addr>>32 != 0 && int64(addr) != int64(int32(addr)) {
		u.reloc(codecache.RelocAbs, app, 8, 0)
	}
}

// FarSpill is the spill word of relocate.
const FarSpill = layout.S2

// FarScratch tells which register code that begins an instruction borrows for the address of an operand that is far away, and keeps in FarSpill; false: none. The
// operand may fault.
func FarScratch(code []byte) (x86.Reg, bool) {
	const size = 9
	if len(code) < size || code[3]&^(7<<3) != 4 {
		return 0, false
	}
	r := x86.Reg(code[3] >> 3)
	var buf [16]byte
	a := asm.New(buf[:], 0, 0)
	a.StoreWord(FarSpill, r)
	return r, a.Pos() == size && bytes.Equal(code[:size], buf[:size])
}

// RipTarget is the absolute address of a RIP-relative operand.
// The displacement counts from the end of the instruction, constants included.
func (u *Translator) RipTarget(in *x86.Insn) uint64 {
	code := u.InsBytes(in)
	d := int(in.DispOff)
	disp := int32(uint32(code[d]) | uint32(code[d+1])<<8 | uint32(code[d+2])<<16 | uint32(code[d+3])<<24)
	addr := in.Next() + uint64(int64(disp))
	if in.AddrBits == 32 {
		addr = uint64(uint32(addr))
	}
	return addr
}

// scratchFor picks a low register that is not in the set; one of the first
// eight, so that it needs no REX bit, and neither rsp nor rbp, which would need
// a displacement. Some are always free: no instruction names six.
func scratchFor(used uint16) x86.Reg {
	for _, r := range []x86.Reg{x86.RAX, x86.RCX, x86.RDX, x86.RBX, x86.RSI, x86.RDI} {
		if used&(1<<uint(r)) == 0 {
			return r
		}
	}
	panic("no scratch register")
}

// xtest writes what xtest does outside a transaction: cmp with itself sets ZF
// and PF and clears the others; xtest clears PF too, so a sum without parity
// would be wrong: the flags are loaded through ah.
func (u *Translator) xtest() {
	a := &u.asm
	a.StoreWord(FarSpill, x86.RAX)
	a.Clear32(x86.RAX) // OF
	a.SetFlags(0x40)   // ZF
	a.LoadWord(x86.RAX, FarSpill)
}
