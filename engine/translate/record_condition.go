package translate

import (
	"math"
	"slices"

	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
)

// Condition holds for an execution of an instruction where a number lies between two others, both included: of some access of it, if it is about accesses.
type Condition struct {
	Of          ConditionOf
	Reg         records.Reg // of OfRegister
	Least, Most uint64
}

// ConditionOf says which number a condition is about.
type ConditionOf uint8

// The numbers that code can look at. A value and a register have at most eight bytes.
const (
	OfAddress  ConditionOf = iota + 1
	OfValue                // that is read or written
	OfRegister             // before the instruction
	OfSize                 // of an access
	OfStore                // 1: the access writes, 0: it reads
	OfPC
	OfLength // of the instruction
	OfLine   // that is accessed: the thread follows it (record_line.go). Least is the lines' size as a power of two; an execution that is left out is counted
)

// holds tells whether a number is one of the condition's.
func (c *Condition) holds(n uint64) bool { return c.Least <= n && n <= c.Most }

// verdict is what is known of a condition before the program runs.
type verdict uint8

const (
	depends verdict = iota
	always          // or it cannot be told
	never
)

// Records under conditions: an execution of a block is worth its record if one of its instructions' sets of conditions holds. The words are written as ever, since most cost nothing but a
// store into a cache line that is there; behind them, in front of the block's branch, code looks at them, and leaves the ring's pointer where it is if nothing holds: then the next record overwrites them,
// and no processing thread ever sees them. Who reads records looks at the conditions again, for each access: so that a block may be recorded that nothing holds for, and never the
// other way round. What is left early, and what the tracer executes, is recorded in any case.
//
// Refused: to look before words are written, which wants the flags once an instruction instead of once a block, and positions that differ with what has held; and a count of words that is not the same for each
// execution of a block, which is what records rest on.

// unconditional leaves out what is known never to be wanted, and tells whether some of the rest is wanted in any case.
func (u *Translator) unconditional(ins []x86.Insn, want []Want) bool {
	if u.NoConditions || layout.Slotted(u.Buffering) {
		return true
	}
	all := false
	for i := range want {
		switch w := &want[i]; {
		case w.Flags == 0:
		case w.If == nil:
			all = true
		default:
			switch v := u.verdict(&ins[i], w); {
			case v == never && w.countsLeft(): // it is counted with the rest of its block
			case v == never:
				*w = Want{}
			case v == always:
				all = true
			}
		}
	}
	return all
}

// countsLeft tells whether executions that are left out are counted.
func (w *Want) countsLeft() bool { return len(w.If) > 0 && len(w.If[0]) > 0 && w.If[0][0].Of == OfLine }

// verdict is what is known of an instruction's conditions.
func (u *Translator) verdict(in *x86.Insn, w *Want) verdict {
	v := never
	for _, all := range w.If {
		switch decide(in, all, u.opBuf[:0]) {
		case always:
			return always
		case depends:
			v = depends
		}
	}
	return v
}

// decide is what is known of an instruction of which all of some conditions have to hold. ops is where its accesses may be put.
func decide(in *x86.Insn, all []Condition, ops []x86.Operand) verdict {
	v, accesses := always, false
	for k := range all {
		switch c := &all[k]; c.Of {
		case OfPC, OfLength:
			n := in.Addr
			if c.Of == OfLength {
				n = uint64(in.Len)
			}
			if !c.holds(n) {
				return never
			}
		case OfRegister:
			v = depends
		default:
			accesses = true
		}
	}
	if !accesses {
		return v
	}
	found := never
	for _, o := range in.Accesses(ops) {
		if o.Kind != records.AccessPlain || o.Size == 0 || in.Complex() {
			return v
		}
		switch may, looked := access(all, &o.Access); {
		case !may:
		case looked:
			found = depends
		case found == never:
			found = v
		}
	}
	return found
}

// access tells whether an access of a kind and size may be meant, and whether its address or value has to be looked at for that.
func access(all []Condition, a *records.Access) (may, look bool) {
	for k := range all {
		switch c := &all[k]; {
		case c.Of == OfSize && !c.holds(uint64(a.Size)), c.Of == OfStore && a.Store && !c.holds(1), c.Of == OfStore && !a.Store && !c.holds(0):
			return false, false
		case c.Of == OfAddress, c.Of == OfValue, c.Of == OfLine:
			look = true
		}
	}
	return true, look
}

// tests are what the block's code looks at, once all of its words have their places; false: it is to be recorded in any case.
func (r *recorder) tests() (list []codecache.Test, ok bool) {
	if !r.conditional || r.rec.RA == x86.RAX || r.rec.RB == x86.RAX {
		return nil, false
	}
	for i := range r.want {
		for _, all := range r.want[i].If {
			n := len(list)
			if all[0].Of == OfLine {
				list, ok = lineTests(list, r.facts.Ins[i].Accesses, uint8(all[0].Least))
			} else {
				list, ok = r.testsOf(list, i, all)
			}
			if !ok {
				return nil, false
			}
			for j := n; j < len(list); j++ {
				list[j].Ins = uint8(i)
			}
		}
	}
	return list, !r.counts || r.rec.ID+uint32(len(r.sides)) < layout.MaxLeft-codecache.MaxBlockInsns
}

// testsOf adds those of conditions of instruction i, all of which have to hold: of each access one, since nothing more is needed for most to be left out.
func (r *recorder) testsOf(list []codecache.Test, i int, all []Condition) ([]codecache.Test, bool) {
	by := [...]*Condition{OfAddress: nil, OfValue: nil, OfRegister: nil, OfSize: nil, OfStore: nil, OfPC: nil, OfLength: nil, OfLine: nil}
	for k := range all {
		by[all[k].Of] = &all[k]
	}
	if by[OfAddress] == nil && by[OfValue] == nil {
		if c := by[OfRegister]; c != nil {
			t, ok := r.registerTest(i, c)
			return append(list, t), ok
		}
		return list, false
	}
	accs := r.facts.Ins[i].Accesses
	for k := range accs {
		a := &accs[k]
		if may, _ := access(all, a); !may {
			continue
		}
		var v verdict
		var t codecache.Test
		if c := by[OfAddress]; c != nil {
			t, v = addressTest(a, c)
		} else {
			t, v = valueTest(a, by[OfValue])
		}
		switch v {
		case always:
			return list, false
		case depends:
			list = append(list, t)
		}
	}
	return list, true
}

// addressTest looks at the word that an access's address is formed from.
func addressTest(a *records.Access, c *Condition) (codecache.Test, verdict) {
	switch {
	case a.Kind != records.AccessPlain || a.Seg != records.SegNone || a.AddrBits != 64:
		return codecache.Test{}, always
	case a.Word != records.NoWord:
		return codecache.Test{Word: a.Word, Size: 8, Least: c.Least - uint64(a.Offset), Span: c.Most - c.Least}, depends
	case c.holds(uint64(a.Offset)):
		return codecache.Test{}, always
	}
	return codecache.Test{}, never
}

// valueTest looks at the word of an access's value.
func valueTest(a *records.Access, c *Condition) (codecache.Test, verdict) {
	if a.Kind != records.AccessPlain || a.Value == records.NoWord || !powerOfTwo(a.Size) {
		return codecache.Test{}, always
	}
	return codecache.Test{Word: a.Value, Size: uint8(a.Size), Least: c.Least, Span: c.Most - c.Least}, depends
}

// registerTest looks at a register of instruction i; false: it is not one that can be looked at.
func (r *recorder) registerTest(i int, c *Condition) (codecache.Test, bool) {
	for _, w := range r.facts.Regs {
		if int(w.Ins) == i && w.Reg == c.Reg && w.Word >= 0 {
			t := codecache.Test{Word: w.Word, Size: registerSize(c.Reg), Least: c.Least, Span: c.Most - c.Least}
			if c.Reg&^0xff == records.RegHigh {
				t.At = 1
			}
			return t, t.Size > 0
		}
	}
	return codecache.Test{}, false
}

// registerSize is how many bytes a register has, 0 if it is none that conditions are about.
func registerSize(reg records.Reg) uint8 {
	switch reg &^ 0xff {
	case records.RegGPR64:
		return 8
	case records.RegGPR32:
		return 4
	case records.RegGPR16:
		return 2
	case records.RegGPR8, records.RegHigh:
		return 1
	}
	return 0
}

// near is how far ranges of one word may lie apart that are looked at as one.
const near = 256

// merged are the tests of the instructions in front of one, ranges of one word that lie near to each other made one: the stack pointer's, say.
func merged(tests []codecache.Test, ins int) (out []codecache.Test) {
next:
	for _, t := range tests {
		if int(t.Ins) >= ins {
			continue
		}
		for k := range out {
			if out[k].Word == t.Word && out[k].At == t.At && out[k].Size == t.Size && join(&out[k], &t) {
				continue next
			}
		}
		out = append(out, t)
	}
	return out
}

// join makes a range one that has another one in it, if both lie near to each other and neither goes around the end of numbers.
func join(to, t *codecache.Test) bool {
	last, end := to.Least+to.Span, t.Least+t.Span
	if last < to.Least || end < t.Least || t.Least > last && t.Least-last > near || to.Least > end && to.Least-end > near {
		return false
	}
	to.Least, last = min(to.Least, t.Least), max(last, end)
	to.Span = last - to.Least
	return true
}

// commitIf moves the ring's pointer past a record of so many words if one of the tests holds. ra leads to the record, rb is free, and neither is rax.
//
// The flags are kept, as what follows the block may want them; only in front of a branch that reads none would they be free, and then they mostly are somebody's.
func (u *Translator) commitIf(rec *codecache.Recording, tests []codecache.Test, words int) {
	a := &u.asm
	a.StoreWordImm(layout.Kept, 0)
	if len(tests) == 0 {
		return
	}
	a.StoreWord(spillF, x86.RAX)
	a.FlagsToRAX()
	a.StoreWord(spillF+8, x86.RAX)
	var kept []asm.Site
	var skip asm.Site
	for k := range tests {
		u.test(rec, &tests[k])
		if k < len(tests)-1 {
			kept = append(kept, a.JccLater(asm.IfNotAbove))
		} else {
			skip = a.JccLater(asm.IfAbove)
		}
	}
	for _, s := range kept {
		a.Link(s, a.Here())
	}
	a.LeaDisp(rec.RA, rec.RA, int64(8*(words+1)))
	a.StoreWord(layout.Buf, rec.RA)
	a.StoreWordImm(layout.Kept, 1)
	a.Link(skip, a.Here())
	a.LoadWord(x86.RAX, spillF+8)
	a.FlagsFromRAX()
	a.LoadWord(x86.RAX, spillF)
}

// test writes the comparison of a number with its range: above is outside.
func (u *Translator) test(rec *codecache.Recording, t *codecache.Test) {
	a, rb := &u.asm, rec.RB
	a.Load(rb, asm.At(rec.RA, 8*(int(t.Word)+1)+int(t.At)), int(t.Size))
	switch less := -t.Least; {
	case less == 0:
	case int64(less) >= math.MinInt32 && int64(less) <= math.MaxInt32:
		a.LeaDisp(rb, rb, int64(less))
	default:
		a.MovImm(x86.RAX, less)
		a.Lea(rb, asm.Sum(rb, x86.RAX, 1, 0))
	}
	if t.Span <= math.MaxInt32 {
		a.CmpImm(rb, uint32(t.Span))
		return
	}
	a.MovImm(x86.RAX, t.Span)
	a.Op(0x39, 64, rb, x86.RAX)
}

// commit moves the ring's pointer past the record of the block, in any case or if it is worth it.
func (r *recorder) commit() {
	tests, ok := r.tests()
	lines := tests
	if ok && r.counts {
		lines = lineGroups(tests, len(r.ins))
		ok = len(lines) <= mostLineTests
	}
	if !ok {
		a := &r.u.asm
		a.LeaDisp(r.rec.RA, r.rec.RA, int64(8*(r.words+1)))
		a.StoreWord(layout.Buf, r.rec.RA)
		return
	}
	odd := r.u.cache.Oddly(r.rec)
	odd.Conditional, odd.Counts, odd.Tests = true, r.counts, slices.Clip(tests)
	if r.counts {
		r.u.commitCounted(r.rec, lines, r.words, r.rec.ID)
		return
	}
	r.u.commitIf(r.rec, merged(tests, len(r.ins)), r.words)
}
