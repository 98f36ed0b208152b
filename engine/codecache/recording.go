package codecache

import (
	"maps"

	"alleria/engine/x86"
)

// Recording is what a recorded block's code does with registers and records.
type Recording struct {
	ID       uint32 // of the facts; 0: nothing is recorded
	Words    uint16 // behind the id in a record
	From, To uint16 // between these offsets ra and rb are in their spill words
	RA, RB   x86.Reg
	HasB     bool
	Odd      uint32 // number of its oddities in the cache's list, plus 1: blocks have no pointers
}

// Fixup says that between two offsets of a block's code a register is in a word
// of the thread's area, or the flags are.
type Fixup struct {
	From, To uint32
	Reg      x86.Reg // NoReg: the flags, as lahf and seto leave them in rax
	Word     int
}

// Stretch is a range of a block's code in which the instruction has not happened
// yet: an asynchronous signal may be delivered before it. write: what faults in
// it is the load of an instruction that also writes there.
type Stretch struct {
	From, To uint32
	Again    bool
	Write    bool
}

// Oddities is what few blocks' code needs: of single instructions, what else is in
// memory, and where they have not happened yet.
type Oddities struct {
	Fixes     []Fixup
	stretches []Stretch
	Loop      *Loop          // of a block that is a repeated string instruction
	Parts     map[int]uint32 // ids of the facts of parts of single instructions
	// The record is worth something only if one of the tests holds, of those of the instructions that were executed. The facts of a conditional block with no tests are never wanted.
	Conditional bool
	Counts      bool // if not, that is counted (layout.LeftAt), and the tests are of lines
	Tests       []Test
}

// Test holds if a number in a record lies between two others, in the order in which numbers go around: from Least on, Span at most behind it.
type Test struct {
	Ins         uint8 // that it is of
	Word        int16
	At, Size    uint8 // bytes of the word, from which on
	Least, Span uint64
	// Of a test of lines, those of 1 << Line bytes in which an access lies that is formed from the word (-1: from none) are meant, of Span bytes and one more from Least behind it. It
	// holds as well where the access is not aligned to Align and one.
	Line, Align uint8
}

// Conditional tells whether the latest record of a block is one only if a condition held.
func (c *Cache) Conditional(rec *Recording) bool { o := c.OddOf(rec); return o != nil && o.Conditional }

// Oddly returns a block's oddities to be added to.
func (c *Cache) Oddly(rec *Recording) *Oddities {
	if rec.Odd == 0 {
		c.odds = append(c.odds, new(Oddities))
		rec.Odd = uint32(len(c.odds))
	}
	return c.odds[rec.Odd-1]
}

// OddOf is a block's oddities, nil if it has none.
func (c *Cache) OddOf(rec *Recording) *Oddities {
	if rec.Odd == 0 {
		return nil
	}
	return c.odds[rec.Odd-1]
}

// SetOdds makes a copy of another cache's list this one's.
func (c *Cache) SetOdds(list []*Oddities) {
	c.odds = make([]*Oddities, len(list))
	for i, o := range list {
		mine := *o
		mine.Parts = maps.Clone(o.Parts) // the rest does not change once its block is written
		c.odds[i] = &mine
	}
}

// Note adds a fixup.
func (o *Oddities) Note(f Fixup) { o.Fixes = append(o.Fixes, f) }

// Stretch adds a stretch.
func (o *Oddities) Stretch(s Stretch) { o.stretches = append(o.stretches, s) }

// Again tells whether the instruction whose code holds the offset has not
// happened yet.
func (c *Cache) Again(rec *Recording, at uint32) bool {
	odd := c.OddOf(rec)
	if odd == nil {
		return false
	}
	for i := range odd.stretches {
		if s := &odd.stretches[i]; s.Again && at >= s.From && at < s.To {
			return true
		}
	}
	return false
}

// Writes tells whether a fault at the offset is a load's whose instruction also
// writes.
func (c *Cache) Writes(rec *Recording, at uint32) bool {
	odd := c.OddOf(rec)
	if odd == nil {
		return false
	}
	for i := range odd.stretches {
		if s := &odd.stretches[i]; s.Write && at >= s.From && at < s.To {
			return true
		}
	}
	return false
}

// Loop is what a signal in the middle of such a block needs to know.
type Loop struct {
	Part     uint32 // id of the part's facts
	Bits     uint8  // of an address
	Pointers []Pointer
}

// IsLoop tells whether the block is such a loop.
func (c *Cache) IsLoop(rec *Recording) bool { o := c.OddOf(rec); return o != nil && o.Loop != nil }

// Pointer is a string operand's register and where a record has it, before and
// after.
type Pointer struct {
	Reg         x86.Reg
	Before, Now int16
}

// SwitchKey is what the change to the next chunk depends on, but for where it goes on.
type SwitchKey struct {
	Reg   x86.Reg // is free
	Words uint16  // of the unfinished record, which go along
	Load  bool    // reg is to point behind them afterwards
}
