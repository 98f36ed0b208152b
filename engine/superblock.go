package engine

import (
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// A recorded block goes on behind conditional branches that jump forward, as long as they
// are not taken: a superblock, one entry and several exits. What a record costs (its number,
// the ring pointer, two borrowed registers, and all that a reader does for a block) is then
// paid once for several basic blocks, and addresses that were formed from the same registers
// need one word in all of them.
//
// Each way out has a record of its own length. Its words are those that the longest record
// begins with, so that only the number differs: an execution that leaves early is a
// whole execution of another block, whose facts are the first part of the longest one's.
// Readers see blocks of contiguous code, some of which have branches in their middle that
// were not taken.
//
// Refused: to write down that a record was cut short, which readers have to be told with a
// word more; to follow branches that are mostly taken, which needs to know the ways a program
// takes, and blocks of code that is not contiguous.

// Bounds of a superblock. Longer ones would find no two registers to borrow, and write code
// that is seldom reached.
const (
	maxSuperInsns = 40
	maxSideExits  = 6
)

// sideExit is the way out of a superblock by a branch in its middle: code that completes the
// record there, gives the registers back and goes on at the branch's target.
type sideExit struct {
	site   int // of the branch's displacement
	rec    *recording
	id     uint32 // of the facts of what was executed
	words  int    // of the record up to there
	target uint64
}

// passes tells a branch that a superblock goes on behind: a conditional one with a condition
// in its opcode, to a place further on. One that goes back is taken more often than not.
func passes(in *x86.Insn) bool {
	if in.Cat != x86.CatCONDBR || in.Target() <= in.Addr {
		return false
	}
	return in.Map == 0 && in.Opcode>>4 == 7 || in.Map == 1 && in.Opcode>>4 == 8
}

// superblock decodes on behind the n instructions of the block at app, and returns how many
// there are then. What was decoded before stays as it is.
//
// Exact budgets are taken off where a block begins, for all of it: a process that has any keeps to
// basic blocks. So does code that has to be compared with what it was translated from.
func (u *unit) superblock(app uint64, n int) int {
	p := u.p
	if p.noSuper || !p.facts.Holds(1+maxSideExits) || p.budgeted || u.limit > 0 || u.forced || p.changing(app) {
		return n
	}
	for exits := 0; exits < maxSideExits && n < maxSuperInsns && passes(&u.ins[n-1]); exits++ {
		next := u.ins[n-1].Next()
		off := int(next - p.code.base)
		if off >= len(p.code.cur) || p.splits(next) {
			break
		}
		k, why := p.tr.decoder.Decode(p.code.cur[off:], next, u.ins[n:maxSuperInsns])
		if why != x86.EndOfBlock { // a part of a basic block would be a block of its own
			break
		}
		for i := range k {
			if p.splits(u.ins[n+i].Addr) {
				return n + i
			}
		}
		n += k
	}
	return n
}

// basic is how many of a superblock's instructions are its first basic block.
func basic(ins []x86.Insn) int {
	for i := range ins {
		if passes(&ins[i]) {
			return i + 1
		}
	}
	return len(ins)
}

// wholeBlocks is how many of a superblock's first n instructions are whole basic blocks; n
// if they are not even one.
func wholeBlocks(ins []x86.Insn, n int) int {
	for i := n; i > 0; i-- {
		if passes(&ins[i-1]) {
			return i
		}
	}
	return n
}

// untilUnwanted is how many of a superblock's instructions are recorded as one: up to a
// branch whose outcome is wanted, which is a word of the block that it ends, or behind
// which nothing is.
func untilUnwanted(ins []x86.Insn, want []Want) int {
	end := basic(ins)
	if !anyWanted(want[:end]) {
		return end
	}
	for end < len(ins) && want[end-1].Flags&layout.InsBranch == 0 {
		next := end + basic(ins[end:])
		if !anyWanted(want[end:next]) {
			break
		}
		end = next
	}
	return end
}

// anyWanted tells whether anything is to be recorded of the instructions.
func anyWanted(want []Want) bool {
	for i := range want {
		if want[i].Flags != 0 {
			return true
		}
	}
	return false
}

// side writes a branch in a superblock's middle: taken, it completes the record.
func (r *recorder) side(i int, in *x86.Insn) {
	u := r.u
	u.asm.bytes(0x0f, 0x80|in.Opcode&0xf)
	id := r.rec.id + uint32(len(r.sides)) + 1
	if r.rec.id == 0 {
		id = 0
	}
	u.sides = append(u.sides, sideExit{site: u.asm.pos, rec: r.rec, id: id, words: r.words, target: in.Target()})
	r.sides = append(r.sides, layout.Part{Ins: i + 1, Words: r.words, Target: in.Target()})
	u.asm.u32(0)
}

// writeSide writes the code of a way out.
func (u *unit) writeSide(s *sideExit) {
	a, ra := &u.asm, s.rec.ra
	u.setRel(s.site, a.here())
	a.putImm(ra, 0, s.id)
	a.leaDisp(ra, ra, int64(8*(s.words+1)))
	a.store(layout.Buf, ra)
	a.load(ra, spillA)
	if s.rec.hasB {
		a.load(s.rec.rb, spillB)
	}
	u.jumpTo(s.target)
}
