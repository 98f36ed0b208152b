package emit

import (
	"fmt"

	"alleria/abp"
	"alleria/internal/records"
)

// Dropper is the Sink of a run that writes nothing: it looks at every record, counts, and forgets.
//
// It does what any consumer that counts would have to do and writes nothing: what
// --discard costs is the cost of recording itself.
type Dropper struct {
	p      *ProcessWriter
	thread *ThreadState // whose executions execs counts
	execs  []uint32     // by block
	words  []uint16     // of a block's record, and walkDynamic, by block
	ids    []uint32     // whose execs are not zero
	sum    uint64       // of all words, so that each is read
}

// walkDynamic marks the blocks whose words decide what they count for.
const walkDynamic = 1 << 15

// newDropper adds one to what is settled when the process's part is closed.
func (p *ProcessWriter) newDropper() *Dropper {
	w := &Dropper{p: p}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outlets = append(p.outlets, w)
	return w
}

// ConsumeAt is Sink's. There is no order to be kept: places do not matter.
func (w *Dropper) ConsumeAt(thread int, _, _ Place, words []uint64, _, _ uint64) error {
	l := &w.p.run.limit
	if l.over.Load() != nil {
		return nil
	}
	words = l.bounded(w.p, words)
	if w.thread == nil || w.thread.Number != uint32(thread) {
		// Counts belong to one thread at a time.
		w.settle()
		w.thread = w.p.thread(uint32(thread))
	}
	for at := 0; at < len(words); {
		n, err := w.records(words, at)
		if err != nil {
			return fmt.Errorf("thread %d: %w", thread, err)
		}
		if at = n; at == len(words) {
			break
		}
		m := records.MarkLen(words[at:])
		if m == 0 {
			return fmt.Errorf("thread %d: mark %#x: %w", thread, words[at], records.ErrMalformed)
		}
		at += m
		// What marks change in the counts (cuts, emulation) is left out: the figures
		// of a discarded run are a courtesy.
	}
	return nil
}

// CloseThread is Sink's: nothing is kept open.
func (w *Dropper) CloseThread(int) error { return nil }

// Flush is Sink's.
func (w *Dropper) Flush() error {
	w.settle()
	return nil
}

func (w *Dropper) close(*abp.EndInfo) error { return w.Flush() }

// Lose is Sink's: what is dropped cannot be lost.
func (w *Dropper) Lose(int, Place, Place, []uint64) {}

// LoseClosing is Sink's.
func (w *Dropper) LoseClosing() {}

// records walks executions until a mark or the end. The index is advanced word
// by word, not by the record's length: then the processor need not wait for the
// length to know where the next record is, because it predicts the loop.
func (w *Dropper) records(words []uint64, at int) (int, error) {
	sum := uint64(0)
	for at < len(words) {
		id := words[at]
		if id>>32 != 0 {
			break
		}
		// Zero executions stand for a block that was not met since the last settling.
		if id >= uint64(len(w.execs)) || w.execs[id] == 0 {
			if !w.meet(uint32(id)) {
				return at, fmt.Errorf("block %d: %w", id, records.ErrMalformed)
			}
		}
		n := w.words[id]
		if n&walkDynamic != 0 {
			n &^= walkDynamic
			w.dynamic(uint32(id), words[at+1:], int(n))
		}
		// Of n words behind the head all must be there.
		if int(n) >= len(words)-at {
			return at, fmt.Errorf("block %d is cut short: %w", id, records.ErrMalformed)
		}
		w.execs[id]++
		at++
		for ; n > 0; n-- {
			sum += words[at]
			at++
		}
	}
	w.sum += sum
	return at, nil
}

// meet prepares the counting of a block.
func (w *Dropper) meet(id uint32) bool {
	b := w.p.blocks.get(id)
	if id == 0 || b == nil {
		return false
	}
	if n := int(id) + 1 - len(w.execs); n > 0 {
		w.execs = append(w.execs, make([]uint32, n)...)
		w.words = append(w.words, make([]uint16, n)...)
	}
	w.words[id] = b.words
	w.ids = append(w.ids, id)
	if whole := w.p.blocks.wholeOf(b); whole != nil && whole.Dynamic {
		w.words[id] |= walkDynamic
	}
	return true
}

// dynamic counts the accesses of an execution that depend on its words.
func (w *Dropper) dynamic(id uint32, words []uint64, n int) {
	if n > len(words) {
		return // the caller complains
	}
	b := w.p.blocks.wholeOf(w.p.blocks.get(id)) // kept for blocks of this kind
	b.DynamicCounts(words, len(b.Ins), func(_ int, c abp.Counts) { w.thread.add(c) })
}

// settle adds what was counted to the thread's counts.
// It multiplies, once a thread's turn is over, what would else be added per
// execution.
func (w *Dropper) settle() {
	for _, id := range w.ids {
		var c abp.Counts
		c.Add(w.p.blocks.static(w.p.blocks.get(id)), uint64(w.execs[id]))
		w.thread.add(c)
		w.execs[id] = 0
	}
	w.ids = w.ids[:0]
}
