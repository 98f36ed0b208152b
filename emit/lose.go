package emit

import (
	"errors"
	"os"
	"slices"

	"alleria/abp"
	"alleria/internal/records"
)

// Frames that cannot be written are made all the same, and counted in their turn: what follows keeps its place among the
// thread's instructions, and the gap is exactly as long as what is lost.

// Lost is what could not be written.
type Lost struct {
	Frames       uint64
	Instructions uint64
}

func (l *Lost) add(o Lost) {
	l.Frames += o.Frames
	l.Instructions += o.Instructions
}

// begun is what a frame was before the chunk that is being encoded.
type begun struct {
	on          bool
	words       []uint64
	plus, minus abp.Counts
	execs       uint64
}

// lose counts a frame whose turn it is and that is not written.
func (p *ProcessWriter) lose(r *ready) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost.Frames++
	p.lost.Instructions += r.weight
}

// loseWritten counts all frames of a stream's file, which have been counted as written. Its counts are guarded by the stream's lock.
func (s *Stream) loseWritten(err error) {
	if !errors.Is(err, errLate) {
		return
	}
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.lost.Frames += s.frames
	s.p.lost.Instructions += s.counts.Instructions
	s.p.late.Add(s.counts, 1)
	s.counts, s.frames, s.damaged = abp.Counts{}, 0, true
}

// setAside renames a stream's file if a disk has refused some of it: readers take what is missing for missing, and would take this for a profile. A disk
// that does not let it be is worse off already, and was told of.
func (s *Stream) setAside() {
	if s.damaged {
		_ = os.Rename(s.out.path, s.out.path+abp.DamagedFile)
	}
}

// Lost returns what could not be written so far: streams failed, or processing threads panicked.
func (p *ProcessWriter) Lost() Lost {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// Lost returns what could not be written of all processes.
func (r *Run) Lost() (sum Lost) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.proc {
		sum.add(p.Lost())
	}
	for i := range r.done {
		sum.add(r.done[i].lost)
	}
	return sum
}

// Lose accounts for a panic while words of an application thread were consumed, with the arguments of ConsumeAt: its open frame
// and these words are lost. The stream can still write its other frames.
func (s *Stream) Lose(thread int, from, to Place, words []uint64) {
	closing := s.closing
	s.LoseClosing()
	if closing != nil && closing.thread.Number == uint32(thread) && closing.next == to {
		return // it had these words
	}
	f := &openFrame{thread: s.p.thread(uint32(thread)), from: from}
	if i := slices.IndexFunc(s.open, func(o *openFrame) bool { return o.thread == f.thread }); i >= 0 {
		o := s.open[i]
		if o.next == to && !o.chunk.on {
			return // they are in it, and it is whole
		}
		s.open = slices.Delete(s.open, i, i+1)
		if o.chunk.on || o.next == from {
			f = o
		} else { // it was to be closed, since others have consumed what lies between
			s.give(o, o.weight(s.p), o.next)
		}
	}
	weight := f.weight(s.p)
	if f.next != to {
		f.header.Chunks++
	}
	weight += f.follow(s.p, words)
	s.give(f, weight, to)
}

// LoseClosing accounts for a panic while a frame was closed: that is lost.
func (s *Stream) LoseClosing() {
	f := s.closing
	if f == nil {
		return
	}
	s.closing = nil
	t := f.thread
	t.mu.Lock()
	at, waits := t.at, t.pending[f.from] != nil
	t.mu.Unlock()
	s.mu.Lock()
	written := f.written
	s.mu.Unlock()
	switch {
	case waits: // somebody will write it
	case at == f.from || at.before(f.from):
		s.give(f, f.weight(s.p), f.next)
	case !written: // its turn had come, and what follows is in its place
		s.p.lose(&ready{weight: f.weight(s.p)})
	}
}

// before tells whether a place comes before another.
func (p Place) before(o Place) bool {
	return p.Chunk < o.Chunk || p.Chunk == o.Chunk && p.Word < o.Word
}

// give gives a frame up: it is counted in its turn.
func (s *Stream) give(f *openFrame, weight uint64, next Place) {
	// Nothing is written, so that there is no error.
	_ = s.inTurn(&ready{stream: s, header: f.header, weight: weight, state: f.state, from: f.from, next: next, lost: true}, f)
}

// weight is how many instructions a frame has that is given up, without those of a chunk that was not encoded to its end.
func (f *openFrame) weight(p *ProcessWriter) uint64 {
	if f.enc == nil {
		return 0
	}
	sum := uint64(0)
	for _, id := range f.enc.Touched {
		sum += p.blocks.static(p.blocks.get(id)).Instructions * f.enc.ExecsOf(id)
	}
	if !f.chunk.on {
		return sum + f.plus.Instructions - f.minus.Instructions
	}
	// What was counted of that chunk's executions, the first of them.
	it := p.raw(f.chunk.words)
	for part := f.enc.Execs() - f.chunk.execs; part > 0 && it.Next(); {
		if it.Mark == 0 { // a cut one as a whole, as the encoder counts it
			sum -= p.blocks.static(p.blocks.get(it.Block)).Instructions
			part--
		}
	}
	return sum + f.chunk.plus.Instructions - f.chunk.minus.Instructions
}

// raw goes over words as the rings have them.
func (p *ProcessWriter) raw(words []uint64) records.Iterator {
	return records.NewIterator(words, p.run.Sizes(), p.blocks.size)
}

// follow takes over what the marks among words that were not encoded change, and returns how many instructions they are about.
func (f *openFrame) follow(p *ProcessWriter, words []uint64) (sum uint64) {
	for it := p.raw(words); it.Next(); {
		if it.Mark != 0 {
			f.state.mark(it.Mark, it.Payload, words[it.From:])
		}
		n, _ := p.instructions(&it.Record)
		sum += n
	}
	return sum
}
