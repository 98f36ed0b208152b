package emit

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"alleria/abp"
	"alleria/abp/frame"
	"alleria/internal/records"
)

// Bounds of a run are kept here, where it is known what is recorded and what that takes: the
// target runs on for a while before it hears that the recording is over, and what it records
// meanwhile is dropped. A bound is met when frames are written, which is in the order of each
// thread: the one that exceeds it is cut there, and nothing is written behind it.
//
// Refused: budgets in the target, as events on counts have. They count what is executed, not
// what a configuration has recorded of it, and would make every block of the run a counted one.

// limit is the bounds of a run and what is left of them.
type limit struct {
	instructions, size int64 // 0: none

	mu    sync.Mutex // held while a frame is written, if there is a bound
	taken int64      // instructions; guarded by mu
	over  atomic.Pointer[string]
}

// endBytes is about what closing a run takes: indices, directories and last facts.
const endBytes = 8 << 10

// Full returns which bound has been reached, in the words of the option, empty if none was:
// from then on nothing is recorded.
func (r *Run) Full() string {
	if why := r.limit.over.Load(); why != nil {
		return *why
	}
	return ""
}

// full says that a bound has been reached. The first one stays.
func (l *limit) full(bound string, n int64) {
	why := fmt.Sprintf("--%s %d", bound, n)
	l.over.CompareAndSwap(nil, &why)
}

// within cuts a frame whose turn it is to what may still be written. false: nothing may.
// l.mu is held.
func (r *ready) within(l *limit) (bool, error) {
	if l.over.Load() != nil {
		return false, nil
	}
	have := int64(r.weight)
	most := have
	if n := l.instructions; n > 0 && l.taken+most >= n {
		l.full("max-instructions", n)
		most = n - l.taken
	}
	if l.size > 0 {
		// Blocks that the frame needs are written first, which may take more than it does.
		if err := r.stream.define(r.ids); err != nil {
			r.stream.breaks(err)
			return true, nil // it is lost as without a bound
		}
		left := l.size - endBytes - r.stream.p.run.Written()
		if left <= int64(len(r.body)) {
			l.full("max-size", l.size)
			most = min(most, int64(float64(most)*float64(max(left, 0))/float64(len(r.body)+1)))
		}
	}
	l.taken += most
	if most == have {
		return true, nil
	}
	return most > 0, r.cut(uint64(most))
}

// define writes the definitions of blocks.
func (s *Stream) define(ids []uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.p.define(ids, &s.missing)
	return err
}

// breaks says that the stream's output has ended.
func (s *Stream) breaks(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	s.failed.Store(true)
	s.loseWritten(err)
}

// cut encodes a frame anew with its first instructions only.
func (r *ready) cut(instructions uint64) error {
	// Not the stream's converter: this may be another one's processing thread, which writes what waited for its frame.
	var conv converter
	p := r.stream.p
	shape := func(id uint32) *frame.Shape { return p.blocks.shape(&conv, id) }
	enc, err := frame.NewEncoderOf(r.header.Encoding, shape, p.run.opts.Level)
	if err != nil {
		return fmt.Errorf("cutting a frame: %w", err)
	}
	f := &openFrame{enc: enc, header: r.header}
	enc.Begin()
	chunks, err := r.chunks(shape)
	if err != nil {
		return fmt.Errorf("cutting a frame: %w", err)
	}
	f.header.Chunks, f.header.Counts, f.header.Execs = 0, abp.Counts{}, 0
	for _, c := range chunks {
		words, n := p.prefix(c.words, instructions)
		instructions -= n
		if err := errors.Join(enc.Chunk(words, c.opened, c.completed), f.walk(p, words)); err != nil {
			return fmt.Errorf("cutting a frame: %w", err)
		}
		f.header.Chunks++
		f.header.LastTSC = c.completed
		if instructions == 0 {
			break
		}
	}
	f.sum(p)
	r.header, r.weight = f.header, f.header.Counts.Instructions
	r.body, r.sums = enc.Finish(make([]byte, abp.FrameRoom)), f.sums.rows()
	r.header.Execs += enc.Execs()
	r.header.Words = enc.Words
	r.state = f.state
	// What code opened and closed lies in the frame as any change of windows: its rows are the
	// old ones, as far as they come.
	r.transitions = r.transitions[:min(len(f.transitions), len(r.transitions))]
	r.notes = slices.DeleteFunc(r.notes, func(n note) bool { return n.before > r.weight })
	return nil
}

// frameChunk is what a frame has of one chunk of a ring.
type frameChunk struct {
	words             []uint64
	opened, completed uint64
}

// chunks decodes a frame into the chunks that it was made of.
func (r *ready) chunks(shape func(id uint32) *frame.Shape) (out []frameChunk, err error) {
	d := frame.NewDecoder(shape)
	if err := d.Start(r.body[abp.FrameRoom:], r.header.Encoding); err != nil {
		return nil, err
	}
	for {
		words, err := d.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for at := 0; at < len(words); {
			n := 1
			if frame.IsMark(words[at]) {
				n = frame.MarkLen(words[at:])
				if kind, _ := frame.SplitMark(words[at]); kind == frame.MarkChunk {
					out = append(out, frameChunk{opened: words[at+1], completed: words[at+2]})
					at += n
					continue
				}
			} else {
				n = 1 + int(r.stream.p.blocks.get(uint32(words[at])).words)
			}
			last := &out[len(out)-1]
			last.words = append(last.words, words[at:at+n]...)
			at += n
		}
	}
}

// bounded returns the words that a discarded run takes of a chunk. Nothing is kept in order
// there: whose chunk it is that reaches the bound does not matter.
func (l *limit) bounded(p *ProcessWriter, words []uint64) []uint64 {
	if l.instructions == 0 {
		return words
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	words, n := p.prefix(words, uint64(l.instructions-l.taken))
	if l.taken += int64(n); l.taken == l.instructions {
		l.full("max-instructions", l.instructions)
	}
	return words
}

// prefix returns the words of a chunk up to so many instructions, and how many there are.
func (p *ProcessWriter) prefix(words []uint64, most uint64) ([]uint64, uint64) {
	it := records.NewIterator(words, p.run.opts.Discard && p.run.Sizes(), p.blocks.size)
	var sum, last uint64
	for sum < most && it.Next() {
		var ok bool
		if last, ok = p.instructions(&it.Record); !ok {
			return words, sum
		}
		sum += last
	}
	if sum < most || it.Err != nil {
		return words, sum // who consumes them finds what is wrong
	}
	if sum == most || it.Mark != 0 { // what a mark stands for, an instruction, has no parts
		return words[:it.To], most
	}
	// Of the last execution a part, as a fault or a window's end would have cut it.
	part := words[it.From:it.To]
	out := slices.Clone(words[:it.From])
	if it.Cut {
		part = part[1:]
	}
	return append(append(out, records.Mark(records.MarkCut, p.completed(it.Block, most-(sum-last)))), part...), most
}

// instructions is how many recorded instructions a record stands for; false where its block is not known.
func (p *ProcessWriter) instructions(r *records.Record) (uint64, bool) {
	switch {
	case r.Mark == records.MarkEmulated:
		b := p.blocks.convert(uint32(r.Payload))
		if b == nil {
			return 0, false
		}
		return b.EmulatedCounts(r.Words[1:]).Instructions, true
	case r.Mark != 0:
		return 0, true
	case r.Cut:
		b := p.blocks.convert(r.Block)
		part, _ := b.StaticCounts(min(r.Completed, len(b.Ins)))
		return part.Instructions, true
	}
	return p.blocks.static(p.blocks.get(r.Block)).Instructions, true
}

// completed returns how many instructions of an execution hold so many recorded ones.
func (p *ProcessWriter) completed(id uint32, recorded uint64) uint64 {
	b := p.blocks.convert(id)
	for n := range b.Ins {
		if part, _ := b.StaticCounts(n); part.Instructions == recorded {
			return uint64(n)
		}
	}
	return uint64(len(b.Ins))
}
