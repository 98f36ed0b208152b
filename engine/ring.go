package engine

import (
	"alleria/engine/probe"
	"alleria/engine/recovery"
	"alleria/engine/translate"
	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// What a thread's ring is to the tracer and its client. A vfork child has none: it is nobody's thread.

// mark appends words to the ring of a thread that does not run code of the cache.
func (t *Thread) mark(words ...uint64) {
	if !t.vfork {
		t.slot.Mark(words...)
	}
}

// Publish completes the open chunk of a thread that is stopped or waits, so that consumers get what it
// holds at once. It returns the number of the chunk that is open then, and whether that is empty: a ring without room for
// another chunk stays as it is, and what is in it may be overwritten yet.
func (t *Thread) Publish() (chunk uint64, empty bool) {
	if t.vfork {
		return t.slot.Get(layout.Head), false
	}
	return t.slot.Publish()
}

// endRing makes the ring of a thread that is no more consistent.
func (t *Thread) endRing() {
	if !t.vfork {
		t.slot.EndRing()
	}
}

// Mark appends words to the thread's records. The client calls it from within
// its call-backs about the thread.
func (t *Thread) Mark(words ...uint64) { t.mark(words...) }

// SlotMemory is the tracer's view of the thread's shared memory, for the
// consumer of its ring.
func (t *Thread) SlotMemory() []byte { return t.slot.Mem }

// BellMemory is the tracer's view of the page that all traced processes share. It is there
// until Options.Ending has been called.
func (p *Process) BellMemory() []byte { return p.tr.bell.Mem }

// Blocks is the process's recorded blocks.
func (p *Process) Blocks() *records.Blocks { return &p.cache.Facts }

// CountEntries has the blocks of ModeCount tell how often functions are entered (Thread.Entries). function returns the extent of the function
// that holds an address, zeros if there is none. With edges they tell where functions are entered from as well (Thread.Edges). It is called before anything is translated.
func (p *Process) CountEntries(edges bool, function func(addr uint64) probe.Extent) {
	p.translator.Entries = translate.EntryCounts{Jumps: make(map[int]uint64), Function: func(addr uint64) (start, end uint64) {
		e := function(addr)
		return e.Start, e.End
	}}
	if edges {
		p.translator.Entries.Edges.Start()
	}
}

// Counts calls f for each counted block that the thread executed: its address,
// how many instructions it has and how often it ran.
//
// Only for a thread that is stopped or has ended. Executions that were left early are taken
// back by a negative number of times of one instruction: f must add in uint64, which wraps
// to the right sum.
func (t *Thread) Counts(f func(addr uint64, instructions int, times uint64)) {
	t.counts.Each(t.recovery.Partial(), f)
}

// Entries calls f for counts of entries at functions' first instructions, with a negative number of times for those that are
// no entries: f must add in uint64. Other addresses come too, at which no function begins. Only for a thread that is stopped or
// has ended.
func (t *Thread) Entries(f func(addr uint64, times uint64)) { t.counts.Entries(f) }

// Edges calls f for calls and jumps that have led into functions (CountEntries), from and to which instruction, with a negative number of times for
// those that a signal has prevented: f must add in uint64. Of jumps only those are entries that lead from one function to another's first instruction. Only for a thread that is stopped or has ended.
func (t *Thread) Edges(f func(from, to uint64, jump bool, times uint64)) {
	t.counts.Edges(t.recovery.Partial(), func(e translate.Edge, times uint64) { f(e.From, e.To, e.Jump, times) })
}

// branched counts the indirect branch of a thread that asks about it, once.
func (t *Thread) branched() {
	site := t.slot.U32(layout.EdgeSite)
	n := site.Load()
	if n == 0 {
		return
	}
	site.Store(0)
	if to := t.slot.Get(layout.ReqArg); recovery.Canonical(to) {
		t.counts.Branched(n-1, to)
	} else { // it has not been executed: see goOnAt
		t.faulting = n
	}
}

// segmentChanged notes the bases of fs and gs where records need them.
// It is asked wherever a thread's bases may have changed without translated code
// noticing: behind system calls, natively executed instructions, and native code.
func (t *Thread) segmentChanged(regs *sys.Regs) {
	if t.fsBase != regs.Fs_base || !t.fsKnown {
		t.fsBase, t.fsKnown = regs.Fs_base, true
		t.mark(records.Mark(records.MarkFS, 0), regs.Fs_base)
	}
	if t.gsNoted != t.appGS {
		t.gsNoted = t.appGS
		t.mark(records.Mark(records.MarkGS, 0), t.appGS)
	}
}
