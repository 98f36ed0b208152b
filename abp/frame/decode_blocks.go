package frame

import "encoding/binary"

// exec decodes an execution's words. Everything here mirrors the encoder: a change
// to the model on one side must be made on the other, in the same order, because
// each step reads what the one before it wrote. FuzzChunk holds them together.
//
// The execution is appended to out whole or, after an error, in part: Next then throws
// the batch away.
func (d *Decoder) exec(id uint32) {
	if d.patch >= 0 {
		d.settle(d.addrOf(id))
	}
	d.items--
	b := &d.blocks[id]
	b.execs++
	n := int(b.words)
	at := len(d.out) + 1
	// A batch may exceed its size by one record; then it grows for good.
	if cap(d.out) < at+n {
		d.out = append(d.out, make([]uint64, n+1+batchWords)...)[:at-1]
	}
	d.out = d.out[:at+n]
	d.out[at-1] = uint64(id)
	vs := d.out[at:]
	if d.plain {
		d.denseExec(b, vs)
		return
	}
	if b.flags&flagSpecial != 0 {
		d.special(id, b, vs)
		return
	}
	// Whole executions without a misprediction are the most by far, and need no look at
	// the control bytes.
	slots := d.slots[b.base:][:n]
	if d.hits.hits >= n {
		d.hits.hits -= n
		d.predicted(b, slots, vs)
		return
	}
	for j := range vs {
		vs[j] = d.address(b, &slots[j], j)
	}
}

// predicted gives all words of an execution, which hold no misprediction.
//
// It is the decoder's hot loop. Choices are assignments, as in the encoder, so that they
// compile to conditional moves; a slot that only counts strides needs none of them.
func (d *Decoder) predicted(b *blockState, slots []slot, vs []uint64) {
	slots = slots[:len(vs)]
	prev := d.prev
	if b.flags&flagMixed == 0 {
		for j := range vs {
			s := &slots[j]
			prev = s.last + uint64(int64(s.d))
			s.last, vs[j] = prev, prev
		}
		d.prev = prev
		return
	}
	stack := d.stack
	for j := range vs {
		s := &slots[j]
		v := s.last
		if s.mode == modeStack {
			v = stack
		}
		if s.mode == modePrev {
			v = prev
		}
		v += uint64(int64(s.d))
		if s.mode == modeFCM {
			v = d.fcm[fcmIndex(s.last)]
		}
		if s.mode == modeStack {
			stack = v
		}
		s.last, vs[j], prev = v, v, v
	}
	d.stack, d.prev = stack, prev
}

// address decodes word j of the last block, which slot s stands for.
// A slot that leaves the strides marks its block, which sends the block's later
// executions through the general loop. The encoder marks it at the same word.
func (d *Decoder) address(b *blockState, s *slot, j int) uint64 {
	var v uint64
	if d.hits.hits > 0 || d.hits.class < 0 && d.wordRun() {
		if s.mode == modeWild {
			d.fail("a wild word without a class")
			return 0
		}
		d.hits.hits--
		v = d.expect(s)
	} else {
		v = d.mispredictedWord(b, s, j == int(b.stack))
		if s.mode != modeStride {
			b.flags |= flagMixed
		}
	}
	s.last = v
	d.prev = v
	if s.mode == modeStack {
		d.stack = v
	}
	return v
}

// wordRun reads control bytes until there is a predicted word or a misprediction. It
// returns whether it is the former.
func (d *Decoder) wordRun() bool {
	r := &d.hits
	for r.hits == 0 && r.class < 0 && d.err == nil {
		c := d.nextByte(&d.words)
		if n := int(c & wordRun); n < wordRun {
			r.hits, r.class = n, int(c>>4)
		} else {
			r.hits = wordRun << (c >> 4)
		}
	}
	return d.err == nil && r.hits > 0
}

// mispredictedWord decodes a mispredicted word.
func (d *Decoder) mispredictedWord(b *blockState, s *slot, pinned bool) uint64 {
	class := d.hits.class
	d.hits.class = -1
	// class 15 is none: only a damaged stream has it.
	if d.err != nil || class < 0 || class >= numClasses {
		d.fail("a class that is none")
		return 0
	}
	diff := uint64(unzigzag(d.payload(&d.pay, classLen(class))))
	if s.mode == modeWild {
		v := s.last + diff
		if s.wild(v); s.tried == wildTrial {
			s.tamed()
		}
		return v
	}
	f := &d.fcm[fcmIndex(s.last)]
	var v uint64
	switch {
	case class == classKnown:
		v = s.other(*f)
	case class >= classPrev:
		v = d.prev + diff
	case class >= classStack:
		v = d.stack + diff
	default:
		v = s.last + diff
	}
	// In the encoder's order: the table first, then the slot, whose last word its
	// caller sets.
	*f = v
	s.learn(class, v, d.prev, d.stack, pinned)
	if !d.tame {
		s.tire(class, b.execs, pinned)
	}
	return v
}

// nextByte takes a byte off a stream.
func (d *Decoder) nextByte(s *[]byte) byte {
	if len(*s) == 0 {
		d.fail("a stream ends early")
		return 0
	}
	c := (*s)[0]
	*s = (*s)[1:]
	return c
}

// payload reads n ≤ 8 bytes as a number.
// Reading beyond the number is safe as long as eight bytes are left, whatever they
// mean.
func (d *Decoder) payload(s *[]byte, n int) uint64 {
	b := *s
	if len(b) < n || n > 8 {
		d.fail("payloads end early")
		return 0
	}
	*s = b[n:]
	// Eight bytes at once and a mask, but for the last few of a stream.
	if len(b) >= 8 {
		return binary.LittleEndian.Uint64(b) & (1<<(8*n) - 1)
	}
	var tmp [8]byte
	copy(tmp[:], b[:n])
	return binary.LittleEndian.Uint64(tmp[:])
}
