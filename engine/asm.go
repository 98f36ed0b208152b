package engine

import (
	"encoding/binary"

	"alleria/engine/x86"
	"alleria/internal/layout"
)

// asm writes machine code into a stretch of the code cache. It knows just the
// instructions that instrumentation and linking need; all of those that it
// offers for use inside a block leave the flags alone. Running out of space
// sets full and drops what follows: the caller checks once, at the end.
//
// Encodings are written out by hand. Zydis's encoder was refused: it is
// general, and has
// a structure filled in for each instruction.
type asm struct {
	buf  []byte // the tracer's view of the area
	base uint64 // address of buf[0] in the target
	pos  int
	full bool
}

// here is the target address of the next byte.
func (a *asm) here() uint64 { return a.base + uint64(a.pos) }

// bytes, u32 and u64 append; a stretch that is full takes nothing any more.
func (a *asm) bytes(b ...byte) {
	if a.pos+len(b) > len(a.buf) {
		a.full = true
		return
	}
	a.pos += copy(a.buf[a.pos:], b)
}

func (a *asm) u32(v uint32) {
	if a.pos+4 > len(a.buf) {
		a.full = true
		return
	}
	binary.LittleEndian.PutUint32(a.buf[a.pos:], v)
	a.pos += 4
}

func (a *asm) u64(v uint64) {
	if a.pos+8 > len(a.buf) {
		a.full = true
		return
	}
	binary.LittleEndian.PutUint64(a.buf[a.pos:], v)
	a.pos += 8
}

// rel32 writes the displacement from after itself to target.
// The target must be within two gigabytes: areas and their routines are.
func (a *asm) rel32(target uint64) { a.u32(uint32(int64(target) - int64(a.here()+4))) }

// REX prefixes: W makes an operand 64 bits wide, R, X and B extend the register, index and
// base of ModRM and SIB to r8 … r15 (Intel SDM volume 2, section 2.2.1).
const (
	rexW = 0x48
	rexR = 0x44
	rexX = 0x42
	rexB = 0x41
)

// gs writes a one-byte-opcode instruction on reg and the word at gs:off.
// ModRM 04 with SIB 25 is a plain displacement: the shorter form without SIB means
// RIP-relative in 64-bit mode.
func (a *asm) gs(rex byte, opcode byte, reg x86.Reg, off int) {
	if reg >= 8 {
		rex |= rexR
	}
	a.bytes(0x65)
	if rex != 0 {
		a.bytes(rex)
	}
	a.bytes(opcode, byte(reg&7)<<3|4, 0x25)
	a.u32(uint32(off))
}

// store writes mov gs:[off], reg.
func (a *asm) store(off int, reg x86.Reg) { a.gs(rexW, 0x89, reg, off) }

// load writes mov reg, gs:[off].
func (a *asm) load(reg x86.Reg, off int) { a.gs(rexW, 0x8b, reg, off) }

// storeImm writes mov dword gs:[off], v.
func (a *asm) storeImm(off int, v uint32) {
	a.gs(0, 0xc7, 0, off)
	a.u32(v)
}

// operand is an address: base + index*scale + disp.
// A base or index of NoReg is none; with base RIP, disp is the absolute address.
type operand struct {
	base, index x86.Reg
	scale       uint8
	disp        int64
}

// mem writes an instruction with a register and a memory operand: prefixes,
// REX, opcode bytes, ModRM, SIB and displacement. immLen is how many bytes of
// the instruction follow, for addresses relative to it. Its result is false if
// the displacement cannot be expressed.
// On false nothing useful was written: the caller must have another way.
func (a *asm) mem(prefix []byte, rex byte, opcode []byte, reg byte, m operand, immLen int) bool {
	if reg >= 8 {
		rex |= rexR
	}
	if m.index >= 8 && m.index < x86.RIP {
		rex |= rexX
	}
	if m.base >= 8 && m.base < x86.RIP {
		rex |= rexB
	}
	a.bytes(prefix...)
	if rex != 0 {
		a.bytes(rex)
	}
	a.bytes(opcode...)
	r := reg & 7 << 3
	if m.base == x86.RIP { // disp is the absolute address
		return a.memAbsolute(r, uint64(m.disp), immLen)
	}
	if m.disp != int64(int32(m.disp)) {
		return false
	}
	a.modrm(r, m)
	return true
}

// memAbsolute writes ModRM for an absolute address: a 32-bit one where it fits,
// else relative.
func (a *asm) memAbsolute(r byte, addr uint64, immLen int) bool {
	if addr < 1<<31 {
		a.bytes(r|4, 0x25)
		a.u32(uint32(addr))
		return true
	}
	d := int64(addr) - int64(a.here()+5+uint64(immLen))
	if d != int64(int32(d)) {
		return false
	}
	a.bytes(r | 5)
	a.u32(uint32(d))
	return true
}

// modrm writes ModRM, SIB and displacement in the shortest form. rsp and r12 as a base need
// a SIB byte, rbp and r13 a displacement.
func (a *asm) modrm(r byte, m operand) {
	if m.base == x86.NoReg { // [index*scale+disp32] or [disp32]
		a.bytes(r|4, sib(m)|5)
		a.u32(uint32(m.disp))
		return
	}
	mod := byte(0x80)
	switch {
	case m.disp == 0 && m.base&7 != 5:
		mod = 0
	case m.disp == int64(int8(m.disp)):
		mod = 0x40
	}
	if m.index != x86.NoReg || m.base&7 == 4 {
		a.bytes(mod|r|4, sib(m)|byte(m.base&7))
	} else {
		a.bytes(mod | r | byte(m.base&7))
	}
	switch mod {
	case 0x40:
		a.bytes(byte(m.disp))
	case 0x80:
		a.u32(uint32(m.disp))
	}
}

// sib is the scale and index part of a SIB byte.
func sib(m operand) byte {
	if m.index == x86.NoReg {
		return 4 << 3
	}
	var s byte
	switch m.scale {
	case 2:
		s = 1
	case 4:
		s = 2
	case 8:
		s = 3
	}
	return s<<6 | byte(m.index&7)<<3
}

// put writes mov [base+disp], reg.
func (a *asm) put(base x86.Reg, disp int, reg x86.Reg) {
	a.mem(nil, rexW, []byte{0x89}, byte(reg), operand{base: base, index: x86.NoReg, disp: int64(disp)}, 0)
}

// putImm writes mov qword [base+disp], v, sign-extended.
func (a *asm) putImm(base x86.Reg, disp int, v uint32) {
	a.mem(nil, rexW, []byte{0xc7}, 0, operand{base: base, index: x86.NoReg, disp: int64(disp)}, 4)
	a.u32(v)
}

// get writes mov reg, [base+disp].
func (a *asm) get(reg, base x86.Reg, disp int) {
	a.mem(nil, rexW, []byte{0x8b}, byte(reg), operand{base: base, index: x86.NoReg, disp: int64(disp)}, 0)
}

// lea writes lea reg, [m]; false if the address cannot be expressed.
// It is the adder of instrumentation: it changes no flags.
func (a *asm) lea(reg x86.Reg, m operand) bool {
	return a.mem(nil, rexW, []byte{0x8d}, byte(reg), m, 0)
}

// leaDisp writes lea reg, [base+disp].
func (a *asm) leaDisp(reg, base x86.Reg, disp int64) {
	a.lea(reg, operand{base: base, index: x86.NoReg, disp: disp})
}

// mov writes mov dst, src.
func (a *asm) mov(dst, src x86.Reg) {
	rex := byte(rexW)
	if src >= 8 {
		rex |= rexR
	}
	if dst >= 8 {
		rex |= rexB
	}
	a.bytes(rex, 0x89, 0xc0|byte(src&7)<<3|byte(dst&7))
}

// movImm writes the shortest mov reg, v.
// Not xor for zero: that would change the flags.
func (a *asm) movImm(reg x86.Reg, v uint64) {
	rex := byte(0)
	if reg >= 8 {
		rex = rexB
	}
	switch {
	case v < 1<<32:
		if rex != 0 {
			a.bytes(rex)
		}
		a.bytes(0xb8 | byte(reg&7))
		a.u32(uint32(v))
	case int64(v) == int64(int32(v)):
		a.bytes(rexW|rex, 0xc7, 0xc0|byte(reg&7))
		a.u32(uint32(v))
	default:
		a.bytes(rexW|rex, 0xb8|byte(reg&7))
		a.u64(v)
	}
}

// jmp writes a direct jump.
func (a *asm) jmp(target uint64) {
	a.bytes(0xe9)
	a.rel32(target)
}

// nop writes one instruction of n bytes, 1 to 5, that does nothing.
// They are the forms that the Intel SDM recommends (volume 2, NOP).
func (a *asm) nop(n int) {
	switch n {
	case 1:
		a.bytes(0x90)
	case 2:
		a.bytes(0x66, 0x90)
	case 3:
		a.bytes(0x0f, 0x1f, 0x00)
	case 4:
		a.bytes(0x0f, 0x1f, 0x40, 0x00)
	default:
		a.bytes(0x0f, 0x1f, 0x44, 0x00, 0x00)
	}
}

// alignRel32 pads so that a displacement after opcodeLen bytes does not cross
// a cache line: patching it must be one store that other threads see whole.
// A displacement that does not cross a line is stored and fetched as a whole (Intel SDM volume 3, Guaranteed Atomic Operations).
func (a *asm) alignRel32(opcodeLen int) {
	for (a.here()+uint64(opcodeLen))&63 > 60 {
		a.bytes(0x90)
	}
}

// jmpTable writes the jump through a variant's look-up table by rdx.
// rdx holds the low 16 bits of the address; the table's entry leads to a head.
func (a *asm) jmpTable(v Variant) {
	a.bytes(0x65, 0xff, 0x24, 0xd5)
	a.u32(tableOff(v))
}

// tableOff is where a variant's look-up table lies in a slot.
func tableOff(v Variant) uint32 { return layout.TableOff + uint32(v)*layout.TableSize }
