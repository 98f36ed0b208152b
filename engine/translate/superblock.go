package translate

import (
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/records"
)

// A recorded block goes on behind branches, the way they will most likely go: along jumps and
// into callees that have not been translated, once more through a loop behind conditional branches that
// lead back a little, and straight on behind all others. It is a superblock: one
// entry and several exits. What a record costs (its number, the ring pointer, two borrowed
// registers, and all that a reader does for a block) is then paid once for several basic blocks,
// and addresses that were formed from the same registers need one word in all of them.
//
// Each side exit has a record of its own length. Its words are those that the longest record begins
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
// comes after its branches is mostly in vain, and there are more of them to keep. From ManyBlocks
// on, superblocks are shorter. cc1 takes less of the tracer's memory and of the cache, and a seventh
// of its dispatches less by that, for 2 % more bytes of profile; smaller programs do not get there.
// That was so from 16,384 blocks on, which an interpreter's start has: all that its script then
// executed was short, python3 had 1.16 times the records.
const (
	maxSuperInsns   = 40
	maxSideExits    = 6
	shortSuperInsns = 24
	shortSideExits  = 3
	ManyBlocks      = 64 << 10
	maxBehind       = 8
	behindBasics    = maxGroupBlocks - 2
	// nearLoop is how many bytes back a loop begins at most. What leads further back leads to code that is seldom wanted, more often than not: compilers put that in
	// front of all other code, and handlers of an interpreter share the way to what has gone wrong.
	nearLoop = 192
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

// onward is where a superblock goes on behind a branch. Conditional ones that lead back a little are
// taken more often than not, and others are not.
//
// Refused: to go by conditions, of pointers and signs, which had more records in each of five programs.
func onward(in *x86.Insn) uint64 {
	if in.Cat == x86.CatCONDBR && in.Addr-in.Target() > nearLoop { // forward as well: less than nothing is very much
		return in.Next()
	}
	return in.Target()
}

// superblock decodes on behind the n instructions of the block at app, and returns how many
// there are then. What was decoded before stays as it is.
//
// Exact budgets are taken off where a block begins, for all of it: a process that has any keeps to
// basic blocks. So does code that has to be compared with what it was translated from. All
// of a superblock lies in one mapping, so that it belongs to one image and is in reach of the region.
func (u *Translator) superblock(app uint64, n int) int {
	if !u.goesFurther() {
		return n
	}
	maxInsns, maxExits := maxSuperInsns, maxSideExits
	if u.cache.Facts.Last() >= u.ShortAfter {
		maxInsns, maxExits = shortSuperInsns, shortSideExits
	}
	start, end := u.target.Mapping(app)
	from := 0 // the first instruction of the stretch of code that was fetched last
	for exits := 0; n < maxInsns && goesOn(&u.Ins[n-1]); {
		last := &u.Ins[n-1]
		if last.Cat == x86.CatCONDBR {
			if exits++; exits > maxExits {
				break
			}
		}
		next := onward(last)
		if u.target.Splits(next) || next < start || next >= end || !u.goesWith(next) || u.elsewhere(last) {
			break
		}
		if next != last.Next() || next-u.code.base >= uint64(len(u.code.cur)) {
			u.code.keep(u.Ins[from].Addr, last.Next())
			from = n
			u.Fetch(next, FetchBytes)
		}
		k := u.decodeOn(next, u.Ins[n:maxInsns])
		if n += k; k == 0 || !goesOn(&u.Ins[n-1]) {
			break
		}
	}
	if len(u.code.pieces) > 0 && from < n {
		u.code.keep(u.Ins[from].Addr, u.Ins[n-1].Next())
	}
	return n
}

// writeBehind writes the code behind the calls that superblocks of the group go along. They are about to return
// there, and each would ask: of a start's dispatches these were half.
func (u *Translator) writeBehind() {
	if u.NoBehind {
		return
	}
	for written := 0; len(u.behind) > 0 && written < maxBehind; {
		app := u.behind[len(u.behind)-1]
		u.behind = u.behind[:len(u.behind)-1]
		if u.cache.HasCheck(app, u.Variant) || u.cache.NewCheck == app || u.cache.Watched[app] || u.target.Splits(app) || !u.goesWith(app) {
			continue
		}
		u.basics = behindBasics
		b := u.cache.BlockOf(app, u.Variant)
		switch {
		case !u.targetCheck(app):
			return
		case b != nil:
			u.jmpAnywhere(u.cache.LinkTo(b, codecache.Uncounted))
		case u.chain(app) == nil:
			u.jumpTo(app, codecache.Uncounted)
		}
		written++
	}
}

// goesFurther tells whether a block may become a superblock.
func (u *Translator) goesFurther() bool {
	return !u.NoSuper && u.cache.Facts.Holds(uint32(1+maxSideExits+u.cache.SideExits.N)) && !u.Budgeted && u.limit == 0 && !u.forced
}

// decodeOn decodes the basic block at next, which has been fetched, and returns how many instructions of it there are:
// none where it is only a part, which would be a block of its own.
func (u *Translator) decodeOn(next uint64, ins []x86.Insn) int {
	off := next - u.code.base
	k, why := u.decoder.Decode(u.code.cur[min(off, uint64(len(u.code.cur))):], next, ins)
	if why != x86.EndOfBlock {
		return 0
	}
	for i := range k {
		if u.target.Splits(ins[i].Addr) {
			return i
		}
	}
	if k > 0 && !u.cache.InMade {
		return u.untilMade(ins[:k])
	}
	return k
}

// elsewhere tells a branch to code that would only be written once more: a jump or call to what has
// been translated.
func (u *Translator) elsewhere(in *x86.Insn) bool {
	if in.Cat == x86.CatCALL && u.Predict {
		return true
	}
	return in.Cat != x86.CatCONDBR && u.cache.BlockOf(onward(in), u.Variant) != nil
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
