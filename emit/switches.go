package emit

import (
	"alleria/abp"
	"alleria/internal/records"
)

// Openings and closings that translated code makes by itself are marks in the
// rings, with the time and the address. What the tables say of them besides is
// added here: which window, why, and the counts so far. Those follow from what was
// executed up to the mark: the words are read once more, but only of chunks that
// have such marks.

// Switch is a window that code opens and closes by itself, and why it does.
type Switch struct {
	Window           uint32 // its index in the configuration
	Opening, Closing string // the reasons, in words
	Uncounted        bool   // rows have no counts
}

// transition is a mark that changes the set of open windows.
type transition struct {
	set       uint64
	code      bool // made by code: a row is wanted
	tsc, addr uint64
	caller    uint64
	counts    abp.Counts // of the frame so far
}

// AddSwitch says what the rows of a window are to say that code opens and closes.
// It comes before the first such mark.
func (p *ProcessWriter) AddSwitch(s Switch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.switches = append(p.switches, s)
}

// switched tells whether the words just encoded have marks that become rows with
// counts: code has opened or closed windows, or there are notes.
func (f *openFrame) switched(words []uint64) bool {
	for _, at := range f.enc.Marks {
		if kind, _ := records.SplitMark(words[at]); kind == records.MarkSwitch || kind == records.MarkNote {
			return true
		}
	}
	return false
}

// tally follows the counts of a frame through a chunk that has been encoded: next
// counts what lies between two marks.
type tally struct {
	p   *ProcessWriter
	it  records.Iterator
	sum abp.Counts // of whole executions in the frame up to where the iterator is
}

// newTally starts at the chunk's beginning.
func (f *openFrame) newTally(p *ProcessWriter, words []uint64) *tally {
	// The encoder's counts include this chunk: it is counted by itself first and
	// taken away.
	begin := records.NewIterator(words, f.enc.IsSized(), p.blocks.size)
	t := &tally{p: p, it: begin}
	t.next(len(words))
	chunk := t.sum
	*t = tally{p: p, it: begin}
	for _, id := range f.enc.Touched {
		t.sum.Add(p.blocks.static(p.blocks.get(id)), f.enc.ExecsOf(id))
	}
	t.sum.Sub(chunk)
	return t
}

// next adds the executions up to a word where a mark stands, or to the end.
func (t *tally) next(to int) {
	for t.it.To < to && t.it.Next() {
		if t.it.Mark == 0 {
			t.sum.Add(t.p.blocks.static(t.p.blocks.get(t.it.Block)), 1)
		}
	}
}

// events adds the rows of a frame whose turn it is. t.mu is held, and what the
// frame itself counts has not been added yet.
func (r *ready) events(t *ThreadState) {
	if len(r.transitions) == 0 {
		return
	}
	p := r.stream.p
	// The thread's own. Code does this only while there is no other thread. What others have recorded that have ended, or
	// will come, may have been written by now or not.
	base := t.total()
	p.mu.Lock()
	defer p.mu.Unlock()
	set := t.windows
	for i := range r.transitions {
		tr := &r.transitions[i]
		// The mark has the set and not the change: which window, the difference
		// tells.
		changed := set ^ tr.set
		set = tr.set
		if !tr.code {
			continue
		}
		for _, s := range p.switches {
			if changed>>s.Window&1 == 0 {
				continue
			}
			e := abp.WindowEvent{Window: s.Window, Opened: set>>s.Window&1 != 0, Reason: s.Closing, TSC: tr.tsc, Thread: t.Number, Addr: tr.addr, Caller: tr.caller,
				Instructions: base.Instructions + tr.counts.Instructions, Loads: base.Loads + tr.counts.Loads, Stores: base.Stores + tr.counts.Stores}
			if e.Opened {
				e.Reason = s.Opening
			}
			if s.Uncounted {
				e.Instructions, e.Loads, e.Stores = 0, 0, 0
			}
			p.pend(abp.SectionWindows, &e)
			// Here and not behind the loop: a frame may have millions, and readers have a
			// section in memory at a time.
			if len(p.pending[abp.SectionWindows]) > rowsAtOnce && p.main != nil {
				_ = p.flushTables() // an error shows again at the next frame
			}
		}
	}
}

// rowsAtOnce is how many bytes of rows are kept before they are written.
const rowsAtOnce = 1 << 20
