package codecache

import "alleria/engine/x86"

// Recording is what a recorded block's code does with registers and records.
type Recording struct {
	ID       uint32 // of the facts; 0: nothing is recorded
	Words    uint16 // behind the id in a record
	From, To uint16 // between these offsets ra and rb are in their spill words
	RA, RB   x86.Reg
	HasB     bool
	Odd      *Oddities
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
}

// Oddly returns a block's Oddities to be added to.
func (rec *Recording) Oddly() *Oddities {
	if rec.Odd == nil {
		rec.Odd = new(Oddities)
	}
	return rec.Odd
}

// Note adds a fixup.
func (rec *Recording) Note(f Fixup) { o := rec.Oddly(); o.Fixes = append(o.Fixes, f) }

// Stretch adds a stretch.
func (rec *Recording) Stretch(s Stretch) { o := rec.Oddly(); o.stretches = append(o.stretches, s) }

// Again tells whether the instruction whose code holds the offset has not
// happened yet.
func (rec *Recording) Again(at uint32) bool {
	if rec.Odd == nil {
		return false
	}
	for i := range rec.Odd.stretches {
		if s := &rec.Odd.stretches[i]; s.Again && at >= s.From && at < s.To {
			return true
		}
	}
	return false
}

// Writes tells whether a fault at the offset is a load's whose instruction also
// writes.
func (rec *Recording) Writes(at uint32) bool {
	if rec.Odd == nil {
		return false
	}
	for i := range rec.Odd.stretches {
		if s := &rec.Odd.stretches[i]; s.Write && at >= s.From && at < s.To {
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
func (rec *Recording) IsLoop() bool { return rec.Odd != nil && rec.Odd.Loop != nil }

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
