// Package emulate records the memory accesses of instructions that the tracer has a thread execute natively, one at a time, because they
// cannot be copied into the cache: their addresses are formed from the registers in front of them, their sizes where those lie in memory, and how far a
// string instruction got from those behind it.
//
// The engine calls Before with a stopped thread's registers, executes the instruction, and appends what After returns to the thread's ring. Nothing is kept; nothing
// here runs a thread. Values and registers are recorded where they are asked for (beside.go).
package emulate

import (
	"bytes"
	"encoding/binary"
	"io"

	"alleria/engine/recovery"
	"alleria/engine/x86"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// maxEmulated bounds the accesses that are recorded of one instruction that
// the tracer executed.
// A gather or an enter has at most a few dozen; a string's further iterations are
// not worth a mark of any size.
const maxEmulated = 256

// Execution is what is known of an instruction's accesses before the tracer lets
// it execute.
type Execution struct {
	mem   io.ReaderAt
	facts *records.Block
	in    x86.Insn
	ops   []x86.Operand
	regs  [x86.NumRegs]uint64
	fs    uint64
	gs    uint64
	addrs []uint64
	size  []uint64

	words    []uint64   // with the registers before it; nil where none are recorded
	loads    [][]uint64 // what each operand is about to load
	iterated []iterated // the accesses of a repeated string instruction's iterations
}

// Before notes the addresses of the one instruction of a block, with these facts, that a thread with these registers is about to execute at
// an application address. mem is the application's memory, gs its base, and state reads the rest of its registers.
func Before(mem io.ReaderAt, facts *records.Block, app uint64, regs *sys.Regs, gs uint64, state State) *Execution {
	e := &Execution{mem: mem, facts: facts, fs: regs.Fs_base, gs: gs}
	if len(facts.Regs) > 0 {
		e.words = registers(facts, regs, state)
	}
	var one [1]x86.Insn
	// The facts hold the code as it was translated; memory may hold something else
	// by now.
	if n, _ := x86.Decode(e.facts.Code, app, one[:]); n != 1 {
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
		a := e.ops[i].Address(&g, regs.Fs_base, gs)
		e.addrs = append(e.addrs, a)
		e.size = append(e.size, e.operandSize(&e.ops[i], a))
		var load []uint64
		if o := &e.ops[i]; o.Kind == records.AccessPlain && !o.Store {
			load = e.value(a, e.size[i])
		}
		e.loads = append(e.loads, load)
	}
	if e.repeats() {
		e.begin(&g)
	}
	return e
}

// operandSize is an operand's size in bytes; that of an XSAVE area is in its
// header.
func (e *Execution) operandSize(o *x86.Operand, addr uint64) uint64 {
	in := &e.in
	if !in.Complex() {
		return uint64(o.Size)
	}
	var h [16]byte
	// XSTATE_BV and XCOMP_BV, behind the legacy region of 512 bytes (SDM, volume 1,
	// 13.4).
	if _, err := e.mem.ReadAt(h[:], int64(addr+512)); err != nil {
		return uint64(o.Size)
	}
	return x86.XSaveSize(binary.LittleEndian.Uint64(h[:]), in.Layout(binary.LittleEndian.Uint64(h[8:])))
}

// After is the marks for the instruction that was executed, with the registers behind it.
// A string instruction is recorded by how far its pointers got.
func (e *Execution) After(regs *sys.Regs) []uint64 {
	m := mark{words: []uint64{records.Mark(records.MarkEmulated, uint64(e.facts.ID)), 0}, known: true}
	for i := range e.ops {
		o := &e.ops[i]
		size := e.size[i]
		if e.in.Complex() {
			if o.Store {
				// Of a save the header is read afterwards: the instruction has
				// written it.
				size = e.operandSize(o, e.addrs[i])
			} else if e.in.Mnem == x86.MXSAVE || e.in.Mnem == x86.MXSAVE64 || e.in.Mnem == x86.MXSAVEOPT || e.in.Mnem == x86.MXSAVEOPT64 {
				continue // the header it reads is part of what it writes
			}
		}
		if o.Kind != records.AccessString {
			value := e.loads[i]
			if o.Store && o.Kind == records.AccessPlain {
				value = e.value(e.addrs[i], size)
			}
			m.add(e.addrs[i], size, o.Store, value)
		}
	}
	if e.repeats() {
		e.end()
		m.iterations(e, recovery.Generals(regs))
	}
	beside := e.words
	if len(m.values) > 0 {
		if beside == nil {
			beside = make([]uint64, e.facts.Words)
		}
		beside = append(beside, m.values...)
	}
	return append(records.Beside(nil, beside), m.words...)
}

// mark is a MarkEmulated being made.
// Its words are the mark's own: head, number of pairs, pairs.
type mark struct {
	words  []uint64
	values []uint64 // of the accesses, as far as all in front of them are known too
	known  bool     // none was missing so far
}

// maxValues bounds the words of values, so that all of an execution's marks fit into a ring's slack.
const maxValues = 160

// add adds an access; value is nil where it is not known.
func (m *mark) add(addr, size uint64, store bool, value []uint64) {
	if m.words[1] == maxEmulated {
		return
	}
	m.known = m.known && value != nil && len(m.values)+len(value) <= maxValues
	if m.known {
		m.values = append(m.values, value...)
	}
	if store {
		size |= 1 << 63
	}
	m.words = append(m.words, addr, size)
	m.words[1]++
}

// iterations adds the accesses of a repeated string instruction, those of one
// iteration together; after is the registers behind it.
func (m *mark) iterations(e *Execution, after [x86.NumRegs]uint64) {
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
			var value []uint64
			if n := int(k)*len(e.ops) + i; n < len(e.iterated) {
				value = e.iterated[n].value
			}
			m.add(e.addrs[i]+uint64(k*step), uint64(e.ops[i].Size), e.ops[i].Store, value)
		}
	}
}

// Next is the address behind the instruction.
func (e *Execution) Next() uint64 { return e.in.Next() }

// Icebp tells whether code at an address begins with an int1, and what is behind it.
func Icebp(code []byte, addr uint64) (next uint64, ok bool) {
	if bytes.IndexByte(code, 0xf1) < 0 { // nearly always: nothing is to be decoded
		return 0, false
	}
	var one [1]x86.Insn
	if k, _ := x86.Decode(code, addr, one[:]); k == 0 || one[0].Mnem != x86.MINT1 {
		return 0, false
	}
	return one[0].Next(), true
}

// RepeatsAt tells whether a string instruction with a repeat prefix lies at addr.
// Nothing is known of an instruction that was executed natively but its address.
func RepeatsAt(mem io.ReaderAt, addr uint64) bool {
	var code [15]byte
	n, _ := mem.ReadAt(code[:], int64(addr))
	var one [1]x86.Insn
	if k, _ := x86.Decode(code[:n], addr, one[:]); k == 0 {
		return false
	}
	e := Execution{ops: one[0].Accesses(nil)}
	return e.repeats()
}

// repeats tells a string instruction with a repeat prefix.
func (e *Execution) repeats() bool {
	for i := range e.ops {
		if e.ops[i].Kind == records.AccessString {
			return true
		}
	}
	return false
}
