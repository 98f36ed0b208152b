package translate

import (
	"encoding/binary"

	"alleria/engine/asm"
	"alleria/engine/codecache"
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
// That is what is done with code that has just been written, or is written again and again. Once a page of private memory has been quiet
// for a while it is guarded: the right to write it is taken away, and blocks of it are those of code that does not change, until the first
// write to it faults (engine/guard.go). Guarding pages from the first is refused: two stops and two system calls for each change. So is guarding
// other memory, which a second mapping changes without a fault.

// maxChangingInsns bounds the blocks of such code: what is compared grows with
// them.
const maxChangingInsns = 16

// untilStore returns how many of the instructions a block of changing code may
// have.
//
// Stores by way of rsp and rbp are taken for the stack's: code would
// else be cut at
// every push. Not where the code itself has just taken them from elsewhere.
func untilStore(ins []x86.Insn) int {
	n := min(len(ins), maxChangingInsns)
	stack := uint16(1<<x86.RSP | 1<<x86.RBP)
	for i := range ins[:n] {
		in := &ins[i]
		for _, m := range in.Mems[:in.NMem] {
			if m.Write != 0 && (m.Base != x86.RSP && m.Base != x86.RBP || stack>>m.Base&1 == 0) {
				return i + 1
			}
		}
		if !keepsStack(in) {
			stack &^= in.GPRWrite
		}
	}
	return n
}

// untilSerialized returns how many of the instructions come up to the first that has the processor fetch what follows it anew: a thread that
// another one has told of new code executes one, and goes on with what is there.
func untilSerialized(ins []x86.Insn) int {
	for i := range ins {
		if ins[i].Mnem == x86.MCPUID {
			return i + 1
		}
	}
	return len(ins)
}

// guards tells whether any of the instructions, which follow each other, lies in a guarded page: it does not change for now.
//
// From the moment that such a page is written its blocks are not entered any more, wherever threads are: each is entered by
// its gate, also from the one in front of it. So a change by another thread is seen where the next block begins, as by blocks that compare
// themselves.
//
// Refused: blocks that fall through to each other, with all threads taken out of them at the first write. That stops every thread of a compiler's process, those that wait in
// the kernel among them.
func (u *Translator) guards(ins []x86.Insn) bool {
	return u.target.Guarded(ins[0].Addr) || u.target.Guarded(ins[len(ins)-1].Next()-1)
}

// keepsStack tells an instruction that leads rsp and rbp nowhere but along the stack that they point to.
func keepsStack(in *x86.Insn) bool {
	const stack = 1<<x86.RSP | 1<<x86.RBP
	if in.Cat == x86.CatPUSH || in.GPRWrite&stack == 0 {
		return true
	}
	return in.GPRRead&stack != 0 && in.GPRRead&^stack == 0 && !in.RIPRelative()
}

// compareSelf writes, at a block's entry, the comparison of the n bytes of code
// that it was decoded from with what is there when it runs. Flags stay as they
// are; rcx, rdx and what compares sixteen bytes at a time are borrowed.
//
// The whole block is compared before any of it executes: between its instructions nobody
// but another thread can change it, and processors promise nothing about that either.
func (u *Translator) compareSelf(b *codecache.Block, n int) {
	a := &u.asm
	code := u.target.WithProbes(u.code.cur[b.App-u.code.base:][:n], b.App)
	ask := u.cache.NewExit(codecache.Exit{Target: b.App, Region: u.ar, Variant: u.Variant, Fixed: true, Entry: b.Counting(), RareExit: codecache.RareExit{Stale: b}})
	a.StoreWord(layout.S0, x86.RCX)
	a.StoreWord(layout.S1, x86.RDX)
	defer func() { b.Compared = uint16(a.Here() - b.Code) }()
	if first := b.App &^ 15; !u.NoWideCompare && u.ar.Near(first) && b.App>>12 == (b.App+uint64(n)-1)>>12 {
		u.compareWide(code, b.App, ask)
		return
	}
	for at := 0; at < n; {
		piece := u.pieceAt(b.App+uint64(at), n-at)
		u.comparePiece(piece, code[at:at+piece.n])
		u.coldDispatch(a.JnrcxzLater(), ask, func(u *Translator) {
			u.asm.LoadWord(x86.RCX, layout.S0)
			u.asm.LoadWord(x86.RDX, layout.S1)
		})
		at += piece.n
	}
	a.LoadWord(x86.RCX, layout.S0)
	a.LoadWord(x86.RDX, layout.S1)
}

// compareWide compares by aligned sixteen bytes at a time, of which the code at app begins somewhere in the first and ends in the last: what lies around it is
// shifted out. All are in one page and near, so that none but the first load faults, when nothing but words has been borrowed.
//
// The instructions are SSE's, which leave the upper parts of vector registers alone: VEX forms would clear them. Without flags a byte at a time is the mask of the equal ones.
func (u *Translator) compareWide(code []byte, app uint64, ask int) {
	a := &u.asm
	first, end := app&^15, app+uint64(len(code))
	several := end > first+16
	back := func(u *Translator) {
		u.asm.SseLoad(0, asm.Word(layout.VecSave), true)
		if several {
			u.asm.SseLoad(1, asm.Word(layout.VecSave+16), true)
		}
		u.asm.LoadWord(x86.RCX, layout.S0)
	}
	a.SseStore(asm.Word(layout.VecSave), 0, true)
	if several {
		a.SseStore(asm.Word(layout.VecSave+16), 1, true)
	}
	for at := first; at < end; at += 16 {
		v := uint8(1)
		if at == first {
			v = 0
		}
		skip, above := max(app, at)-at, max(at+16, end)-end
		a.SseLoad(v, asm.Abs(at), true)
		if skip > 0 {
			a.SseShiftDown(v, uint8(skip))
		}
		var want [16]byte
		piece := code[at+skip-app:][:16-skip-above]
		if above > 0 { // what is above the code lies lower by now
			a.SseShiftUp(v, uint8(skip+above))
			copy(want[skip+above:], piece)
		} else {
			copy(want[:], piece)
		}
		a.SseEqualBytes(v, asm.Abs(u.cache.Constant(u.ar, want)))
		if v > 0 {
			a.SseAnd(0, v)
		}
	}
	a.SseSigns(x86.RCX, 0)
	a.LeaDisp(x86.RCX, x86.RCX, -0xffff)
	u.coldDispatch(a.JnrcxzLater(), ask, back)
	back(u)
}

// piece is what one load compares: n bytes, which begin skip bytes into the
// aligned word of size bytes at addr.
type piece struct {
	addr          uint64
	size, skip, n int
}

// pieceAt is the first piece of the n bytes at addr. Loads are aligned, because a
// program may have alignment checked (EFLAGS.AC, as the Java virtual machine does
// for a moment to tell processors apart) and would be sent SIGBUS for one of
// ours. An aligned word that sticks out at the ends lies in the same page.
func (u *Translator) pieceAt(addr uint64, n int) piece {
	if u.HasBMI2 {
		skip := int(addr & 7)
		return piece{addr &^ 7, 8, skip, min(8-skip, n)}
	}
	// Without shifts that leave the flags alone: what is aligned by itself.
	size := 8
	for addr&uint64(size-1) != 0 || size > n {
		size /= 2
	}
	return piece{addr, size, 0, size}
}

// comparePiece leaves 0 in rcx if a piece of memory holds want.
// Bytes outside of the piece are shifted out; what is left is added to minus the
// wanted value.
func (u *Translator) comparePiece(pc piece, want []byte) {
	a := &u.asm
	if u.ar.Near(pc.addr) {
		a.Load(x86.RCX, asm.Abs(pc.addr), pc.size)
	} else {
		a.MovImm(x86.RDX, pc.addr)
		a.Load(x86.RCX, asm.At(x86.RDX, 0), pc.size)
	}
	var w [8]byte
	copy(w[:], want)
	value := binary.LittleEndian.Uint64(w[:])
	if pc.skip > 0 {
		a.MovImm(x86.RDX, uint64(8*pc.skip))
		a.Shrx(x86.RCX, x86.RCX, x86.RDX)
	}
	if above := pc.size - pc.n; above > 0 {
		a.MovImm(x86.RDX, uint64(8*above))
		a.Shlx(x86.RCX, x86.RCX, x86.RDX)
		value <<= 8 * above
	}
	a.MovImm(x86.RDX, -value)
	a.Lea(x86.RCX, asm.Sum(x86.RCX, x86.RDX, 1, 0))
}
