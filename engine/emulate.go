package engine

import (
	"encoding/binary"

	"alleria/engine/codecache"
	"alleria/engine/recovery"
	"alleria/engine/tracee"
	"alleria/engine/x86"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// maxEmulated bounds the accesses that are recorded of one instruction that
// the tracer executed.
// A gather or an enter has at most a few dozen; a string's further iterations are
// not worth a mark of any size.
const maxEmulated = 256

// emulated is what is known of an instruction's accesses before the tracer lets
// it execute.
type emulated struct {
	facts *records.Block
	in    x86.Insn
	ops   []x86.Operand
	regs  [x86.NumRegs]uint64
	addrs []uint64
	size  []uint64
}

// beforeEmulation notes the addresses of the instruction in block b.
func (tr *Tracer) beforeEmulation(t *Thread, b *codecache.Block, regs *sys.Regs) *emulated {
	e := &emulated{facts: t.p.cache.Facts.Get(b.Rec.ID)}
	var one [1]x86.Insn
	// The facts hold the code as it was translated; memory may hold something else
	// by now.
	if n, _ := x86.Decode(e.facts.Code, b.App, one[:]); n != 1 {
		return e
	}
	e.in = one[0]
	if e.facts.Ins[0].Flags&(records.InsAddrs|records.InsValues) != 0 {
		e.ops = e.in.Accesses(nil)
	}
	// Addresses are formed now: the instruction may write the registers they come
	// from.
	g := recovery.Generals(regs)
	e.regs = g
	for i := range e.ops {
		a := e.ops[i].Address(&g, regs.Fs_base, t.appGS)
		e.addrs = append(e.addrs, a)
		e.size = append(e.size, t.p.operandSize(&e.in, &e.ops[i], a))
	}
	return e
}

// operandSize is an operand's size in bytes; that of an XSAVE area is in its
// header.
func (p *Process) operandSize(in *x86.Insn, o *x86.Operand, addr uint64) uint64 {
	if !in.Complex() {
		return uint64(o.Size)
	}
	var h [16]byte
	// XSTATE_BV and XCOMP_BV, behind the legacy region of 512 bytes (SDM, volume 1,
	// 13.4).
	if _, err := p.mem.ReadAt(h[:], int64(addr+512)); err != nil {
		return uint64(o.Size)
	}
	return x86.XSaveSize(binary.LittleEndian.Uint64(h[:]), in.Layout(binary.LittleEndian.Uint64(h[8:])))
}

// afterEmulation records the instruction that was executed.
// A string instruction is recorded by how far its pointers got.
func (tr *Tracer) afterEmulation(t *Thread, b *codecache.Block, e *emulated, regs *sys.Regs) {
	m := emulatedMark{words: []uint64{records.Mark(records.MarkEmulated, uint64(e.facts.ID)), 0}}
	for i := range e.ops {
		o := &e.ops[i]
		size := e.size[i]
		if e.in.Complex() {
			if o.Store {
				// Of a save the header is read afterwards: the instruction has
				// written it.
				size = t.p.operandSize(&e.in, o, e.addrs[i])
			} else if e.in.Mnem == x86.MXSAVE || e.in.Mnem == x86.MXSAVE64 || e.in.Mnem == x86.MXSAVEOPT || e.in.Mnem == x86.MXSAVEOPT64 {
				continue // the header it reads is part of what it writes
			}
		}
		if o.Kind != records.AccessString {
			m.add(e.addrs[i], size, o.Store)
		}
	}
	if e.repeats() {
		m.iterations(e, recovery.Generals(regs))
	}
	t.mark(m.words...)
}

// emulatedMark is a MarkEmulated being made.
// Its words are the mark's own: head, number of pairs, pairs.
type emulatedMark struct{ words []uint64 }

func (m *emulatedMark) add(addr, size uint64, store bool) {
	if m.words[1] == maxEmulated {
		return
	}
	if store {
		size |= 1 << 63
	}
	m.words = append(m.words, addr, size)
	m.words[1]++
}

// iterations adds the accesses of a repeated string instruction, those of one
// iteration together; after is the registers behind it.
func (m *emulatedMark) iterations(e *emulated, after [x86.NumRegs]uint64) {
	// How far the first pointer got says how many iterations there were, faults
	// included, and in which direction.
	d := int64(after[e.ops[0].Base] - e.regs[e.ops[0].Base])
	if e.ops[0].AddrBits == 32 {
		d = int64(int32(d))
	}
	step := int64(e.ops[0].Size)
	if d < 0 {
		d, step = -d, -step
	}
	for k := range min(d/int64(e.ops[0].Size), maxEmulated) {
		for i := range e.ops {
			m.add(e.addrs[i]+uint64(k*step), uint64(e.ops[i].Size), e.ops[i].Store)
		}
	}
}

// repeatsAt tells whether a string instruction with a repeat prefix lies at addr.
// Nothing is known of an instruction that was executed natively but its address.
func (p *Process) repeatsAt(addr uint64) bool {
	var code [15]byte
	n, _ := p.mem.ReadAt(code[:], int64(addr))
	var one [1]x86.Insn
	if k, _ := x86.Decode(code[:n], addr, one[:]); k == 0 {
		return false
	}
	e := emulated{ops: one[0].Accesses(nil)}
	return e.repeats()
}

// repeats tells a string instruction with a repeat prefix.
func (e *emulated) repeats() bool {
	for i := range e.ops {
		if e.ops[i].Kind == records.AccessString {
			return true
		}
	}
	return false
}

// vsyscallPage is where three calls lie, 1 KiB apart, that old programs make as
// functions. The kernel emulates each as a whole when it is jumped to.
const vsyscallPage = 0xffffffffff600000

// vsyscallNumber is the system call that an address in the page stands for.
// Addresses between them raise SIGSEGV, which is left to the kernel.
func vsyscallNumber(addr uint64) (nr uint64, ok bool) {
	switch addr {
	case vsyscallPage:
		return 96, true // gettimeofday
	case vsyscallPage + 0x400:
		return 201, true // time
	case vsyscallPage + 0x800:
		return 309, true // getcpu
	}
	return 0, false
}

// vsyscall executes the call that regs, the application's, are about to make
// through the page, and goes on where it returns to. Left to the kernel, the
// thread would return to the application's own code and escape.
func (tr *Tracer) vsyscall(t *Thread, regs *sys.Regs, nr uint64) error {
	var ret [8]byte
	if _, err := t.p.mem.ReadAt(ret[:], int64(regs.Rsp)); err != nil {
		return tr.vsyscallFaults(t, regs)
	}
	a := t.p.cache.Regions[0]
	r := *regs
	r.Rip, r.Rax, r.Orig_rax = a.Base+a.Routines.Inject, nr, ^uint64(0)
	if err := t.tracee.CallWith(&r); err != nil {
		return err
	}
	if efault := int64(-14); r.Rax == uint64(efault) {
		return tr.vsyscallFaults(t, regs)
	}
	// As the emulated call does: a result, and a return by popping the address.
	regs.Rax = r.Rax
	regs.Rip, regs.Rsp = binary.LittleEndian.Uint64(ret[:]), regs.Rsp+8
	return tr.enter(t, regs, 0)
}

// vsyscallFaults leaves a call to the kernel whose stack or pointers cannot be used: it raises SIGSEGV, in front of
// the return.
func (tr *Tracer) vsyscallFaults(t *Thread, regs *sys.Regs) error {
	t.native = true
	r := *regs
	r.Gs_base = t.appGS
	if err := t.tracee.SetRegs(&r); err != nil {
		return err
	}
	return tr.resume(t, 0)
}

// A program may have the processor refuse it the time-stamp counter (PR_SET_TSC, strict seccomp). Translated code that
// takes the time faults then, in front of nothing of the program's: it is given the time by the tracer, and goes on.

// stampFault gives a thread the time that translated code could not take at regs; false if the fault is the
// program's own.
func (tr *Tracer) stampFault(t *Thread, regs *sys.Regs, h *tracee.Signal) bool {
	if h.Number != tracee.SIGSEGV || h.Info.Code() != tracee.CodeKernel || !tr.ownStamp(t, regs.Rip) {
		return false
	}
	now := sys.TSC()
	regs.Rax, regs.Rdx = now&(1<<32-1), now>>32
	regs.Rip += 2
	return true
}

// ownStamp tells whether at a cache address lies an rdtsc that is not a copy of the program's.
func (tr *Tracer) ownStamp(t *Thread, addr uint64) bool {
	a := t.p.cache.RegionAt(addr)
	if a == nil {
		return false
	}
	var code [2]byte
	if n, _ := t.p.mem.ReadAt(code[:], int64(addr)); n != 2 || code != [2]byte{0x0f, 0x31} {
		return false
	}
	b := t.p.cache.BlockAt(a, addr)
	if b == nil {
		return true // a routine or a stub
	}
	at, pos := uint32(addr-b.Code), t.p.cache.PositionsOf(b)
	i, _ := pos.Find(at)
	return at != uint32(pos.At[i].Exec) || b.Term == codecache.TermSyscall && i == pos.N-1
}
