package engine

import (
	"encoding/binary"

	"alleria/engine/x86"
	"alleria/internal/layout"
)

// Code that may change without a system call, because its pages are writable
// or shared with another mapping that is, compares itself: each block of it
// begins by comparing the application's bytes with those that it was translated
// from, and asks for another translation if they differ. A block ends behind an
// instruction that may write code, so that a program which changes the
// instructions right behind itself sees them changed, as on the processor.
//
// The refused alternative takes the right to write away from such pages and
// catches the faults: two stops and two system calls for each change, system
// calls of the application that write there would fail, and a second mapping
// of the same memory goes unnoticed.

// maxChangingInsns bounds the blocks of such code: what is compared grows with
// them.
const maxChangingInsns = 16

// changing tells whether the code at addr may change unnoticed.
func (p *Process) changing(addr uint64) bool {
	if !p.executable(addr) {
		return false
	}
	m := p.code.mapping(addr)
	return m != nil && (m.Writable() || m.Shared())
}

// untilStore returns how many of the instructions a block of changing code may
// have.
func untilStore(ins []x86.Insn) int {
	n := min(len(ins), maxChangingInsns)
	for i := range ins[:n] {
		for _, m := range ins[i].Mems[:ins[i].NMem] {
			if m.Write != 0 && m.Base != x86.RSP && m.Base != x86.RBP {
				return i + 1
			}
		}
	}
	return n
}

// compareSelf writes, at a block's entry, the comparison of the n bytes of code
// that it was decoded from with what is there when it runs. Flags stay as they
// are; rcx and rdx are borrowed.
func (u *unit) compareSelf(b *block, n int) {
	a := &u.asm
	code := u.p.code.buf[b.app-u.p.code.base:][:n]
	ask := u.p.newExit(exit{target: b.app, area: u.ar, v: u.v, fixed: true, stale: b})
	a.store(layout.S0, x86.RCX)
	a.store(layout.S1, x86.RDX)
	for at := 0; at < n; {
		size := 8
		for size > n-at && size > 1 {
			size /= 2
		}
		if n >= 8 && at > 0 && size < 8 { // the rest, together with what was compared already
			at, size = n-8, 8
		}
		u.comparePiece(b.app+uint64(at), code[at:at+size])
		a.bytes(0xe3, 5, 0xe9) // jrcxz over the jump
		u.coldAsk(ask, func(u *unit) {
			u.asm.load(x86.RCX, layout.S0)
			u.asm.load(x86.RDX, layout.S1)
		})
		at += size
	}
	a.load(x86.RCX, layout.S0)
	a.load(x86.RDX, layout.S1)
	b.compared = uint16(a.here() - b.code)
}

// comparePiece leaves 0 in rcx if memory at addr holds want, 1, 2, 4 or 8 bytes.
func (u *unit) comparePiece(addr uint64, want []byte) {
	a := &u.asm
	var w [8]byte
	copy(w[:], want)
	op, rex := []byte{0x8b}, byte(0)
	switch len(want) {
	case 1:
		op = []byte{0x0f, 0xb6}
	case 2:
		op = []byte{0x0f, 0xb7}
	case 8:
		rex = rexW
	}
	if u.ar.near(addr) {
		a.mem(nil, rex, op, byte(x86.RCX), operand{base: x86.RIP, index: x86.NoReg, disp: int64(addr)}, 0)
	} else {
		a.movImm(x86.RDX, addr)
		a.mem(nil, rex, op, byte(x86.RCX), operand{base: x86.RDX, index: x86.NoReg}, 0)
	}
	a.movImm(x86.RDX, -binary.LittleEndian.Uint64(w[:]))
	a.lea(x86.RCX, operand{base: x86.RCX, index: x86.RDX, scale: 1})
}

// stale replaces a block whose code has changed.
func (p *Process) stale(b *block) {
	if !b.dead {
		p.forget([]*block{b})
	}
}
