package translate

import (
	"strings"

	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// A branch to an address that is not canonical faults at itself, not at its target. Translated code looks the target up, in tables and target checks that all
// branches share, and when that fails nothing says any more which branch it was. So a return, and an indirect jump, loads a byte from its target first, which
// nobody uses: a target that is not canonical faults there, in the branch's own code. Calls need none, since they leave their return address; nor does code
// that records, whose record says where it was.
//
// The load is on no path that anything waits for. Refused: a store of the branch's number (fib(40) took 1.19 times as long); comparisons, which change flags. With the
// stack pointer moved by pop, where it had been a load and an lea, fib(40) takes 0.97 times as long as without the load (see docs/internal/engine/translate.md).
//
// Other faults of the load are not the branch's: what cannot be read may be what is executed (execute-only pages, the vsyscall page), or fault when it is. The
// tracer has the thread go on behind it.

// What the load is: with and without a prefix that means nothing, which says that the branch is a return, whose address has been popped.
const (
	jumpLoad   = "\x0f\xb6\x11" // movzx edx, byte [rcx]
	returnLoad = "\x40" + jumpLoad
)

// seeTarget writes the load of a byte at the target in rcx, with rdx in its word; ret: of a return.
func (u *Translator) seeTarget(ret bool) {
	switch {
	case u.NoTargetLoad:
	case ret:
		u.asm.LoadRex(x86.RDX, asm.At(x86.RCX, 0), 1)
	default:
		u.asm.Load(x86.RDX, asm.At(x86.RCX, 0), 1)
	}
}

// TargetLoad is the size of the load from a branch's target with which code begins, 0 if it is none, and by how much the branch has moved the
// stack pointer in front of it.
func TargetLoad(code []byte) (size int, popped uint64) {
	first := string(code[:min(len(code), len(returnLoad))])
	switch {
	case first == returnLoad:
		return len(returnLoad), 8
	case strings.HasPrefix(first, jumpLoad):
		return len(jumpLoad), 0
	}
	return 0, 0
}

// ret writes a return: the target from the stack into rcx, then the look-up.
// A fault of the load is the ret's own: the stack pointer has not moved.
func (u *Translator) ret(in *x86.Insn) {
	a := &u.asm
	a.StoreWord(layout.S0, x86.RCX)
	u.checkReturn(in)
	if u.predicts() {
		a.Get(x86.RCX, x86.RSP, 0)
		u.retLookUp(in)
		return
	}
	a.Pop(x86.RCX)
	a.StoreWord(layout.S1, x86.RDX)
	u.seeTarget(true)
	if pop := popped(in); pop != 0 {
		a.LeaDisp(x86.RSP, x86.RSP, int64(pop))
	}
	u.find()
}

// popped is how much a return takes from the stack behind its address.
func popped(in *x86.Insn) uint16 {
	if in.ImmSize > 0 {
		return uint16(in.Imm)
	}
	return 0
}

// predicts tells whether calls and returns go by the processor's predictor.
func (u *Translator) predicts() bool { return u.Predict && u.limit == 0 }

// retLookUp goes on to the translation of the return address in rcx. It is put
// into the slot that the return frees, so that a real ret, which the processor
// predicts by the calls it has seen, gets there.
//
// rsp moves before the look-up, by lea, which changes no flags; with prediction the slot that
// it leaves behind holds a cache address for a moment, below the stack pointer, where the
// red zone of a function that has returned is nobody's.
func (u *Translator) retLookUp(in *x86.Insn) {
	a := &u.asm
	pop := popped(in)
	if !u.predicts() {
		a.LeaDisp(x86.RSP, x86.RSP, 8+int64(pop))
		u.lookUp()
		return
	}
	a.StoreWord(layout.S1, x86.RDX)
	a.MovzxHalf(x86.RDX, x86.RCX)
	a.Load(x86.RDX, asm.WordBy(codecache.TableOff(u.Variant), x86.RDX, 8), 8)
	a.Put(x86.RSP, 0, x86.RDX)
	a.Ret(pop)
}

// indirect writes an indirect jump or call.
func (u *Translator) indirect(b *codecache.Block, in *x86.Insn) (next uint64) {
	a := &u.asm
	a.StoreWord(layout.S0, x86.RCX)
	last := len(u.pos) - 1
	u.pos[last].Exec = uint16(a.Here() - b.Code)
	u.loadTarget(in)
	from := in.Addr // the instruction is overwritten before the closure runs
	if in.Cat == x86.CatCALL {
		return u.call(in, func(u *Translator) {
			u.countTarget(Site{Addr: from})
			u.lookUp()
		})
	}
	u.countTarget(Site{Addr: from, Jump: true})
	u.branchToEntries(in)
	a.StoreWord(layout.S1, x86.RDX)
	u.seeTarget(false)
	u.find()
	return 0
}

// loadTarget writes the load of an indirect branch's target into rcx.
//
// It may fault: that is the branch's own fault, at exec, and rcx is then still in S0.
func (u *Translator) loadTarget(in *x86.Insn) {
	if in.NMem == 0 || in.ModRM>>6 == 3 {
		r := x86.Reg(in.ModRM&7) | x86.Reg(in.Rex&1)<<3
		if r != x86.RCX {
			u.asm.Mov(x86.RCX, r)
		}
		return
	}
	m := &in.Mems[0]
	op := asm.Mem{Base: m.Base, Index: m.Index, Scale: m.Scale, Addr32: in.AddrBits == 32, Disp: m.Disp}
	if m.Seg == x86.SegFS {
		op.Seg = x86.SegFS
	}
	if m.Base == x86.RIP {
		addr := u.RipTarget(in)
		op.Disp = int64(addr)
		u.cache.Written.Mixed = u.cache.Written.Mixed || in.AddrBits == 32
		if addr >= 1<<31 && !u.ar.Near(addr) {
			u.movAddress(x86.RCX, in.Addr, addr)
			op.Base, op.Disp = x86.RCX, 0
		}
	}
	u.asm.Load(x86.RCX, op, 8)
}

// lookUp writes the look-up of the application address in rcx, whose own value
// is in S0: the table's entry for its low 16 bits leads to a target check (see
// Translator.targetCheck), which verifies it.
// rcx and rdx go to words of their own, which the target check or the miss routine takes
// back. A block that is used once asks, as at a miss: see askSpent.
func (u *Translator) lookUp() {
	u.asm.StoreWord(layout.S1, x86.RDX)
	u.find()
}

// find is the rest of it, with rdx in its word.
func (u *Translator) find() {
	a := &u.asm
	if u.limit > 0 {
		a.Jmp(u.ar.Base + u.ar.Routines.Indirect)
		return
	}
	a.MovzxHalf(x86.RDX, x86.RCX)
	a.JmpTable(codecache.TableOff(u.Variant), x86.RDX)
}
