package lanes

import "alleria/abp"

// Walked is how far somebody has come who finds by himself where executions end (stream.Walker). It is right also where he has panicked.
type Walked struct {
	At     int        // words
	Execs  []uint64   // by block: its executions
	Counts abp.Counts // what words of executions have said that they count for
}

// Took counts an execution.
func (w *Walked) Took(id uint32) {
	w.Reach(int(id) + 1)
	w.Execs[id]++
}

// Reach makes room for executions of blocks below a number.
func (w *Walked) Reach(blocks int) {
	if n := blocks - len(w.Execs); n > 0 {
		w.Execs = append(w.Execs, make([]uint64, n+len(w.Execs)/2)...)
	}
}

// Dynamic counts what an execution of a block counts for by its words, if it does.
func (w *Walked) Dynamic(b *abp.Block, words []uint64) {
	if b.Dynamic {
		b.DynamicCounts(words, len(b.Ins), func(_ int, c abp.Counts) { w.Counts.Add(c, 1) })
	}
}

// Next is the execution that comes next, which a loop has left: its block and its words with the block's number; nil: there is none, or not all of it.
func (w *Walked) Next(p *abp.Process, words []uint64) (*abp.Block, []uint64) {
	if w.At == len(words) || words[w.At]>>32 != 0 {
		return nil, nil
	}
	b := p.Block(uint32(words[w.At]))
	if b == nil || b.Words >= len(words)-w.At {
		return nil, nil
	}
	return b, words[w.At:][:1+b.Words]
}

// Pass goes on behind an execution that was taken by itself, and counts it.
func (w *Walked) Pass(b *abp.Block, exec []uint64) {
	w.Took(b.ID)
	w.Dynamic(b, exec[1:])
	w.At += len(exec)
}
