package translate

import (
	"cmp"
	"math"
	"slices"

	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
)

// Records under the condition that a line is followed: of a sample of lines (analysis/reuse) only executions matter that access one of them, and which those are is told by a hash of the line's
// number, which is compared with a word of the thread's area. What is left out is counted, by block, so that sums stay exact. For that none of its accesses may lie in two lines, whose number nobody would know:
// code looks whether an access is aligned to its size, and keeps the execution if it is not. Accesses that are formed from one word and lie within a line's length are looked at together: they
// are in one line or in two.
//
// The comparison is made behind the words, as that of other conditions, and from them. Refused: larger units than lines, of which there would be fewer to look at. Hot lines weigh much in a sample, and are followed or not together
// with their neighbours then.

// lineFactor is that of LineHash. It has 31 bits, so that an instruction has it in itself.
const lineFactor = 0x5851f42d

// LineHash is the hash of a line's number, by which it is followed or not. Two instructions make it, and what is taken by its upper bits differs no more from what chance would take than by a hash of three
// times as many (lanes.TestHash): at no stride from 1 to 2^19 lines. A multiplication alone takes lines at regular distances, a cyclic redundancy check both or neither of two lines at many distances, and a multiplication, a shift and another multiplication
// is as bad as these for some factors.
func LineHash(line uint64) uint64 {
	line *= lineFactor
	return line * line
}

// mostLineTests is how many lines a block's execution is looked at for: of more one is followed mostly, and code for each side exit of a block would be long.
const mostLineTests = 16

// LastLeft is the highest number of a block whose records code leaves out and counts; 0: there is none.
func (u *Translator) LastLeft() uint32 { return u.lastLeft }

// countLeft tells whether what a block leaves out is counted.
func countLeft(want []Want) bool {
	return slices.ContainsFunc(want, func(w Want) bool { return w.countsLeft() })
}

// lineTests adds what has to be looked at of an instruction's accesses to lines of 1 << shift bytes; false: it is to be recorded in any case.
func lineTests(list []codecache.Test, accesses []records.Access, shift uint8) ([]codecache.Test, bool) {
	for k := range accesses {
		a := &accesses[k]
		if a.Kind != records.AccessPlain || a.Seg != records.SegNone || a.AddrBits != 64 || a.Size == 0 || a.Size&(a.Size-1) != 0 || uint64(a.Size) > min(uint64(1)<<shift, 64) {
			return list, false
		}
		t := codecache.Test{Word: a.Word, Size: 8, Least: uint64(a.Offset), Span: uint64(a.Size - 1), Line: shift, Align: uint8(a.Size - 1)}
		if a.Word == records.NoWord && t.Least&t.Span != 0 {
			return list, false
		}
		list = append(list, t)
	}
	return list, true
}

// lineGroups are the tests of the instructions in front of one, those put together that are of one word and lie within the length of a line.
func lineGroups(tests []codecache.Test, ins int) (out []codecache.Test) {
	for _, t := range tests {
		if int(t.Ins) < ins {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b codecache.Test) int {
		return cmp.Or(cmp.Compare(a.Word, b.Word), cmp.Compare(int64(a.Least), int64(b.Least)), cmp.Compare(b.Span, a.Span))
	})
	n := 0
	for _, t := range out {
		if n == 0 || !joinLines(&out[n-1], &t) {
			out[n] = t
			n++
		}
	}
	return out[:n]
}

// joinLines makes a test one that has a further one in it, which does not begin in front of it.
func joinLines(to, t *codecache.Test) bool {
	ahead := t.Least - to.Least
	switch end := ahead + t.Span; {
	case t.Word != to.Word, end>>to.Line != 0, ahead&uint64(t.Align) != 0:
		return false
	case t.Word == records.NoWord && to.Least>>to.Line != (t.Least+t.Span)>>to.Line:
		return false
	default:
		to.Span = max(to.Span, end)
		to.Align |= t.Align
		return true
	}
}

// commitCounted moves the ring's pointer past a record of so many words if one of the tests of lines holds, and else counts that the record of block id is left out. It is commitIf otherwise.
//
// Most records are left out, and nothing is jumped over then.
func (u *Translator) commitCounted(rec *codecache.Recording, tests []codecache.Test, words int, id uint32) {
	a, ra := &u.asm, rec.RA
	a.StoreWordImm(layout.Kept, 0)
	a.StoreWord(spillF, x86.RAX)
	a.FlagsToRAX()
	a.StoreWord(spillF+8, x86.RAX)
	var kept []asm.Site
	if len(tests) > 0 {
		a.LoadWord(x86.RAX, layout.Follow)
	}
	for k := range tests {
		kept = u.lineTest(kept, rec, &tests[k])
	}
	a.IncWord(layout.LeftAt(id))
	u.lastLeft = max(u.lastLeft, id)
	back := a.Here()
	a.LoadWord(x86.RAX, spillF+8)
	a.FlagsFromRAX()
	a.LoadWord(x86.RAX, spillF)
	if len(kept) == 0 {
		return
	}
	u.cold = append(u.cold, coldStub{kept[0], func(u *Translator) {
		a := &u.asm
		for _, s := range kept[1:] {
			a.Link(s, a.Here())
		}
		a.LeaDisp(ra, ra, int64(8*(words+1)))
		a.StoreWord(layout.Buf, ra)
		a.StoreWordImm(layout.Kept, 1)
		a.Jmp(back)
	}})
}

// lineTest writes the look at lines, rax being up to which hash they are followed, before and behind it; where the execution is to be kept code goes to the sites that are added.
func (u *Translator) lineTest(kept []asm.Site, rec *codecache.Recording, t *codecache.Test) []asm.Site {
	a, rb := &u.asm, rec.RB
	if t.Word == records.NoWord {
		a.MovImm(rb, LineHash(t.Least>>t.Line))
		a.Op(0x39, 64, rb, x86.RAX)
		return append(kept, a.JccLater(asm.IfNotAbove))
	}
	u.lineAddress(rec, t, 0)
	if t.Align != 0 {
		a.TestLow(rb, t.Align)
		kept = append(kept, a.JccLater(asm.IfNotZero))
	}
	if t.Span > uint64(t.Align) { // it may be two
		a.LeaDisp(x86.RAX, rb, int64(t.Span))
		a.Xor(x86.RAX, rb)
		a.ShrImm(x86.RAX, t.Line)
		a.LoadWord(x86.RAX, layout.Follow)
		same := a.JccLater(asm.IfZero)
		u.lineAddress(rec, t, t.Span)
		kept = append(kept, u.isFollowed(rb, t.Line))
		u.lineAddress(rec, t, 0)
		a.Link(same, a.Here())
	}
	return append(kept, u.isFollowed(rb, t.Line))
}

// lineAddress writes the load of a word's address into rb, so many bytes behind where the test begins.
func (u *Translator) lineAddress(rec *codecache.Recording, t *codecache.Test, further uint64) {
	a, rb, by := &u.asm, rec.RB, t.Least+further
	a.Load(rb, asm.At(rec.RA, 8*(int(t.Word)+1)), 8)
	switch {
	case by == 0:
	case int64(by) >= math.MinInt32 && int64(by) <= math.MaxInt32:
		a.LeaDisp(rb, rb, int64(by))
	default:
		a.MovImm(x86.RAX, by)
		a.Lea(rb, asm.Sum(rb, x86.RAX, 1, 0))
		a.LoadWord(x86.RAX, layout.Follow)
	}
}

// isFollowed writes the look whether the line of an address is followed, rax being up to which hash. The address is lost.
func (u *Translator) isFollowed(addr x86.Reg, shift uint8) asm.Site {
	a := &u.asm
	a.ShrImm(addr, shift)
	a.ImulImm(addr, addr, lineFactor)
	a.Imul(addr, addr)
	a.Op(0x39, 64, addr, x86.RAX)
	return a.JccLater(asm.IfNotAbove)
}
