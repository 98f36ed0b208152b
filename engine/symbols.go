package engine

import "alleria/engine/x86"

// symbols follows what the general registers hold through a block: each value
// is an unknown plus a constant, so that two addresses formed from the same
// unknowns need one word in the record.
//
// It is value numbering within one block: what a register holds at the block's start is the
// first set of unknowns, and whatever an instruction produces that is not followed is a new
// one. An unknown's number is never used again in a block, so that equal numbers mean equal
// values.
type symbols struct {
	reg   [x86.NumRegs]symbol
	next  int32
	known []addressKey
}

// symbol is a register's value: unknown number id, 0 the register's own at the
// block's start, plus off.
type symbol struct {
	id  int32
	off int64
}

// addressKey is the part of an address that has to be recorded, and where it
// was: word holds its value plus off.
type addressKey struct {
	base, index int32
	scale       uint8
	word        int16
	off         int64
}

// start names the registers' initial values.
// Number 0 stays for "no register", so that addresses without one compare equal.
func (s *symbols) start() {
	for i := range s.reg {
		s.reg[i] = symbol{id: int32(i) + 1}
	}
	s.next = x86.NumRegs + 1
}

// key splits an operand's address into its unknown part and its constant.
// Constants wrap with the address, as they do in the processor.
func (s *symbols) key(o *x86.Operand) (k addressKey, constant int64) {
	constant = o.Disp
	if o.Base != x86.NoReg {
		k.base = s.reg[o.Base].id
		k.off += s.reg[o.Base].off
	}
	if o.Index != x86.NoReg {
		k.index, k.scale = s.reg[o.Index].id, o.IndexScale
		k.off += s.reg[o.Index].off * int64(o.IndexScale)
	}
	return k, constant + k.off
}

// find returns the known address of the same unknown part.
func (s *symbols) find(k addressKey) *addressKey {
	for i := range s.known {
		if e := &s.known[i]; e.base == k.base && e.index == k.index && e.scale == k.scale {
			return e
		}
	}
	return nil
}

// step follows an instruction.
//
// It must follow every instruction of the block, also those of which nothing is recorded. A
// partial write (of ax, say) makes the whole register unknown.
func (s *symbols) step(in *x86.Insn) {
	moves := s.exact(in)
	for w, i := in.GPRWrite, 0; w != 0; w, i = w>>1, i+1 {
		if w&1 != 0 && (moves == nil || moves.reg != x86.Reg(i)) {
			if i == int(x86.RSP) && s.stack(in) {
				continue
			}
			s.reg[i] = symbol{id: s.next}
			s.next++
		}
	}
	if moves != nil {
		s.reg[moves.reg] = moves.val
	}
}

// regMove is a register that has become a known symbol.
type regMove struct {
	reg x86.Reg
	val symbol
}

// exact tells the register that an instruction sets to a known symbol.
//
// Only full-width forms are followed: the upper half of a 32-bit result is zero, which no
// constant added to the old value gives.
func (s *symbols) exact(in *x86.Insn) *regMove {
	if in.NOps < 1 || in.Ops[0].Kind != x86.OpReg || in.Ops[0].Class != x86.ClassGPR64 {
		return nil
	}
	dst := x86.Reg(in.Ops[0].ID)
	cur := s.reg[dst]
	imm := in.NOps > 1 && in.Ops[1].Kind == x86.OpImm
	switch in.Mnem {
	case x86.MMOV:
		if in.Ops[1].Kind == x86.OpReg && in.Ops[1].Class == x86.ClassGPR64 {
			return &regMove{dst, s.reg[in.Ops[1].ID]}
		}
	case x86.MLEA:
		m := &in.Mems[0]
		if m.Index == x86.NoReg && m.Base >= 0 && m.Base < x86.RIP && in.AddrBits == 64 {
			b := s.reg[m.Base]
			return &regMove{dst, symbol{b.id, b.off + m.Disp}}
		}
	case x86.MADD:
		if imm {
			return &regMove{dst, symbol{cur.id, cur.off + in.Imm}}
		}
	case x86.MSUB:
		if imm {
			return &regMove{dst, symbol{cur.id, cur.off - in.Imm}}
		}
	case x86.MINC:
		return &regMove{dst, symbol{cur.id, cur.off + 1}}
	case x86.MDEC:
		return &regMove{dst, symbol{cur.id, cur.off - 1}}
	}
	return nil
}

// stack follows rsp through pushes and pops; false if the instruction does
// something else to it.
func (s *symbols) stack(in *x86.Insn) bool {
	sp := &s.reg[x86.RSP]
	switch in.Mnem {
	case x86.MCALL:
		sp.off -= 8
		return true
	case x86.MPUSH, x86.MPUSHFQ:
		if in.OpBits == 64 {
			sp.off -= 8
			return true
		}
	case x86.MPOP, x86.MPOPFQ:
		if in.OpBits == 64 && !(in.Ops[0].Kind == x86.OpReg && x86.Reg(in.Ops[0].ID) == x86.RSP) {
			sp.off += 8
			return true
		}
	}
	return false
}
