package abp

import (
	"math/bits"
)

// Mem is one access to memory. What Value points at is valid until the next
// call on the Reader that it came from.
//
// One Mem is one access as programs count them, also within one instruction: each
// iteration of a string operation and each active lane has its own.
type Mem struct {
	Addr  uint64 // linear: segment base and address size applied
	Phys  uint64 // physical address, 0: not recorded
	Size  uint32
	Ins   uint16 // which instruction of the block
	Lane  uint8  // of a masked access or a gather
	Store bool
	// Mask is the whole lane mask of the vector access that this one belongs to,
	// 0 elsewhere.
	Mask uint64
	// Value is what was read or stored, nil where it was not recorded.
	Value []byte
}

// Exec is one execution of a block. It and what it points at are valid until
// the next call on the Reader that it came from.
//
// It is the cheapest view of a profile: what all executions of a block share is behind
// Block, so that counting needs neither addresses nor a loop over instructions.
type Exec struct {
	Process *Process // that the thread belongs to
	Thread  uint32   // number in the process
	OSID    uint32   // the kernel's thread id
	Block   *Block   // what was executed
	Words   []uint64 // nil when emulated
	// Completed is how many of the block's instructions completed: all of them,
	// unless it was cut.
	Completed int
	// Emulated executions carry their accesses here, as pairs of address and
	// size | EmulatedStore, and have no words.
	IsEmulated bool
	Emulated   []uint64
	// Beside has the words of an emulated execution, of which only registers are filled in, and behind them the values of its accesses,
	// each in whole words; nil where neither was recorded.
	Beside []uint64

	Ordinal uint64 // of its first recorded instruction in the thread, from 0
	Windows uint64 // bit i: window i is open
	FSBase  uint64 // segment bases while it ran
	GSBase  uint64
	// TSC is the block's own time stamp if Timed, else when the ring's chunk that
	// holds it was opened.
	TSC   uint64
	Timed bool
	// Gaps is how many bursts of the thread have ended in the execution's frame before it: where there are more than
	// before, records are missing in front of it.
	Gaps uint64
	// Callers says who had called whom where the burst began, as ParseStack reads it; nil: that was not recorded. It is the same slice in
	// all of the burst's executions, and never written again.
	Callers []uint64

	scratch []byte // packed values, reused
	mem     Mem    // what InsAccesses calls back with, reused
}

// Counts returns what the execution counts for.
// It costs a copy for most blocks, and a look at the words for those with strings
// or lanes.
func (x *Exec) Counts() Counts {
	b := x.Block
	if !b.Dynamic && !x.IsEmulated && x.Completed == len(b.Ins) {
		return b.Static
	}
	if x.IsEmulated {
		return b.EmulatedCounts(x.Emulated)
	}
	c, dynamic := b.StaticCounts(x.Completed)
	if dynamic {
		b.DynamicCounts(x.Words, x.Completed, func(_ int, d Counts) { c.Add(d, 1) })
	}
	return c
}

// EmulatedCounts returns what an emulated execution of the block counts for: its
// instruction as the block says, its accesses as they were.
func (b *Block) EmulatedCounts(pairs []uint64) (c Counts) {
	c.Instructions, c.MemInstructions = b.Static.Instructions, b.Static.MemInstructions
	if len(b.Ins) == 0 || !b.Counted(0) {
		return c
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		c.access(pairs[i+1]&EmulatedStore != 0, 1, pairs[i+1]&^EmulatedStore)
	}
	return c
}

// DynamicCounts calls add for each of the first completed instructions that
// has counted accesses whose number or size depends on the words, with what
// these accesses count for.
//
// Addresses are not computed: a `rep movsb` of a gigabyte is two subtractions here.
func (b *Block) DynamicCounts(words []uint64, completed int, add func(ins int, c Counts)) {
	for i := range b.Ins[:completed] {
		if !b.Counted(i) {
			continue
		}
		var c Counts
		any := false
		for k := range b.InsAccesses(i) {
			a := &b.Accesses[int(b.Ins[i].AccFrom)+k]
			if a.Kind == AccessPlain || a.Kind == AccessBits {
				continue
			}
			any = true
			n, bytes := a.dynamic(words)
			if n != 0 {
				c.access(a.Store, n, bytes)
			}
		}
		if any {
			add(i, c)
		}
	}
}

// DynamicAccesses returns the block's counted accesses whose number or size depends on the words: what they come to, DynamicCounts says of an execution, and Count of one of them.
func (b *Block) DynamicAccesses() []Access {
	var all []Access
	for i := range b.Ins {
		if !b.Counted(i) {
			continue
		}
		for k := range b.InsAccesses(i) {
			if a := &b.Accesses[int(b.Ins[i].AccFrom)+k]; a.Kind != AccessPlain && a.Kind != AccessBits {
				all = append(all, *a)
			}
		}
	}
	return all
}

// Count adds to c what the operand counts for in an execution with these words.
func (a *Access) Count(words []uint64, c *Counts) {
	if n, bytes := a.dynamic(words); n != 0 {
		c.access(a.Store, n, bytes)
	}
}

// dynamic returns the number of accesses that the operand makes and how many
// bytes they have together.
// What the recorder notes afterwards (the pointer behind a string, the mask that
// was left) makes interrupted operations come out right by themselves.
func (a *Access) dynamic(words []uint64) (n, bytes uint64) {
	aux := words[a.AuxWord]
	switch a.Kind {
	case AccessString:
		d := aux - words[a.Word]
		if int64(d) < 0 {
			d = -d
		}
		n = d / uint64(a.Size)
		return n, n * uint64(a.Size)
	case AccessMasked, AccessGather:
		n = uint64(bits.OnesCount64(aux & LaneMask(a.Lanes)))
		return n, n * uint64(a.Size)
	case AccessPacked:
		n = uint64(bits.OnesCount64(aux & LaneMask(a.Lanes)))
		return min(n, 1), n * uint64(a.Size)
	case AccessSized:
		return min(aux, 1), aux
	}
	return 1, uint64(a.Size)
}

// LaneMask has a bit for each lane.
func LaneMask(lanes uint8) uint64 {
	if lanes >= 64 {
		return ^uint64(0)
	}
	return 1<<lanes - 1
}

// Stack is who had called whom where a thread was when a burst began: the functions that had not returned.
type Stack struct {
	// PC is what the thread executes next.
	PC uint64
	// Whole: the last caller is where the thread began. Else who called it is not known.
	Whole bool
	// Frames are how its function was called, how that one's caller was, and so on.
	Frames []StackFrame
}

// StackFrame is a call.
type StackFrame struct {
	Slot uint64 // where the return address lies
	Ret  uint64 // the return address
	Site uint64 // the address of the call; 0: not known
	// Targets are what was called directly, and what that jumps to with its first instruction, as far as these are others than the function that runs.
	Targets []uint64
	// Interrupted: a signal has called, between two instructions of which Ret is the second. Slot is that of the handler.
	Interrupted bool
}

// A frame is two words: the slot, in whose lower three bits are the length of the call's instruction, 0 or stackInterrupted; and the return address.
// With stackMore in it, or in a target, a target follows; in the first word of all it says that the stack is whole.
const (
	stackInterrupted = 1
	stackLength      = 7
	stackMore        = 1 << 63
)

// Words appends the words of a MarkCallers that say it.
func (s *Stack) Words(dst []uint64) []uint64 {
	dst = append(dst, s.PC)
	if s.Whole {
		dst[len(dst)-1] |= stackMore
	}
	for _, f := range s.Frames {
		slot, ret := f.Slot&^stackLength, f.Ret
		switch {
		case f.Interrupted:
			slot |= stackInterrupted
		case f.Site != 0 && f.Ret-f.Site <= stackLength:
			slot |= f.Ret - f.Site
		}
		dst = append(dst, slot, ret)
		for _, t := range f.Targets {
			dst[len(dst)-1] |= stackMore
			dst = append(dst, t)
		}
	}
	return dst
}

// ParseStack reads the words of an Exec's Callers. What is cut short is left out.
func ParseStack(words []uint64) (s Stack) {
	if len(words) == 0 {
		return s
	}
	s.PC, s.Whole, words = words[0]&^stackMore, words[0]&stackMore != 0, words[1:]
	for len(words) >= 2 {
		f := StackFrame{Slot: words[0] &^ stackLength, Ret: words[1] &^ stackMore}
		switch n := words[0] & stackLength; {
		case n == stackInterrupted:
			f.Interrupted = true
		case n != 0:
			f.Site = f.Ret - n
		}
		last := words[1]
		for words = words[2:]; last&stackMore != 0 && len(words) > 0; words = words[1:] {
			last = words[0]
			f.Targets = append(f.Targets, last&^stackMore)
		}
		s.Frames = append(s.Frames, f)
	}
	return s
}

// AppendCallers adds a mark's words to those of the marks in front of it: a first one begins anew. What it returns is not written again.
func AppendCallers(callers []uint64, payload uint64, words []uint64) []uint64 {
	at := min(int(uint16(payload)), len(callers))
	return append(callers[:at:at], words...)
}
