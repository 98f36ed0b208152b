package engine

import (
	"encoding/binary"

	"alleria/engine/x86"
	"alleria/internal/sys"
)

// Within the code of one instruction, recording may hold more of the
// application's state in memory than the two registers that the block borrows.
// Each such stretch is noted, so that a fault or a signal finds all of it.

// fixup says that between two offsets of a block's code a register is in a word
// of the thread's area, or the flags are.
type fixup struct {
	from, to uint32
	reg      x86.Reg // NoReg: the flags, as lahf and seto leave them in rax
	word     int
}

// stretch is a range of a block's code in which the instruction has not happened
// yet: an asynchronous signal may be delivered before it. write: what faults in
// it is the load of an instruction that also writes there.
type stretch struct {
	from, to uint32
	again    bool
	write    bool
}

// oddities is what few blocks' code needs: of single instructions, what else is in
// memory, and where they have not happened yet.
type oddities struct {
	fixes     []fixup
	stretches []stretch
	loop      *loop          // of a block that is a repeated string instruction
	parts     map[int]uint32 // ids of the facts of parts of single instructions
}

// oddly returns a block's oddities to be added to.
func (p *Process) oddly(rec *recording) *oddities {
	if rec.odd == 0 {
		p.odds = append(p.odds, new(oddities))
		rec.odd = uint32(len(p.odds))
	}
	return p.odds[rec.odd-1]
}

// oddOf is a block's oddities, nil if it has none.
func (p *Process) oddOf(rec *recording) *oddities {
	if rec.odd == 0 {
		return nil
	}
	return p.odds[rec.odd-1]
}

func (r *recorder) note(f fixup) { o := r.u.p.oddly(r.rec); o.fixes = append(o.fixes, f) }

func (r *recorder) stretch(s stretch) { o := r.u.p.oddly(r.rec); o.stretches = append(o.stretches, s) }

// offset is where the next byte lies in the block's code.
func (r *recorder) offset() uint32 { return uint32(r.u.asm.Here() - r.b.code) }

// borrow saves a register that the instruction does not mention and returns a
// function that gives it back.
// The function that gives it back must be called in the same block, on every way
// through it.
func (r *recorder) borrow(g x86.Reg, word int) (giveBack func()) {
	r.u.asm.StoreWord(word, g)
	from := r.offset()
	return func() {
		r.u.asm.LoadWord(g, word)
		r.note(fixup{from, r.offset(), g, word})
	}
}

// another returns a register that neither the instruction nor the block's code
// uses nor is in the set.
// Ten candidates are enough: no instruction mentions so many.
func (r *recorder) another(in *x86.Insn, not uint16) x86.Reg {
	used := in.Mentions() | 1<<x86.RSP | 1<<uint(r.rec.ra) | 1<<uint(r.rec.rb) | not
	for _, g := range []x86.Reg{x86.RDX, x86.RBX, x86.RSI, x86.RDI, x86.RCX, x86.RAX, x86.R8, x86.R9, x86.R10, x86.R11} {
		if used&(1<<uint(g)) == 0 {
			return g
		}
	}
	panic("no register to borrow")
}

// saveFlags keeps the flags in the area, rax being as it was in spillF.
func (r *recorder) saveFlags() {
	a := &r.u.asm
	a.StoreWord(spillF, x86.RAX)
	a.FlagsToRAX()
	a.StoreWord(spillF+8, x86.RAX)
	a.LoadWord(x86.RAX, spillF)
}

// setFlags makes the flags what saveFlags found; rax is left with garbage.
func (r *recorder) setFlags() {
	r.u.asm.LoadWord(x86.RAX, spillF+8)
	r.u.asm.FlagsFromRAX()
}

// flagsSavedSince notes that the flags are in the area from an offset up to here.
func (r *recorder) flagsSavedSince(from uint32) {
	r.note(fixup{from, r.offset(), x86.NoReg, spillF + 8})
}

// fix takes what recording has put aside back into the registers.
func (rec *recording) fix(t *Thread, at uint32, regs *sys.Regs) {
	odd := t.p.oddOf(rec)
	if odd == nil {
		return
	}
	for i := range odd.fixes {
		f := &odd.fixes[i]
		if at < f.from || at >= f.to {
			continue
		}
		v := t.slot.get(f.word)
		if f.reg != x86.NoReg {
			*regOf(regs, f.reg) = v
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

// again tells whether the instruction whose code holds the offset has not
// happened yet.
func (rec *recording) again(p *Process, at uint32) bool {
	odd := p.oddOf(rec)
	if odd == nil {
		return false
	}
	for i := range odd.stretches {
		if s := &odd.stretches[i]; s.again && at >= s.from && at < s.to {
			return true
		}
	}
	return false
}

// writes tells whether a fault at the offset is a load's whose instruction also
// writes.
func (rec *recording) writes(p *Process, at uint32) bool {
	odd := p.oddOf(rec)
	if odd == nil {
		return false
	}
	for i := range odd.stretches {
		if s := &odd.stretches[i]; s.write && at >= s.from && at < s.to {
			return true
		}
	}
	return false
}

// frameError is where a handler's ucontext has the page fault's error code, and
// its bit for a write.
const (
	frameError = 40 + 19*8
	errorWrite = 2
)

// frameOfWrite makes a signal's frame tell of a write: the processor reports one
// for an instruction that reads and writes the same place, of which recording
// executes the read first.
func (p *Process) frameOfWrite(regs *sys.Regs) {
	at := regs.Rdx + frameError
	var b [8]byte
	if _, err := p.mem.ReadAt(b[:], int64(at)); err == nil { // a frame that is gone: see cleanFrame
		_ = p.putWord(at, binary.LittleEndian.Uint64(b[:])|errorWrite)
	}
}
