package recovery

import (
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// cut makes the record of a block that was left before instruction i say so.
// at is where in the block's code the thread stands: behind the record's end
// the pointer has been advanced already. regs is the application's registers.
//
// The mark goes in front of the record, which is moved by a word for that. No processing
// thread has taken it: what is last in an open chunk stays there (records.Blocks.Committed).
func (t *Thread) cut(b *codecache.Block, i int, at uint32, regs *sys.Regs) {
	s, r := t.slot, &b.Rec
	if t.cache.IsLoop(r) {
		if t.cache.Again(r, at) {
			t.cutLoop(r, regs, at)
		} else {
			t.clearSlots(r, at)
		}
		return
	}
	if at == uint32(t.cache.PositionsOf(b).At[i].Exec) {
		if part := t.iterations(b, i, regs); part != nil {
			defer func() { t.mark(part) }()
		}
	}
	size := 8 * (1 + uint64(r.Words))
	start := s.Get(layout.Buf)
	if at >= uint32(r.To) {
		switch left := t.cache.Conditional(r) && s.Get(layout.Kept) == 0; {
		case !left:
			start -= size
		case !t.cache.OddOf(r).Counts: // it is no record, and nothing of it would be wanted
			return
		default: // it has been counted as a whole execution, and becomes a record: its words are there
			s.Set(layout.LeftAt(r.ID), s.Get(layout.LeftAt(r.ID))-1)
		}
	} else if at < uint32(r.From) || i == 0 {
		t.clearSlots(r, at) // nothing of it has executed
		return
	}
	if s.Slotted() {
		s.CutRecord(start, uint64(i), uint64(r.ID), int(r.Words))
		return
	}
	off := int(start - s.Base)
	for w := int(size) - 8; w >= 0; w -= 8 {
		s.Set(off+w+8, s.Get(off+w))
	}
	s.Set(off, records.Mark(records.MarkCut, uint64(i)))
	s.Set(off+8, uint64(r.ID))
	s.Set(layout.Buf, start+8+size)
}

// cutLoop completes, for a thread that leaves such a block, the record of the
// iterations that it has done.
// An iteration that has not been completed is not in it.
func (t *Thread) cutLoop(rec *codecache.Recording, regs *sys.Regs, at uint32) {
	s, l := t.slot, t.cache.OddOf(rec).Loop
	start := int(s.Get(layout.Buf) - s.Base)
	moved := false
	for _, p := range l.Pointers {
		before, now := s.Get(start+8*(int(p.Before)+1)), *RegOf(regs, p.Reg)
		if l.Bits == 32 {
			now = uint64(uint32(now))
		}
		moved = moved || before != now
		s.Set(start+8*(int(p.Now)+1), now)
	}
	if !moved {
		t.clearSlots(rec, at)
		return
	}
	s.Set(start, uint64(l.Part))
	s.Set(layout.Buf, s.Get(layout.Buf)+8*(1+uint64(rec.Words)))
}

// iterations returns the record of what a repeated string instruction, number i
// of a block that is being left there, did before it was interrupted; nil if it
// is none or did nothing. The block's own record is still in place.
// Its facts are those of a part: the instruction has not retired.
func (t *Thread) iterations(b *codecache.Block, i int, regs *sys.Regs) []uint64 {
	f := t.cache.Facts.Get(b.Rec.ID)
	if f == nil { // a file's that are none
		return nil
	}
	in := &f.Ins[i]
	if len(in.Accesses) == 0 || in.Accesses[0].Kind != records.AccessString {
		return nil
	}
	var one [1]x86.Insn
	if n, _ := x86.Decode(f.Code[in.Off:][:in.Len], f.InsAddr(i), one[:]); n != 1 {
		return nil
	}
	word := func(w int16) uint64 { return t.slot.Get(int(t.slot.Get(layout.Buf)-t.slot.Base) + 8*(int(w)+1)) }
	part := t.part(&b.Rec, f, i)
	record := make([]uint64, 1+part.Words)
	record[0] = uint64(part.ID)
	g, moved := Generals(regs), false
	for k, o := range one[0].Accesses(nil) {
		before, now := word(in.Accesses[k].Word), g[o.Base]
		if o.AddrBits == 32 {
			now = uint64(uint32(now))
		}
		moved = moved || before != now
		record[1+2*k], record[2+2*k] = before, now
		if v := in.Accesses[k].Value; v != records.NoWord {
			record[1+part.Ins[0].Accesses[k].Value] = word(v)
		}
	}
	if w := part.TimeWord; w != records.NoWord {
		record[1+w] = word(f.TimeWord)
	}
	if !moved {
		return nil
	}
	return record
}

// part returns the facts of a part of instruction i alone, of a block with facts f.
// They are made when first needed, and kept.
func (t *Thread) part(rec *codecache.Recording, f *records.Block, i int) *records.Block {
	o := t.cache.Oddly(rec)
	if id := o.Parts[i]; id != 0 {
		return t.cache.Facts.Get(id)
	}
	in := f.Ins[i]
	b := &records.Block{Addr: f.InsAddr(i), Image: f.Image, Code: f.Code[in.Off:][:in.Len],
		TimeWord: records.NoWord, BranchWord: records.NoWord}
	in.Off, in.Far = 0, 0
	in.Flags = in.Flags&^records.InsRegs | records.InsPart
	in.Accesses = append([]records.Access{}, in.Accesses...)
	b.Words = 2 * len(in.Accesses)
	for k := range in.Accesses {
		a := &in.Accesses[k]
		a.Word, a.AuxWord = int16(2*k), int16(2*k+1)
		if a.Value != records.NoWord {
			a.Value = int16(b.Words)
			b.Words++
		}
	}
	if f.TimeWord != records.NoWord {
		b.TimeWord = int16(b.Words)
		b.Words++
	}
	b.Ins = []records.Ins{in}
	if o.Parts == nil {
		o.Parts = make(map[int]uint32)
	}
	o.Parts[i] = t.cache.Facts.Add(b)
	return b
}

// clearSlots takes back, in a ring with slots, what a block that is left at a place in its code has written of a record that does not come to be.
func (t *Thread) clearSlots(r *codecache.Recording, at uint32) {
	if t.slot.Slotted() && at >= uint32(r.From) && at < uint32(r.To) {
		t.slot.ClearRecord(int(r.Words) + 1)
	}
}
