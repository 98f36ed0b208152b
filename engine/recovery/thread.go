package recovery

import (
	"io"

	"alleria/engine/budget"
	"alleria/engine/codecache"
	"alleria/engine/shm"
	"alleria/engine/translate"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Thread is what state recovery needs to know of a thread, and what it finds out.
type Thread struct {
	cache      *codecache.Cache
	translator *translate.Translator
	mem        io.ReaderAt // the application's
	slot       *shm.Slot
	budget     *budget.Account
	ringless   bool // it records nothing
	partial    []Partial
	wrote      bool
}

// Init says where a thread's state is.
func (t *Thread) Init(c *codecache.Cache, u *translate.Translator, mem io.ReaderAt, s *shm.Slot, b *budget.Account, ringless bool) {
	*t = Thread{cache: c, translator: u, mem: mem, slot: s, budget: b, ringless: ringless}
}

// Partial is an execution of a counted block that was left early.
type Partial struct {
	Block *codecache.Block
	Done  int // instructions of it that were executed
}

// Partial returns the executions of counted blocks that the thread has left early. The caller must not change them.
func (t *Thread) Partial() []Partial { return t.partial }

// Wrote tells, once, whether the fault at which Registers was called last is of an instruction that also writes there.
func (t *Thread) Wrote() bool {
	wrote := t.wrote
	t.wrote = false
	return wrote
}

// mark appends words to the thread's ring.
func (t *Thread) mark(words []uint64) {
	if !t.ringless {
		t.slot.Mark(words...)
	}
}

// TakeBack takes back what a block that is left before instruction i, at a place in its code, has done ahead of it: subtracted,
// counted, recorded.
func (t *Thread) TakeBack(b *codecache.Block, i int, at uint32, regs *sys.Regs) {
	pos := t.cache.PositionsOf(b)
	// At its very start a block has done nothing that would have to be taken back.
	if at > 0 {
		t.Refund(b, i)
	}
	if at > 0 && (at == uint32(pos.At[i].Exec) || t.cache.IsLoop(&b.Rec) && t.cache.Again(&b.Rec, at)) {
		t.settle(b, i, regs)
	}
	switch {
	case b.Rec.ID != 0 && b.Term != codecache.TermTrap:
		t.cut(b, i, at, regs)
	// Counters go by blocks: what of this one was not executed is subtracted when
	// they are read.
	case b.Variant == codecache.Count && at > 0:
		t.partial = append(t.partial, Partial{b, i})
	}
}

// TakeBackCall takes back what a block has done ahead of the system call, instruction i, that ends it and that will be made anew.
func (t *Thread) TakeBackCall(b *codecache.Block, i int, at uint32, regs *sys.Regs) {
	t.Refund(b, i)
	t.unrecord(b, i, at, regs)
}

// unrecord makes the record, or the count, of a block that is left before instruction i say so.
func (t *Thread) unrecord(b *codecache.Block, i int, at uint32, regs *sys.Regs) {
	switch {
	case b.Rec.ID != 0:
		t.cut(b, i, at, regs)
	case b.Variant == codecache.Count:
		t.partial = append(t.partial, Partial{b, i})
	}
}

// Refund gives back what a block subtracted for the instructions from i on that
// were not executed.
// It is called where a signal or a fault takes a thread out of a block.
func (t *Thread) Refund(b *codecache.Block, i int) {
	if !b.Is(codecache.Spends) {
		return
	}
	if !b.Is(codecache.HasUses) {
		t.budget.Take(codecache.MetricInstructions, -int64(int(b.Insns)-i))
		return
	}
	for _, n := range t.cache.Uses(b)[min(i, len(t.cache.Uses(b))):] {
		for m := range n {
			if n[m] > 0 && t.translator.Metrics[m] {
				t.budget.Take(codecache.Metric(m), -int64(n[m]))
			}
		}
	}
}

// settle counts the iterations that a repeated string instruction, i of block b,
// had made when the thread left it between two of them.
// rcx is what is left of the iterations at that moment.
func (t *Thread) settle(b *codecache.Block, i int, regs *sys.Regs) {
	if !t.translator.CountsAccesses || i >= len(t.cache.Uses(b)) {
		return
	}
	var code [15]byte
	at := t.cache.InsAddr(b, i)
	n, _ := t.mem.ReadAt(code[:], int64(at))
	var one [1]x86.Insn
	if k, _ := x86.Decode(code[:n], at, one[:]); k == 0 {
		return
	}
	c, ok := t.translator.CountedAround(&one[0])
	if ok && c.Rep {
		t.budget.Spend(c.Each, t.slot.Get(layout.CountLanes)-regs.Rcx)
	}
}

// X87Pointer is the application's address of an x87 instruction of which the processor has told where its copy was executed, by
// size bytes of that address; false for one that is no copy's. The block may be another one by now, if the cache was renewed.
func (t *Thread) X87Pointer(told uint64, size uint8) (uint64, bool) {
	for _, a := range t.cache.Regions {
		at := told
		if size == 4 {
			at = a.Base + uint64(uint32(told)-uint32(a.Base))
		}
		if !a.Contains(at) {
			continue
		}
		if b := t.cache.BlockAt(a, at); b != nil {
			i, _ := t.cache.PositionsOf(b).Find(uint32(at - b.Code))
			return t.cache.InsAddr(b, i), true
		}
	}
	return 0, false
}
