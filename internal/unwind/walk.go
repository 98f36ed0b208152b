package unwind

import (
	"encoding/binary"

	"github.com/go-delve/delve/pkg/dwarf/frame"
	"github.com/go-delve/delve/pkg/dwarf/op"
)

// Registers are what is known of a thread's registers, by DWARF's numbers; of PC it is where the thread is.
type Registers struct {
	Value [count]uint64
	Known [count]bool
}

// Set makes a register known.
func (r *Registers) Set(reg int, v uint64) { r.Value[reg], r.Known[reg] = v, true }

// Memory reads the thread's memory.
type Memory interface {
	// Word reads eight bytes, false where they are not there.
	Word(addr uint64) (uint64, bool)
}

// Step is how one function has come to be executed.
type Step struct {
	Slot uint64 // where its return address lies; 0: it is a signal's handler's, and was not called
	Ret  uint64 // the return address; of a handler, where the thread was interrupted
}

// Outcome is how a step went.
type Outcome uint8

const (
	Found   Outcome = iota
	Last            // there is no caller: the thread began here
	Unknown         // nothing says who it is
)

// Caller goes from a function to its caller: r, the registers in it, become the caller's. called: the function at PC has called, so that its
// instruction is the one in front. bias is what addresses of the thread have more than those of the table.
func (t *Table) Caller(r *Registers, bias uint64, called bool, mem Memory) (Step, Outcome) {
	pc := r.Value[PC] - bias
	if called {
		pc-- // the call may be a function's last instruction
	}
	row := t.row(pc)
	if row == nil {
		return Step{}, Unknown
	}
	if row.last {
		return Step{}, Last
	}
	cfa, ok := r.frame(row, mem)
	if !ok || cfa <= r.Value[SP] && !row.signal {
		return Step{}, Unknown
	}
	next := *r
	next.Set(SP, cfa)
	var s Step
	for _, reg := range row.regs {
		v, at, ok := r.caller(reg, cfa, mem)
		next.Value[reg.reg], next.Known[reg.reg] = v, ok
		if reg.reg == PC {
			if !ok {
				return Step{}, Unknown
			}
			s = Step{Slot: at, Ret: v}
		}
	}
	if s.Ret == 0 {
		return Step{}, Last
	}
	if row.signal {
		s.Slot = 0
	} else if s.Slot == 0 {
		return Step{}, Unknown
	}
	*r = next
	return s, Found
}

// frame is the canonical frame address: what the caller's stack pointer was before it called.
func (r *Registers) frame(row *row, mem Memory) (uint64, bool) {
	switch row.cfa.Rule {
	case frame.RuleCFA:
		if reg := row.cfa.Reg; reg < count && r.Known[reg] {
			return r.Value[reg] + uint64(row.cfa.Offset), true
		}
	case frame.RuleExpression, frame.RuleValExpression:
		return r.expression(row.cfa.Expression, mem)
	}
	return 0, false
}

// caller is what the caller had in a register, and where that lies.
func (r *Registers) caller(s saved, cfa uint64, mem Memory) (v, at uint64, ok bool) {
	switch rule := s.rule; rule.Rule {
	case frame.RuleOffset:
		at = cfa + uint64(rule.Offset)
		v, ok = mem.Word(at)
		return v, at, ok
	case frame.RuleExpression:
		if at, ok = r.expression(rule.Expression, mem); ok {
			v, ok = mem.Word(at)
		}
		return v, at, ok
	case frame.RuleValExpression:
		v, ok = r.expression(rule.Expression, mem)
		return v, 0, ok
	case frame.RuleValOffset:
		return cfa + uint64(rule.Offset), 0, true
	case frame.RuleRegister:
		if rule.Reg < count {
			return r.Value[rule.Reg], 0, r.Known[rule.Reg]
		}
	}
	return 0, 0, false
}

// expression works a DWARF expression out. Registers that are not known are none to it.
func (r *Registers) expression(e []byte, mem Memory) (v uint64, ok bool) {
	defer func() {
		if recover() != nil {
			v, ok = 0, false
		}
	}()
	regs := make([]*op.DwarfRegister, count)
	for i := range regs {
		if r.Known[i] {
			regs[i] = op.DwarfRegisterFromUint64(r.Value[i])
		}
	}
	d := op.NewDwarfRegisters(0, regs, binary.LittleEndian, PC, SP, BP, 0)
	read := func(b []byte, at uint64) (int, error) {
		w, ok := mem.Word(at)
		if !ok || len(b) > 8 {
			return 0, op.ErrMemoryReadUnavailable
		}
		var all [8]byte
		binary.LittleEndian.PutUint64(all[:], w)
		return copy(b, all[:]), nil
	}
	n, _, err := op.ExecuteStackProgram(*d, e, 8, read)
	return uint64(n), err == nil
}
