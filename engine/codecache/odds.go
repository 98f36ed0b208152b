package codecache

import (
	"slices"

	"alleria/engine/x86"
	"alleria/internal/layout"
)

// FlatOdds is a list of oddities without pointers, as it is kept in a file: what they have, one behind the other.
type FlatOdds struct {
	Each     []OddHead
	Fixes    []Fixup
	Stretch  []Stretch
	Pointers []Pointer
	Parts    []OddPart
}

// OddHead is how much of everything is of one block.
type OddHead struct {
	Fixes, Stretches, Pointers, Parts uint32
	Loop                              bool
	Bits                              uint8  // of a loop
	Part                              uint32 // of a loop
}

// OddPart is the facts of a part of an instruction.
type OddPart struct{ Ins, ID uint32 }

// FlattenOdds makes a list one without pointers.
func FlattenOdds(odds []*Oddities) (f FlatOdds) {
	for _, o := range odds {
		h := OddHead{Fixes: uint32(len(o.Fixes)), Stretches: uint32(len(o.stretches)), Parts: uint32(len(o.Parts))}
		f.Fixes, f.Stretch = append(f.Fixes, o.Fixes...), append(f.Stretch, o.stretches...)
		if l := o.Loop; l != nil {
			h.Loop, h.Bits, h.Part, h.Pointers = true, l.Bits, l.Part, uint32(len(l.Pointers))
			f.Pointers = append(f.Pointers, l.Pointers...)
		}
		at := len(f.Parts)
		for i, id := range o.Parts {
			f.Parts = append(f.Parts, OddPart{uint32(i), id})
		}
		slices.SortFunc(f.Parts[at:], func(a, b OddPart) int { return int(a.Ins) - int(b.Ins) })
		f.Each = append(f.Each, h)
	}
	return f
}

// Odds is FlattenOdds's inverse; false where something is missing or left over. The lists stay in use.
func (f FlatOdds) Odds() ([]*Oddities, bool) {
	odds := make([]*Oddities, len(f.Each))
	ok := true
	for i, h := range f.Each {
		o := &Oddities{Fixes: cut(&f.Fixes, h.Fixes, &ok), stretches: cut(&f.Stretch, h.Stretches, &ok)}
		pointers, parts := cut(&f.Pointers, h.Pointers, &ok), cut(&f.Parts, h.Parts, &ok)
		if h.Loop {
			o.Loop = &Loop{Part: h.Part, Bits: h.Bits, Pointers: pointers}
		}
		if len(parts) > 0 {
			o.Parts = make(map[int]uint32, len(parts))
		}
		for _, p := range parts {
			o.Parts[int(p.Ins)] = p.ID
		}
		odds[i] = o
	}
	return odds, ok && len(f.Fixes)+len(f.Stretch)+len(f.Pointers)+len(f.Parts) == 0
}

// cut takes the first n off a list.
func cut[T any](list *[]T, n uint32, ok *bool) []T {
	if uint64(n) > uint64(len(*list)) {
		*ok = false
		return nil
	}
	s := (*list)[:n:n]
	*list = (*list)[n:]
	return s
}

// fits tells whether oddities are of registers, of words of a thread's slot in front of its tables and of a record, and of facts up to a number.
func (o *Oddities) fits(last uint32) bool {
	for _, x := range o.Fixes {
		if !isRegister(x.Reg) && x.Reg != x86.NoReg || x.Word < 0 || x.Word >= layout.TableOff || x.Word%8 != 0 {
			return false
		}
	}
	for _, id := range o.Parts {
		if id == 0 || id > last {
			return false
		}
	}
	if o.Loop == nil {
		return true
	}
	for _, p := range o.Loop.Pointers {
		if !isRegister(p.Reg) || p.Before < 0 || p.Now < 0 || p.Before > layout.MaxRecordWords || p.Now > layout.MaxRecordWords {
			return false
		}
	}
	return o.Loop.Part > 0 && o.Loop.Part <= last
}

// isRegister tells whether a register is a general one.
func isRegister(r x86.Reg) bool { return r >= 0 && r < 16 }
