package engine

import (
	"alleria/engine/x86"
	"alleria/internal/records"
)

// A recorded block goes on behind branches, the way they will most likely go: along jumps and
// into callees that have not been translated, straight on behind conditional branches that lead
// forward, and once more through a loop behind those that lead back. It is a superblock: one
// entry and several exits. What a record costs (its number, the ring pointer, two borrowed
// registers, and all that a reader does for a block) is then paid once for several basic blocks,
// and addresses that were formed from the same registers need one word in all of them.
//
// Each way out has a record of its own length. Its words are those that the longest record begins
// with, so that only the number differs: an execution that leaves early is a whole execution of
// another block, whose facts are the first part of the longest one's.
//
// Refused: to write down that a record was cut short, which readers have to be told with a word
// more; to learn first which ways a program takes, since code would have to be replaced while it
// runs, though there would be half as many records in small programs; to go on to what has been
// translated, which costs large programs more memory and translation than it brings small ones.

// Bounds of a superblock. Longer ones would find no two registers to borrow, and write code
// that is seldom reached.
//
// A program of many blocks executes most of them a few times: what has been written for what
// comes after its branches is mostly in vain, and there are more of them to keep. From manyBlocks
// on, superblocks are shorter. cc1 takes 3 MiB less of the tracer, 2 less of the cache and a seventh
// of its requests less by that, for 2 % more bytes of profile; smaller programs do not get there.
const (
	maxSuperInsns   = 40
	maxSideExits    = 6
	shortSuperInsns = 24
	shortSideExits  = 3
	manyBlocks      = 16 << 10
	// nearLoop is how many bytes back a loop may begin that is not in the superblock.
	nearLoop = 128
)

// goesOn tells a branch that a superblock may go on behind: a conditional one with its condition
// in the opcode, a direct jump, a direct call.
func goesOn(in *x86.Insn) bool {
	switch in.Cat {
	case x86.CatCONDBR:
		return in.Map == 0 && in.Opcode>>4 == 7 || in.Map == 1 && in.Opcode>>4 == 8
	case x86.CatUNCONDBR:
		return in.Opcode == 0xe9 || in.Opcode == 0xeb
	case x86.CatCALL:
		return in.Opcode == 0xe8 && in.OpBits != 16
	}
	return false
}

// onward is where a superblock goes on behind a branch. Conditional ones that lead back are
// taken more often than not, and others are not.
func onward(in *x86.Insn) uint64 {
	if in.Cat == x86.CatCONDBR && in.Target() > in.Addr {
		return in.Next()
	}
	return in.Target()
}

// superblock decodes on behind the n instructions of the block at app, and returns how many
// there are then. What was decoded before stays as it is.
//
// Exact budgets are taken off where a block begins, for all of it: a process that has any keeps to
// basic blocks. So does code that has to be compared with what it was translated from. All
// of a superblock lies in one mapping, so that it belongs to one image and is in reach of the area.
func (u *unit) superblock(app uint64, n int) int {
	p := u.p
	if p.noSuper || !p.facts.Holds(uint32(1+maxSideExits+p.sides.n)) || p.budgeted || u.limit > 0 || u.forced {
		return n
	}
	maxInsns, maxExits := maxSuperInsns, maxSideExits
	if p.facts.Last() >= p.shortAfter {
		maxInsns, maxExits = shortSuperInsns, shortSideExits
	}
	image := p.code.mapping(app)
	from := 0 // the first instruction of the stretch of code that was fetched last
	for exits := 0; n < maxInsns && goesOn(&u.ins[n-1]); {
		last := &u.ins[n-1]
		if last.Cat == x86.CatCONDBR {
			if exits++; exits > maxExits {
				break
			}
		}
		next := onward(last)
		if p.splits(next) || image == nil || next < image.Start || next >= image.End || u.elsewhere(last, n) {
			break
		}
		if next != last.Next() || next-p.code.base >= uint64(len(p.code.cur)) {
			p.code.keep(u.ins[from].Addr, last.Next())
			from = n
			p.fetch(next, fetchBytes)
		}
		off := next - p.code.base
		k, why := p.tr.decoder.Decode(p.code.cur[min(off, uint64(len(p.code.cur))):], next, u.ins[n:maxInsns])
		if k == 0 || why != x86.EndOfBlock { // a part of a basic block would be a block of its own
			break
		}
		for i := range k {
			if p.splits(u.ins[n+i].Addr) {
				k = i
				break
			}
		}
		if n += k; !goesOn(&u.ins[n-1]) {
			break
		}
	}
	if len(p.code.pieces) > 0 && from < n {
		p.code.keep(u.ins[from].Addr, u.ins[n-1].Next())
	}
	return n
}

// elsewhere tells a branch to code that would only be written once more: a jump or call to what has
// been translated, or far back to what is not among the n instructions before.
func (u *unit) elsewhere(in *x86.Insn, n int) bool {
	to := onward(in)
	switch {
	case in.Cat == x86.CatCALL && u.p.predict:
		return true
	case in.Cat != x86.CatCONDBR:
		return u.p.blockOf(to, u.v) != nil
	case to == in.Next():
		return false
	}
	for i := range u.ins[:n] {
		if u.ins[i].Addr == to {
			return false
		}
	}
	return in.Addr-to > nearLoop
}

// keep copies the code that was decoded from the stretch that was fetched last: another is
// about to be.
func (c *codePages) keep(from, to uint64) {
	if from < c.base || to-c.base > uint64(len(c.cur)) {
		return // nothing of it was decoded
	}
	at := len(c.pieceBuf)
	c.pieceBuf = append(c.pieceBuf, c.cur[from-c.base:to-c.base]...)
	c.pieces = append(c.pieces, codePiece{from, c.pieceBuf[at:]})
}

// firstExit is how many of the instructions are executed in any case.
func firstExit(ins []x86.Insn) int {
	for i := range ins {
		if ins[i].Cat == x86.CatCONDBR {
			return i + 1
		}
	}
	return len(ins)
}

// basic is how many of a superblock's instructions are its first basic block.
func basic(ins []x86.Insn) int {
	for i := range ins {
		if goesOn(&ins[i]) {
			return i + 1
		}
	}
	return len(ins)
}

// wholeBlocks is how many of a superblock's first n instructions are whole basic blocks; n
// if they are not even one.
func wholeBlocks(ins []x86.Insn, n int) int {
	for i := n; i > 0; i-- {
		if goesOn(&ins[i-1]) {
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
	for end < len(ins) && want[end-1].Flags&records.InsBranch == 0 {
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
