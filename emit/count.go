package emit

import (
	"fmt"
	"slices"

	"alleria/abp"
	"alleria/internal/records"
)

// walk looks at what of a chunk that was just encoded is not covered by how
// often each block was executed: marks, and executions whose words decide what
// they count for.
//
// Only what was encoded is looked at: after an error of the encoder the rest of the chunk
// is not part of the frame.
func (f *openFrame) walk(p *ProcessWriter, words []uint64) error {
	words = words[:f.enc.Done]
	// Two sorted lists, of marks and of dynamic executions, are walked together.
	cut := -1 // where a cut execution lies, which is not counted as a whole one
	d := 0
	var sum *tally
	if f.switched(words) {
		sum = f.newTally(p, words)
	}
	for _, at := range f.enc.Marks {
		kind, payload := records.SplitMark(words[at])
		switch kind {
		case records.MarkCut:
			if at+1 >= len(words) || records.IsMark(words[at+1]) {
				return fmt.Errorf("cut at word %d without an execution: %w", at, records.ErrMalformed)
			}
			d = f.dynamic(p, words, d, at+1)
			cut = at + 1
			// The cut execution may itself be among the dynamic ones: it is counted
			// in parts, and passed over in the list.
			f.cut(p, words[cut:], int(payload))
			if d < len(f.enc.Dynamic) && f.enc.Dynamic[d] == cut {
				d++
			}
		case records.MarkEmulated:
			if err := f.emulated(p, uint32(payload), words[at+2:][:2*words[at+1]]); err != nil {
				return err
			}
		case records.MarkSwitch:
			// A switch is a change of the open windows that code made: the state
			// follows as at any other mark of theirs.
			f.state.mark(records.MarkWindows, payload, words[at:])
			d = f.dynamic(p, words, d, at)
			sum.next(at)
			tr := transition{set: payload, code: true, tsc: words[at+1], addr: words[at+2], caller: words[at+3], counts: sum.sum}
			// The tally knows whole executions; cuts and dynamic counts before it
			// come on top.
			tr.counts.Add(f.plus, 1)
			tr.counts.Sub(f.minus)
			f.transitions = append(f.transitions, tr)
		case records.MarkNote:
			d = f.dynamic(p, words, d, at)
			sum.next(at)
			n := note{words: slices.Clone(words[at+1 : at+1+int(payload)]), before: sum.sum.Instructions + f.plus.Instructions - f.minus.Instructions}
			f.notes = append(f.notes, n)
		default:
			f.state.mark(kind, payload, words[at:])
			if kind == records.MarkWindows {
				f.transitions = append(f.transitions, transition{set: payload})
			}
		}
	}
	f.dynamic(p, words, d, len(words))
	return nil
}

// change is what a frame's marks change of its thread's state.
// It is applied when the frame is written and not when it is encoded: frames before
// it may still be on their way, in other streams.
type change struct {
	fs, gs, windows *uint64
	osid            *uint32
}

// mark follows a thread's state.
func (c *change) mark(kind uint8, payload uint64, words []uint64) {
	switch kind {
	case records.MarkFS:
		v := words[1]
		c.fs = &v
	case records.MarkGS:
		v := words[1]
		c.gs = &v
	case records.MarkWindows:
		c.windows = &payload
	case records.MarkThread:
		v := uint32(words[2])
		c.osid = &v
	}
}

// apply carries a frame's changes out.
func (t *ThreadState) apply(c *change) {
	if c.fs != nil {
		t.fs = *c.fs
	}
	if c.gs != nil {
		t.gs = *c.gs
	}
	if c.windows != nil {
		t.windows = *c.windows
	}
	if c.osid != nil {
		t.osid = *c.osid
	}
}

// dynamic counts the listed executions from number d on that lie before a word,
// and returns the number of the next.
func (f *openFrame) dynamic(p *ProcessWriter, words []uint64, d, before int) int {
	list := f.enc.Dynamic
	for ; d < len(list) && list[d] < before; d++ {
		b := p.blocks.wholeOf(p.blocks.get(f.enc.Number(words[list[d]])))
		b.DynamicCounts(words[list[d]+1:], len(b.Ins), func(ins int, c abp.Counts) {
			f.plus.Add(c, 1)
			f.sums.dynamic(b.ID, ins, c)
		})
	}
	return d
}

// cut corrects the counts for an execution of which only the first completed
// instructions ran. The encoder has counted it as a whole one.
func (f *openFrame) cut(p *ProcessWriter, words []uint64, completed int) {
	// Cuts are rare: the block is converted again rather than kept.
	b := p.blocks.convert(f.enc.Number(words[0]))
	completed = min(completed, len(b.Ins))
	part, dynamic := b.StaticCounts(completed)
	f.minus.Add(b.Static, 1)
	f.plus.Add(part, 1)
	if completed < len(b.Ins) {
		f.sums.cut(b.ID, completed)
	}
	if dynamic {
		b.DynamicCounts(words[1:], completed, func(ins int, c abp.Counts) {
			f.plus.Add(c, 1)
			f.sums.dynamic(b.ID, ins, c)
		})
	}
}

// emulated counts an execution by the tracer.
func (f *openFrame) emulated(p *ProcessWriter, id uint32, pairs []uint64) error {
	b := p.blocks.convert(id)
	if b == nil {
		return fmt.Errorf("block %d is unknown: %w", id, records.ErrMalformed)
	}
	// The encoder does not know that the mark names a block; its definition must be
	// written all the same.
	f.ids = append(f.ids, id)
	f.plus.Add(b.EmulatedCounts(pairs), 1)
	f.header.Execs++
	return nil
}

// sum computes the frame's counts: how often each block was executed, which the
// encoder counts anyway, times what an execution counts for. Counting access by
// access would cost as much as encoding.
// The encoder must not have begun another frame.
func (f *openFrame) sum(p *ProcessWriter) {
	c := &f.header.Counts
	for _, id := range f.enc.Touched {
		c.Add(p.blocks.static(p.blocks.get(id)), f.enc.ExecsOf(id))
	}
	c.Add(f.plus, 1)
	c.Sub(f.minus)
}
