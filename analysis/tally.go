package analysis

import (
	"alleria/abp"
)

// tally counts executions of one thread. Blocks run millions of times and there
// are only thousands of them, so that what each run has in common is counted
// once a run (runs) and multiplied in the end; only what runs differ in (repeated
// and masked accesses, cut blocks) is added up as it comes (parts).
//
// Sums are kept for each set of windows that was open, since a report wants them by
// window and a run's cost must not grow with the number of windows.
type tally struct {
	byWindows map[tallyKey]*windowTally
	last      *windowTally // of the execution before
	lastMask  uint64
	scale     float64    // of the frame that is counted
	row       int        // of SAMPLING, that of the frame that is counted
	steps     []uint32   // by block number: stepWords and flags; 0: not met yet
	lost      abp.Counts // of frames whose code the main file lacks
}

// tallyKey is a set of open windows, and what counts are to be multiplied by.
type tallyKey struct {
	windows uint64
	scale   float64
}

// A step is what counting has to know of a block: the words to its execution's end, the
// number included, and whether they have to be looked at.
const (
	stepDynamic = 1 << 31
	stepWords   = stepDynamic - 1
)

// windowTally is the part of a tally during which the same windows were open.
type windowTally struct {
	runs  []uint64 // complete runs, by block number
	parts map[insKey]abp.Counts
}

// insKey is an instruction, by block as in the dump.
type insKey struct {
	block *abp.Block
	ins   int
}

// newTally starts with nothing counted.
func newTally() *tally { return &tally{byWindows: map[tallyKey]*windowTally{}, scale: 1} }

// windows returns the part for a set of open windows. The set hardly ever
// changes from one execution to the next, so the map is asked only when it
// does.
func (t *tally) windows(mask uint64) *windowTally {
	if t.last != nil && t.lastMask == mask {
		return t.last
	}
	w := t.part(tallyKey{mask, t.scale})
	t.last, t.lastMask = w, mask
	return w
}

// part is the part for a key, made if it is new.
func (t *tally) part(k tallyKey) *windowTally {
	w := t.byWindows[k]
	if w == nil {
		w = &windowTally{parts: map[insKey]abp.Counts{}}
		t.byWindows[k] = w
	}
	return w
}

// begin has what comes counted for a frame of that row of SAMPLING and of its scale.
func (t *tally) begin(row int, scale float64) {
	t.row = row
	if t.scale != scale {
		t.scale, t.last = scale, nil
	}
}

// sums counts a frame that need not be decoded.
func (t *tally) sums(s *abp.InsSums) {
	w := t.windows(s.Windows)
	for _, b := range s.Blocks {
		w.runs = reach(w.runs, b.ID)
		w.runs[b.ID] += b.Execs
	}
	for i := range s.Parts {
		p := &s.Parts[i]
		w.add(p.Block, p.Ins, p.Counts)
	}
}

// stretch counts the executions of a stretch: the loop that most of the time goes into.
func (t *tally) stretch(r *abp.Reader) {
	words := r.Stretch()
	state := r.Exec()
	w := t.windows(state.Windows)
	for i := 0; i < len(words); {
		id := words[i]
		if id >= uint64(len(t.steps)) || id >= uint64(len(w.runs)) || t.steps[id] == 0 {
			t.meet(w, state.Process.Block(uint32(id)))
		}
		w.runs[id]++
		step := t.steps[id]
		if step&stepDynamic != 0 {
			b := state.Process.Block(uint32(id))
			w.dynamic(b, words[i+1:], len(b.Ins))
		}
		i += int(step & stepWords)
	}
}

// meet makes room for a block and notes its step.
func (t *tally) meet(w *windowTally, b *abp.Block) {
	t.steps = reach(t.steps, b.ID)
	w.runs = reach(w.runs, b.ID)
	t.steps[b.ID] = uint32(b.Words + 1)
	if b.Dynamic {
		t.steps[b.ID] |= stepDynamic
	}
}

// reach makes a list by block number long enough for one. Numbers come in the order of
// translation, one new one at a time: the list doubles, as append's own would.
func reach[T any](list []T, id uint32) []T {
	if n := int(id) + 1 - len(list); n > 0 {
		list = append(list, make([]T, max(n, len(list)))...)
	}
	return list
}

// merge adds what another tally of the same process has counted.
func (t *tally) merge(o *tally) {
	t.lost.Add(o.lost, 1)
	for key, from := range o.byWindows {
		w := t.part(key)
		if n := len(from.runs); n > 0 {
			w.runs = reach(w.runs, uint32(n-1))
		}
		for id, n := range from.runs {
			w.runs[id] += n
		}
		for k, c := range from.parts {
			w.add(k.block, k.ins, c)
		}
	}
}

// exec counts one execution.
// An emulated execution stands for one instruction that the engine carried out
// itself, with accesses of its own.
func (t *tally) exec(x *abp.Exec) {
	w := t.windows(x.Windows)
	b := x.Block
	if x.IsEmulated || x.Completed < len(b.Ins) {
		w.partial(x)
		return
	}
	w.runs = reach(w.runs, b.ID)
	w.runs[b.ID]++
	if b.Dynamic {
		w.dynamic(b, x.Words, x.Completed)
	}
}

// dynamic adds the accesses whose number or size only this execution's words
// tell.
func (w *windowTally) dynamic(b *abp.Block, words []uint64, completed int) {
	b.DynamicCounts(words, completed, func(ins int, c abp.Counts) { w.add(b, ins, c) })
}

// partial counts an execution that did not run as a whole, instruction by
// instruction. They are rare: a fault, a signal, a window's exact end.
func (w *windowTally) partial(x *abp.Exec) {
	b := x.Block
	if x.IsEmulated {
		if len(b.Ins) > 0 {
			w.add(b, 0, x.Counts())
		}
		return
	}
	for i := range x.Completed {
		w.add(b, i, insCounts(b, i))
	}
	w.dynamic(b, x.Words, x.Completed)
}

// add adds to the part of one instruction.
func (w *windowTally) add(b *abp.Block, ins int, c abp.Counts) {
	k := insKey{b, ins}
	sum := w.parts[k]
	sum.Add(c, 1)
	w.parts[k] = sum
}

// insCounts is what one run of one instruction counts for by itself.
// Accesses of the kinds that are counted as they come are left out here; the whole
// is the sum of both.
func insCounts(b *abp.Block, ins int) (c abp.Counts) {
	in := &b.Ins[ins]
	if in.Flags&abp.InsRecorded == 0 {
		return c
	}
	if in.Retires() {
		c.Instructions = 1
		if in.Flags&abp.InsMemory != 0 {
			c.MemInstructions = 1
		}
	}
	if !b.Counted(ins) {
		return c
	}
	for _, a := range b.InsAccesses(ins) {
		switch {
		case a.Kind != abp.AccessPlain && a.Kind != abp.AccessBits:
		case a.Store:
			c.Stores++
			c.BytesWritten += uint64(a.Size)
		default:
			c.Loads++
			c.BytesRead += uint64(a.Size)
		}
	}
	return c
}

// entry counts one entry, where a filter picks single instructions or accesses
// out of executions.
// The accesses of an instruction that a filter leaves out come without it: they
// still count for it.
func (t *tally) entry(e *abp.Entry) {
	w := t.windows(e.Windows)
	switch e.Kind {
	case abp.EntryIns:
		if e.Ins.Part {
			return
		}
		c := abp.Counts{Instructions: 1}
		if e.Ins.Block.Ins[e.Ins.Index].Flags&abp.InsMemory != 0 {
			c.MemInstructions = 1
		}
		w.add(e.Ins.Block, e.Ins.Index, c)
	case abp.EntryMem:
		c := abp.Counts{Loads: 1, BytesRead: uint64(e.Mem.Size)}
		if e.Mem.Store {
			c = abp.Counts{Stores: 1, BytesWritten: uint64(e.Mem.Size)}
		}
		w.add(e.Ins.Block, e.Ins.Index, c)
	}
}

// each calls f with the sums of every instruction that ran, and the windows that
// were open.
// The order is that of maps: callers add up and sort.
func (t *tally) each(p *abp.Process, f func(windows uint64, b *abp.Block, ins int, c abp.Counts)) {
	for key, w := range t.byWindows {
		for id, n := range w.runs {
			if n == 0 {
				continue
			}
			b := p.Block(uint32(id))
			for i := range b.Ins {
				one := insCounts(b, i)
				if one == (abp.Counts{}) {
					continue
				}
				var c abp.Counts
				c.Add(one, n)
				f(key.windows, b, i, scaled(c, key.scale))
			}
		}
		for k, c := range w.parts {
			f(key.windows, k.block, k.ins, scaled(c, key.scale))
		}
	}
}

// picksExecutions reports whether a query leaves executions of a frame out as a whole.
func picksExecutions(q abp.Query) bool { return !q.AllTime() || len(q.Windows) > 0 }

// picksInstructions reports whether a query takes executions apart.
func picksInstructions(q abp.Query) bool {
	return len(q.Functions) > 0 || !q.Code.All() || !q.Data.All() || !q.Ordinals.All()
}
