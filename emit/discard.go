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
	met    []metBlock   // by block
	ids    []uint32     // whose execs are not zero
	sum    uint64       // of all words, so that each is read
}

// metBlock is what is wanted of a block at each execution. It lies in one place, since programs execute more blocks than lie in a processor's nearest cache.
type metBlock struct {
	execs uint32
	words uint16 // of its record, and walkDynamic
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
		if id >= uint64(len(w.met)) || w.met[id].execs == 0 {
			if !w.meet(uint32(id)) {
				return at, fmt.Errorf("block %d: %w", id, records.ErrMalformed)
			}
		}
		b := &w.met[id]
		n := b.words
		if n&walkDynamic != 0 {
			n &^= walkDynamic
			w.dynamic(uint32(id), words[at+1:], int(n))
		}
		// Of n words behind the head all must be there.
		if int(n) >= len(words)-at {
			return at, fmt.Errorf("block %d is cut short: %w", id, records.ErrMalformed)
		}
		b.execs++
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
	words, dynamic, ok := w.p.blocks.brief(id)
	if id == 0 || !ok {
		return false
	}
	if n := max(int(id), int(w.p.blocks.raw.Last())) + 1 - len(w.met); n > 0 { // of all that there are: a start meets most of what is kept of it
		w.met = append(w.met, make([]metBlock, n)...)
	}
	w.met[id].words = uint16(words)
	w.ids = append(w.ids, id)
	if dynamic {
		w.met[id].words |= walkDynamic
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
	var c abp.Counts
	for _, id := range w.ids {
		c.Add(w.p.blocks.staticOf(id), uint64(w.met[id].execs))
		w.met[id].execs = 0
	}
	if len(w.ids) > 0 {
		w.thread.add(c)
	}
	w.ids = w.ids[:0]
}
