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
	sized  bool         // records' first words may say how long they are
	thread *ThreadState // whose executions are counted
	met    []metBlock   // by block, of records that do not say how long they are; with sizes few, or none
	ids    []uint32     // that were met since the last settling
	walked uint64       // words since counts were added up

	// What follows is of records that say how long they are.

	// quick is executions by block, unmet of one that has to be looked up, and above that unmet and one more than a place in odd.
	quick []uint32
	odd   []oddBlock
	// ahead: blocks are known by all of their rows at once, and counts are added up so. That is done while there is one thread: where several take turns, what each has executed is a small part
	// of all there is, and blocks are looked up one by one.
	ahead  bool
	passed uint64 // words of records that quick counts, since counts were added up
	sum    uint64 // of all words, so that each is read
}

// unmet is the count of a block that has to be looked up: it was not met since the last settling, or its words matter.
const unmet = 1 << 31

// metBlock is what is wanted of a block at each execution.
type metBlock struct {
	execs uint32
	words uint16 // of its record, behind the first
	odd   uint32 // one more than its place in odd; 0: none
}

// oddBlock is a block whose words decide what an execution counts for.
type oddBlock struct {
	id       uint32
	words    uint32 // of its record, behind the first
	execs    uint64
	accesses []abp.Access // that they decide
	counts   abp.Counts   // what these came to
}

// newDropper adds one to what is settled when the process's part is closed.
func (p *ProcessWriter) newDropper() *Dropper {
	w := &Dropper{p: p, sized: p.run.Sizes()}
	w.ahead = w.sized && p.blocks.sampling == nil && !p.run.opts.MeetEach
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
	if err := w.turn(uint32(thread), uint64(len(words))); err != nil {
		return err
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

// turn adds up what was counted where more may not be added to it: counts belong to one thread at a time, and have 31 bits, where a block has at most as many executions as there are words.
func (w *Dropper) turn(thread uint32, words uint64) error {
	other := w.thread == nil || w.thread.Number != thread
	if w.walked += words; !other && w.walked < unmet {
		return nil
	}
	err := w.settle()
	w.walked = words
	if other {
		if w.thread != nil && w.ahead {
			w.ahead = false
			for id := range w.quick {
				w.quick[id] = max(w.quick[id], unmet)
			}
		}
		w.thread = w.p.thread(thread)
	}
	return err
}

// CloseThread is Sink's: nothing is kept open.
func (w *Dropper) CloseThread(int) error { return nil }

// Flush is Sink's.
func (w *Dropper) Flush() error { return w.settle() }

func (w *Dropper) close(*abp.EndInfo) error { return w.Flush() }

// Lose is Sink's: what is dropped cannot be lost.
func (w *Dropper) Lose(int, Place, Place, []uint64) {}

// LoseClosing is Sink's.
func (w *Dropper) LoseClosing() {}
