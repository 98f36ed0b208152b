package emit

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"alleria/internal/records"
)

// Sampler is a Sink in front of another one, which gets the instructions that are kept, in blocks of the profile's
// numbers (sampling). It belongs to one processing thread.
type Sampler struct {
	next   Sink
	s      *sampling
	raw    *records.Blocks
	known  []*sampledShape // by number
	gaps   []rateGap       // of the rates that there are: few
	random *rand.Rand
	words  []uint64
	// A repeated string instruction may be recorded in pieces, which are kept or passed
	// over together: pieces tells which, of the instruction at piecesAt.
	pieces   decision
	piecesAt uint64
}

// decision is whether an instruction of which a piece has been seen is kept.
type decision uint8

const (
	undecided decision = iota // it is no piece
	keptAll
	passedOver
)

// rateGap is how many instructions with a rate are passed over before the next is
// kept.
type rateGap struct {
	rate uint32
	left uint64
}

// sampledShape is what has to be known of a block again and again.
type sampledShape struct {
	words    int    // of an execution
	addr     uint64 // of its first instruction
	piece    bool   // which is not done with this execution
	gaps     []int8 // of each instruction the place of its rate in Sampler.gaps, -1: all are kept; nil: of all
	recorded uint64 // bit i: instruction i is part of the records
	// uniform is the place of the one rate that all that is recorded has, -1 if it is not
	// so. Most executions of such a block are passed over at once.
	uniform int8
}

// newSampler makes what keeps some of the instructions of a processing thread for a sink.
func (p *ProcessWriter) newSampler(thread int, next Sink) *Sampler {
	return &Sampler{next: next, s: p.blocks.sampling, raw: p.blocks.raw, random: rand.New(rand.NewPCG(rand.Uint64(), uint64(thread)))}
}

// ConsumeAt is Sink's. Behind words that no engine writes nothing is known of the chunk: what was kept in front of them
// is passed on, and the thread's frame ends there, as it would without sampling.
func (m *Sampler) ConsumeAt(thread int, from, to Place, words []uint64, opened, completed uint64) error {
	kept, bad := m.keep(words)
	err := m.next.ConsumeAt(thread, from, to, kept, opened, completed)
	if bad != nil {
		return errors.Join(fmt.Errorf("thread %d, chunk %d: %w", thread, from.Chunk, bad), err, m.next.CloseThread(thread))
	}
	return err
}

// CloseThread is Sink's.
func (m *Sampler) CloseThread(thread int) error { return m.next.CloseThread(thread) }

// Flush is Sink's.
func (m *Sampler) Flush() error { return m.next.Flush() }

// Lose is Sink's. All that was recorded counts as lost: what would have been kept of it was not decided, or is not known any more.
func (m *Sampler) Lose(thread int, from, to Place, words []uint64) {
	m.next.Lose(thread, from, to, m.renumber(words))
}

// LoseClosing is Sink's.
func (m *Sampler) LoseClosing() { m.next.LoseClosing() }

// renumber returns a copy of words in which the engine's blocks have the profile's numbers, up to words that no engine writes.
func (m *Sampler) renumber(words []uint64) []uint64 {
	out := slices.Clone(words)
	it := records.NewIterator(words, false, func(id uint32) (int, bool) {
		s, ok := m.raw.Sum(id)
		return s.Words, ok
	})
	for it.Next() {
		switch {
		case it.Mark == records.MarkEmulated:
			out[it.From] = records.Mark(it.Mark, it.Payload*2)
		case it.Mark == 0:
			out[it.To-1-len(it.Words)] *= 2
		}
	}
	return out[:it.To]
}

// shape looks a block up; nil if there is none.
// Facts of a block never change, so that each stream may keep what it found.
func (m *Sampler) shape(id uint32) *sampledShape {
	if int(id) < len(m.known) && m.known[id] != nil {
		return m.known[id]
	}
	var b records.Block
	// kept has a bit for each instruction; the engine's blocks have no more.
	if !m.raw.Read(id, &b) || len(b.Ins) > 64 {
		return nil
	}
	sh := &sampledShape{words: b.Words, addr: b.Addr, uniform: -1}
	sh.piece = len(b.Ins) > 0 && b.Ins[0].Flags&records.InsPart != 0
	// nil for a block of which all is kept.
	rates := m.raw.SampleRates(id)
	for i := range b.Ins {
		if b.Ins[i].Flags&records.InsRecorded != 0 {
			sh.recorded |= 1 << i
		}
		if rates != nil {
			sh.gaps = append(sh.gaps, m.rate(rates[i]))
		}
	}
	for i, g := range sh.gaps {
		switch {
		case sh.recorded>>i&1 == 0:
		case sh.uniform < 0 && sh.recorded&(1<<i-1) == 0:
			sh.uniform = g
		case sh.uniform != g:
			sh.uniform = -1
		}
	}
	// Half as much again, so that numbers that rise one by one do not copy it each
	// time.
	for int(id) >= len(m.known) {
		m.known = append(m.known, make([]*sampledShape, int(id)+1-len(m.known)+len(m.known)/2)...)
	}
	m.known[id] = sh
	return sh
}

// rate returns the place of a rate in gaps; -1 for one that keeps all.
func (m *Sampler) rate(rate uint32) int8 {
	if rate <= 1 {
		return -1
	}
	for i := range m.gaps {
		if m.gaps[i].rate == rate {
			return int8(i)
		}
	}
	if len(m.gaps) > math.MaxInt8 { // nobody writes so many: the last holds for what is more
		return math.MaxInt8
	}
	m.gaps = append(m.gaps, rateGap{rate, m.gap(rate)})
	return int8(len(m.gaps) - 1)
}

// keep returns the words with what is kept of them, with an error what was kept in front of words that
// make no sense. They are valid until the next call.
//
// It finds executions by itself: a records.Iterator takes half as long again, where most are passed over.
func (m *Sampler) keep(words []uint64) ([]uint64, error) {
	out := m.words[:0]
	defer func() { m.words = out }()
	beside := -1 // where the marks begin that go with the next execution by the tracer
	for at := 0; at < len(words); {
		w := words[at]
		if !records.IsMark(w) {
			n, err := m.execution(&out, words[at:], 64, nil)
			if err != nil {
				return out, err
			}
			at += n
			continue
		}
		n := records.MarkLen(words[at:])
		kind, payload := records.SplitMark(w)
		switch {
		case n == 0:
			return out, fmt.Errorf("mark %#x at word %d: %w", w, at, records.ErrMalformed)
		case kind == records.MarkCut && at+1 < len(words):
			// The cut goes with its execution: it is dropped if nothing of that is
			// kept.
			k, err := m.execution(&out, words[at+1:], int(payload), &w)
			if err != nil {
				return out, err
			}
			n += k
		case kind == records.MarkBeside:
			if beside < 0 {
				beside = at
			}
		case kind == records.MarkEmulated:
			sh := m.shape(uint32(payload))
			if sh == nil {
				return out, fmt.Errorf("block %d: %w", payload, records.ErrMalformed)
			}
			// The tracer executes a block's one instruction at a time.
			if m.choose(sh, 1) != 0 {
				if beside >= 0 {
					out = append(out, words[beside:at]...)
				}
				// The engine's own block, by its number in the profile: with one
				// instruction there is nothing to leave out of it.
				out = append(append(out, records.Mark(kind, payload*2)), words[at+1:at+n]...)
			}
			beside = -1
		default:
			out = append(out, words[at:at+n]...)
		}
		at += n
	}
	return out, nil
}

// execution appends what is kept of an execution, whose first completed instructions
// ran, and returns its length. cut is the mark that goes with it.
func (m *Sampler) execution(out *[]uint64, words []uint64, completed int, cut *uint64) (int, error) {
	id := uint32(words[0])
	sh := m.shape(id)
	// The head and words behind it: as many as words are not enough.
	if sh == nil || sh.words >= len(words) {
		return 0, fmt.Errorf("block %d: %w", id, records.ErrMalformed)
	}
	kept := m.choose(sh, completed)
	if kept != 0 {
		number := uint64(id) * 2
		// Where all of it was kept the engine's own block serves.
		if kept != sh.recorded {
			number = uint64(m.s.id(sampledBlock{id, kept}))
		}
		if cut != nil {
			*out = append(*out, *cut)
		}
		// All words go along, also those of what was left out: the block says where
		// each lies, and taking some out would move the others.
		*out = append(append(*out, number), words[1:1+sh.words]...)
	}
	return 1 + sh.words, nil
}

// choose decides which of an execution's first completed instructions are kept: bit i
// stands for instruction i.
// Gaps go on from one execution to the next, over all blocks and threads of the stream:
// each instruction has the same chance wherever it stands.
func (m *Sampler) choose(sh *sampledShape, completed int) uint64 {
	if sh.gaps == nil {
		return sh.recorded
	}
	// Not for a cut execution, of which fewer are to be passed over.
	pieces := m.pieces != undecided && m.piecesAt == sh.addr
	if sh.uniform >= 0 && completed >= len(sh.gaps) && !pieces && !sh.piece {
		n := uint64(bits.OnesCount64(sh.recorded))
		if g := &m.gaps[sh.uniform]; g.left >= n {
			g.left -= n
			return 0
		}
	}
	var kept uint64
	for i, k := range sh.gaps {
		bit := uint64(1) << i
		if sh.recorded&bit == 0 || i >= completed {
			continue
		}
		if k < 0 {
			kept |= bit
			continue
		}
		if i == 0 && pieces { // it has been decided on with the first piece
			if m.pieces == keptAll {
				kept |= bit
			}
			continue
		}
		g := &m.gaps[k]
		if g.left > 0 {
			g.left--
			continue
		}
		kept |= bit
		// Drawn as soon as one is kept: choose may then pass over executions
		// without looking.
		g.left = m.gap(g.rate)
	}
	switch {
	case !sh.piece:
		m.pieces = undecided
	case kept != 0:
		m.pieces, m.piecesAt = keptAll, sh.addr
	default:
		m.pieces, m.piecesAt = passedOver, sh.addr
	}
	return kept
}

// gap draws how many instructions are passed over: each is kept with one in rate,
// whatever happened to those before it, which makes gaps geometric. One draw for each
// that is kept is cheaper than one for each.
func (m *Sampler) gap(rate uint32) uint64 {
	u := 1 - m.random.Float64() // above 0
	return uint64(math.Log(u) / math.Log1p(-1/float64(rate)))
}
