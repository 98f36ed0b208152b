package translate

import "alleria/engine/x86"

// Symbols follows what the general registers hold through a block: each value
// is an unknown plus a constant, so that two addresses formed from the same
// unknowns need one word in the record.
//
// It is value numbering within one block: what a register holds at the block's start is the
// first set of unknowns, and whatever an instruction produces that is not followed is a new
// one. An unknown's number is never used again in a block, so that equal numbers mean equal
// values.
type Symbols struct {
	Reg   [x86.NumRegs]Symbol
	next  int32
	known []addressKey
}

// Symbol is a register's value: unknown number id, 0 the register's own at the
// block's start, plus off.
type Symbol struct {
	ID  int32
	Off int64
}

// addressKey is the part of an address that has to be recorded, and where it
// was: word holds its value plus off.
type addressKey struct {
	base, index int32
	scale       uint8
	word        int16
	off         int64
}

// Start names the registers' initial values.
// Number 0 stays for "no register", so that addresses without one compare equal.
func (s *Symbols) Start() {
	for i := range s.Reg {
		s.Reg[i] = Symbol{ID: int32(i) + 1}
	}
	s.next = x86.NumRegs + 1
}

// key splits an operand's address into its unknown part and its constant.
// Constants wrap with the address, as they do in the processor.
func (s *Symbols) key(o *x86.Operand) (k addressKey, constant int64) {
	constant = o.Disp
	if o.Base != x86.NoReg {
		k.base = s.Reg[o.Base].ID
		k.off += s.Reg[o.Base].Off
	}
	if o.Index != x86.NoReg {
		k.index, k.scale = s.Reg[o.Index].ID, o.IndexScale
		k.off += s.Reg[o.Index].Off * int64(o.IndexScale)
	}
	return k, constant + k.off
}

// find returns the known address of the same unknown part.
func (s *Symbols) find(k addressKey) *addressKey {
	for i := range s.known {
		if e := &s.known[i]; e.base == k.base && e.index == k.index && e.scale == k.scale {
			return e
		}
	}
	return nil
}

// Step follows an instruction.
//
// It must follow every instruction of the block, also those of which nothing is recorded. A
// partial write (of ax, say) makes the whole register unknown.
func (s *Symbols) Step(in *x86.Insn) {
	move, moves := s.exact(in)
	for w, i := in.GPRWrite, 0; w != 0; w, i = w>>1, i+1 {
		if w&1 != 0 && (!moves || move.reg != x86.Reg(i)) {
			if i == int(x86.RSP) && s.stack(in) {
				continue
			}
			s.Reg[i] = Symbol{ID: s.next}
			s.next++
		}
	}
	if moves {
		s.Reg[move.reg] = move.val
	}
}

// regMove is a register that has become a known symbol.
type regMove struct {
	reg x86.Reg
	val Symbol
}

// exact tells the register that an instruction sets to a known symbol, if it does.
//
// Only full-width forms are followed: the upper half of a 32-bit result is zero, which no
// constant added to the old value gives.
func (s *Symbols) exact(in *x86.Insn) (move regMove, ok bool) {
	if in.NOps < 1 || in.Ops[0].Kind != x86.OpReg || in.Ops[0].Class != x86.ClassGPR64 {
		return move, false
	}
	dst := x86.Reg(in.Ops[0].ID)
	cur := s.Reg[dst]
	imm := in.NOps > 1 && in.Ops[1].Kind == x86.OpImm
	switch in.Mnem {
	case x86.MMOV:
		if in.Ops[1].Kind == x86.OpReg && in.Ops[1].Class == x86.ClassGPR64 {
			return regMove{dst, s.Reg[in.Ops[1].ID]}, true
		}
	case x86.MLEA:
		m := &in.Mems[0]
		if m.Index == x86.NoReg && m.Base >= 0 && m.Base < x86.RIP && in.AddrBits == 64 {
			b := s.Reg[m.Base]
			return regMove{dst, Symbol{b.ID, b.Off + m.Disp}}, true
		}
	case x86.MADD:
		if imm {
			return regMove{dst, Symbol{cur.ID, cur.Off + in.Imm}}, true
		}
	case x86.MSUB:
		if imm {
			return regMove{dst, Symbol{cur.ID, cur.Off - in.Imm}}, true
		}
	case x86.MINC:
		return regMove{dst, Symbol{cur.ID, cur.Off + 1}}, true
	case x86.MDEC:
		return regMove{dst, Symbol{cur.ID, cur.Off - 1}}, true
	}
	return move, false
}

// stack follows rsp through pushes and pops; false if the instruction does
// something else to it.
func (s *Symbols) stack(in *x86.Insn) bool {
	sp := &s.Reg[x86.RSP]
	switch in.Mnem {
	case x86.MCALL:
		sp.Off -= 8
		return true
	case x86.MPUSH, x86.MPUSHFQ:
		if in.OpBits == 64 {
			sp.Off -= 8
			return true
		}
	case x86.MPOP, x86.MPOPFQ:
		if in.OpBits == 64 && !(in.Ops[0].Kind == x86.OpReg && x86.Reg(in.Ops[0].ID) == x86.RSP) {
			sp.Off += 8
			return true
		}
	}
	return false
}
