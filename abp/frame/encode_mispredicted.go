package frame

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// unpredicted writes the block of the execution at words[at], which is not the
// predicted one, after making sure that all of the execution is there.
//
// A block that is new is entered into the list of blocks here, and taken out again if the
// record turns out to be cut short.
func (e *Encoder) unpredicted(index uint32, words []uint64, at int) error {
	id := e.Number(words[at])
	isNew := !e.touched(id)
	// Whether all is well is known before anything is written: after an error the
	// frame must still decode to what precedes.
	if isNew {
		if !e.touch(id) {
			return e.unknown(words, at)
		}
		e.Touched = append(e.Touched, id)
	}
	if err := e.notWhole(words, at); err != nil {
		if isNew {
			e.past[id].gen = e.gen - 1
			e.Touched = e.Touched[:len(e.Touched)-1]
		}
		return err
	}
	// Successors before numbers: they are most of the mispredictions, and a symbol says
	// all. A new block needs none either, because the list of blocks has it.
	p := &e.past[e.last]
	switch {
	case isNew:
		e.symbol(symNew)
	case p.next == id:
		e.symbol(symNext)
	case p.next2 == id:
		e.symbol(symNext2)
	default:
		e.symbol(symNumber)
		e.numbers = binary.AppendUvarint(e.numbers, zigzag(int64(id)-int64(e.last)))
	}
	e.learnSuccessor(index, id)
	return nil
}

// unknown is the error of a block that the caller has no shape for.
func (e *Encoder) unknown(words []uint64, at int) error {
	return fmt.Errorf("block %d at word %d is unknown: %w", e.Number(words[at]), at, ErrMalformed)
}

// stop ends blocksOf with an error. Its caller finishes the frame: the history
// may already hold what was not written.
func (e *Encoder) stop(at int, idHits, hits uint64, err error) (int, error) {
	e.idHits, e.hits = idHits, hits
	return at, err
}

// notWhole is the error of a record of a known block that is not what it should be.
func (e *Encoder) notWhole(words []uint64, at int) error {
	b := &e.blocks[e.Number(words[at])]
	if int(b.words) >= len(words)-at {
		return e.cutShort(words, at)
	}
	if size := words[at] >> e.sizeShift(); size != 0 && size != uint64(b.words)+1 {
		return fmt.Errorf("block %d at word %d says that it has %d words: %w", e.Number(words[at]), at, size, ErrMalformed)
	}
	return nil
}

// cutShort is the error of a record that the chunk does not hold whole. The
// engine never splits one: the chunk was damaged, or read while it was written.
func (e *Encoder) cutShort(words []uint64, at int) error {
	return fmt.Errorf("block %d at word %d is cut short: %w", e.Number(words[at]), at, ErrMalformed)
}

// mispredicted writes a mispredicted address word of the last block, the one with
// left-1 more behind it, after so many predicted ones.
//
// The class is what needs the fewest bytes; with equal differences the slot's own last
// word wins, and then the stack pointer. What is learnt from it is what learn says.
// Kept out of the loops so that they stay small enough for the compiler to keep their
// variables in registers, and in one piece because calls were a tenth of its time.
func (e *Encoder) mispredicted(b *blockState, s *slot, v uint64, left int, hits uint64) {
	if hits >= wordRun {
		hits = e.runOfWords(hits)
	}
	pinned := int(b.words)-left == int(b.stack)
	// The table is written only here. While a slot's other prediction holds, what
	// it would learn is what that prediction knows.
	f := &e.fcm[fcmIndex(s.last)]
	other := *f
	*f = v
	if s.mode == modeFCM {
		other = s.last + uint64(int64(s.d))
	}
	stack := e.stack
	toLast, toStack := int64(v-s.last), int64(v-stack)
	class := classKnown
	switch {
	case v == other:
		e.ctl.put(hits, 1)
		if s.mode == modeFCM {
			s.mode = modeStride
		} else {
			s.mode = modeFCM
		}
	default:
		prev := e.prev
		payload, near := zigzag(toLast), 0
		if d := zigzag(toStack); d < payload && d>>(8*maxStackLen) == 0 {
			payload, near = d, 1
		}
		s.mode, s.d = modeStride, fit(toLast)
		d := zigzag(int64(v - prev))
		if d < payload && d>>(8*maxPrevLen) == 0 {
			payload, near = d, 2
			if d>>nearBits == 0 {
				s.mode, s.d = modePrev, int32(v-prev)
			}
		} else if zigzag(toStack)>>nearBits == 0 {
			s.mode, s.d = modeStack, int32(toStack)
		}
		class = int(classOf[near][uint(bits.Len64(payload)+7)>>3&15])
		e.ctl.put(uint64(class<<4)|hits, 1)
		e.pay.put(payload, classLen(class))
	}
	if pinned {
		s.mode, s.d = modeStack, fit(toStack)
	}
	s.last = v
	if !e.tame {
		s.tire(class, b.execs, pinned)
	}
	switch s.mode {
	case modeStride:
		return
	case modeStack:
		e.stack = v
	}
	b.flags |= flagMixed // for the rest of the frame: few slots find back to strides
}

// address encodes word j of a block with other words than addresses.
func (e *Encoder) address(b *blockState, s *slot, j int, v uint64) {
	if s.mode == modeWild {
		e.wild(s, v, e.hits)
		e.hits = 0
	} else if v == e.expect(s) {
		e.hits++
		s.last = v
		if s.mode == modeStack {
			e.stack = v
		}
	} else {
		e.mispredicted(b, s, v, int(b.words)-j, e.hits)
		e.hits = 0
	}
	e.prev = v
}

// expect predicts a slot's next word.
// The decoder calls it too; the hot loops of both sides have it written out.
func (m *model) expect(s *slot) uint64 {
	switch s.mode {
	case modeStride:
		return s.last + uint64(int64(s.d))
	case modeStack:
		return m.stack + uint64(int64(s.d))
	case modePrev:
		return m.prev + uint64(int64(s.d))
	}
	return m.fcm[fcmIndex(s.last)]
}

// wild writes a word of a wild slot, after so many predicted ones.
func (e *Encoder) wild(s *slot, v, hits uint64) {
	if hits >= wordRun {
		hits = e.runOfWords(hits)
	}
	class, payload := s.wild(v)
	e.ctl.put(uint64(class<<4)|hits, 1)
	e.pay.put(payload, int(class>>4))
	if s.tried == wildTrial {
		s.tamed()
	}
}

// predict is a slot's next word, in a form that is compiled in line and without branches
// but for the table, which is worth one.
func (s *slot) predict(stack, prev uint64, fcm *[1 << fcmBits]uint64) uint64 {
	want := s.last
	if s.mode == modeStack {
		want = stack
	}
	if s.mode == modePrev {
		want = prev
	}
	want += uint64(int64(s.d))
	if s.mode == modeFCM {
		want = fcm[uint16(fcmIndex(s.last))]
	}
	return want
}
