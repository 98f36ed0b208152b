package emulate

import (
	"encoding/binary"

	"alleria/engine/recovery"
	"alleria/engine/x86"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// What is recorded beside the accesses' addresses: registers in front of the instruction, and what the accesses read and
// wrote. Both are read where the thread stands, as the tracer has it stopped there anyway: of a load in front of the instruction, of a
// store behind it. What other threads change meanwhile is not the instruction's.

// resumeFlag is in the flags that the kernel tells after a fault. No program sees
// it: pushf pushes 0.
const resumeFlag = 0x10000

// stateBytes is more than the XSAVE area of any processor.
const stateBytes = 16 << 10

// State reads a stopped thread's vector and x87 state, as xsave writes it in the standard format, into b and returns its length.
type State func(b []byte) (int, error)

// registers is the words of an execution of the block with the registers that its facts list, as they are in front of it; nil if they cannot be read.
func registers(facts *records.Block, regs *sys.Regs, read State) []uint64 {
	words := make([]uint64, facts.Words)
	general := recovery.Generals(regs)
	var state []byte
	for _, r := range facts.Regs {
		if r.Word == records.NoWord {
			continue
		}
		to := words[r.Word:]
		switch class, n := r.Reg&^0xff, uint32(r.Reg&0xff); {
		case class <= records.RegHigh:
			to[0] = general[n]
			continue
		case r.Reg == records.RegFlags:
			to[0] = regs.Eflags &^ resumeFlag
			continue
		default:
			if state == nil {
				state = make([]byte, stateBytes)
				k, err := read(state)
				if err != nil {
					return nil
				}
				state = state[:k]
			}
			putState(to, state, class, n)
		}
	}
	return words
}

// putState writes the words of a register that lies in an XSAVE area.
func putState(to []uint64, state []byte, class records.Reg, n uint32) {
	switch class {
	case records.RegXMM, records.RegYMM, records.RegZMM:
		if n >= 16 {
			put(to, part(state, component(x86.StateHiZMM, 64*(n-16)), 16<<((class-records.RegXMM)>>8)))
			return
		}
		put(to, part(state, x86.StateXMM0Off+16*n, 16))
		if class >= records.RegYMM {
			put(to[2:], part(state, component(x86.StateYMM, 16*n), 16))
		}
		if class == records.RegZMM {
			put(to[4:], part(state, component(x86.StateZMM, 32*n), 32))
		}
	case records.RegMask:
		put(to, part(state, component(x86.StateK, 8*n), 8))
	case records.RegMMX:
		put(to, part(state, 32+16*n, 8))
	case records.RegX87:
		put(to, part(state, 32+16*n, 10))
	case records.RegSpecial:
		put(to, part(state, 24, 4)) // MXCSR, the only one of them that is here
	}
}

// component is where a part of a state component lies; 0: the processor has none.
func component(n int, off uint32) uint32 {
	if at, _ := x86.StateComponent(n); at != 0 {
		return at + off
	}
	return 0
}

// part is n bytes of the state, zeros where the processor has no such component.
func part(state []byte, off uint32, n int) []byte {
	if off == 0 || int(off)+n > len(state) {
		return make([]byte, n)
	}
	return state[off:][:n]
}

// put writes bytes into whole words.
func put(to []uint64, b []byte) {
	for i := 0; i < len(b); i += 8 {
		var w [8]byte
		copy(w[:], b[i:])
		to[i/8] = binary.LittleEndian.Uint64(w[:])
	}
}

// maxValue is the largest access whose value is recorded, as it is in code.
const maxValue = 512

// value reads what lies at an address; nil if it cannot be read, or is no value to be recorded.
func (e *Execution) value(addr, size uint64) []uint64 {
	if e.facts.Ins[0].Flags&records.InsValues == 0 || e.in.Complex() || size == 0 || size > maxValue {
		return nil
	}
	b := make([]byte, size)
	if n, err := e.mem.ReadAt(b, int64(addr)); n < len(b) || err != nil {
		return nil
	}
	w := make([]uint64, (size+7)/8)
	put(w, b)
	return w
}

// begin notes what an iteration of a repeated string instruction is about to load, with these registers.
func (e *Execution) begin(g *[x86.NumRegs]uint64) {
	for i := range e.ops {
		o := &e.ops[i]
		if o.Kind != records.AccessString || len(e.iterated) >= maxEmulated {
			continue
		}
		v := iterated{addr: o.Address(g, e.fs, e.gs), size: uint64(o.Size)}
		if !o.Store {
			v.value = e.value(v.addr, v.size)
		}
		e.iterated = append(e.iterated, v)
	}
}

// end notes what the last iteration has stored.
func (e *Execution) end() {
	n := len(e.ops)
	for i := max(0, len(e.iterated)-n); i < len(e.iterated); i++ {
		if v := &e.iterated[i]; v.value == nil && e.ops[i%n].Store {
			v.value = e.value(v.addr, v.size)
		}
	}
}

// Again notes, between two iterations of a repeated string instruction, what the one has stored and the other will load, with the registers between them.
func (e *Execution) Again(regs *sys.Regs) {
	g := recovery.Generals(regs)
	e.end()
	e.begin(&g)
}

// iterated is one access of an iteration.
type iterated struct {
	addr, size uint64
	value      []uint64
}
