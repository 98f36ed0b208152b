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
	thread *ThreadState // whose executions execs counts
	met    []metBlock   // by block
	quick  []uint32     // executions by block, unmet of one that is not counted here; without sizes there are none
	ids    []uint32     // that were met since the last settling
	sum    uint64       // of all words, so that each is read
	walked uint64       // words since counts were added up
}

// unmet is the count of a block that has to be looked up: it was not met since the last settling, or its words matter.
const unmet = 1 << 31

// metBlock is what is wanted of a block at each execution. It lies in one place, since programs execute more blocks than lie in a processor's nearest cache.
type metBlock struct {
	execs   uint32
	words   uint16 // of its record, behind the first
	dynamic bool   // they decide what an execution counts for
}

// newDropper adds one to what is settled when the process's part is closed.
func (p *ProcessWriter) newDropper() *Dropper {
	w := &Dropper{p: p, sized: p.run.Sizes()}
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
	// A block has at most as many executions as there are words: its count has 31 bits.
	if w.walked += uint64(len(words)); w.walked >= unmet {
		w.settle()
		w.walked = uint64(len(words))
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

// records walks executions until a mark or the end. Where the next record begins a record's first word says, if it may (Run.Sizes):
// then nothing has to be looked up to know that, and no loop's end be predicted. All words are read behind that, one behind the other.
func (w *Dropper) records(words []uint64, at int) (int, error) {
	from := at
	for at < len(words) {
		if w.sized {
			if at = w.passOver(words, at); at == len(words) {
				break
			}
		}
		first := words[at]
		if records.IsMark(first) {
			break
		}
		id, n := uint32(first), 0
		if w.sized {
			id, n = records.SplitNumber(first)
		}
		// Zero executions stand for a block that was not met since the last settling.
		if uint64(id) >= uint64(len(w.met)) || w.met[id].execs == 0 {
			if !w.meet(id, n) {
				return at, fmt.Errorf("block %d: %w", id, records.ErrMalformed)
			}
		}
		b := &w.met[id]
		if n == 0 {
			n = 1 + int(b.words)
		}
		if n > len(words)-at {
			return at, fmt.Errorf("block %d is cut short: %w", id, records.ErrMalformed)
		}
		if b.dynamic {
			w.dynamic(id, words[at+1:at+n])
		}
		if w.sized && !b.dynamic && w.quick[id] == unmet {
			w.quick[id] = 0 // records that say how long they are count there from here on
		}
		b.execs++
		at += n
	}
	w.read(words[from:at])
	return at, nil
}

// passOver counts executions as far as nothing has to be looked up: of blocks that were met, whose records say how long they are and whose words do not matter. It returns where something
// else begins. A mark's first word says a length that no chunk has.
//
// A count is four bytes by itself, as what is waited for is memory: a compiler executes more blocks than a second-level cache holds counts of with what is known of them beside.
func (w *Dropper) passOver(words []uint64, at int) int {
	quick := w.quick
	for at < len(words) {
		id, n := records.SplitNumber(words[at])
		if int(id) >= len(quick) || uint(n-1) >= uint(len(words)-at) {
			return at
		}
		c := quick[id]
		if c >= unmet {
			return at
		}
		quick[id] = c + 1
		at += n
	}
	return at
}

// read reads words, with nothing that waits for anything. Refused: to read them before they are walked, to have the lines come from the producer's processor: both passes took as
// long as the walk alone.
func (w *Dropper) read(words []uint64) {
	var a, b, c, d uint64
	for ; len(words) >= 4; words = words[4:] {
		a, b, c, d = a+words[0], b+words[1], c+words[2], d+words[3]
	}
	for _, v := range words {
		a += v
	}
	w.sum += a + b + c + d
}

// meet prepares the counting of a block, of which a record says that it has size words, 0: nothing.
func (w *Dropper) meet(id uint32, size int) bool {
	words, dynamic, ok := w.p.blocks.brief(id)
	if id == 0 || !ok || size != 0 && size != 1+words {
		return false
	}
	if n := max(int(id), int(w.p.blocks.raw.Last())) + 1 - len(w.met); n > 0 { // of all that there are: a start meets most of what is kept of it
		w.met = append(w.met, make([]metBlock, n)...)
		for w.sized && len(w.quick) < len(w.met) {
			w.quick = append(w.quick, unmet)
		}
	}
	w.met[id].words, w.met[id].dynamic = uint16(words), dynamic
	w.ids = append(w.ids, id)
	return true
}

// dynamic counts the accesses of an execution that depend on its words.
func (w *Dropper) dynamic(id uint32, words []uint64) {
	b := w.p.blocks.wholeOf(w.p.blocks.get(id)) // kept for blocks of this kind
	b.DynamicCounts(words, len(b.Ins), func(_ int, c abp.Counts) { w.thread.add(c) })
}

// settle adds what was counted to the thread's counts.
// It multiplies, once a thread's turn is over, what would else be added per
// execution. Where much was met it goes in the order in which blocks' facts lie: they come from memory then, one behind the other.
func (w *Dropper) settle() {
	var c abp.Counts
	if len(w.ids) > len(w.met)/8 {
		for id := range w.met {
			w.take(&c, uint32(id))
		}
	} else {
		for _, id := range w.ids {
			w.take(&c, id)
		}
	}
	if len(w.ids) > 0 {
		w.thread.add(c)
	}
	w.ids, w.walked = w.ids[:0], 0
}

// take adds what was counted of a block.
func (w *Dropper) take(c *abp.Counts, id uint32) {
	n := uint64(w.met[id].execs)
	if w.sized && w.quick[id] < unmet {
		n += uint64(w.quick[id])
		w.quick[id] = unmet
	}
	if n > 0 {
		c.Add(w.p.blocks.staticOf(id), n)
		w.met[id].execs = 0
	}
}
