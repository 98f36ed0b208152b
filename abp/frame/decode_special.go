package frame

// special decodes the words of an execution that are not all addresses. Its
// branch word waits for the item behind it.
// The ops are in the encoder's order, which is not that of the words: addresses
// first, because they say where values were.
func (d *Decoder) special(id uint32, b *blockState, vs []uint64) {
	ops := d.ops[b.base:][:len(vs)]
	slots := d.slots[b.base:][:len(vs)]
	for i := range ops {
		o := &ops[i]
		j := o.word()
		switch o.kind() {
		case opAddr:
			vs[j] = d.address(b, &slots[j], j)
		case opMemory, opStride:
			memory := &slots[j].last
			if o.addr >= 0 {
				memory = &d.values[valueIndex(vs[o.addr]+uint64(int64(o.off)))]
			}
			vs[j] = d.value(o, &slots[j], memory)
		case opTime:
			vs[j] = d.timeStamp()
		default:
			// Its index, not a pointer: out may move while it grows.
			d.waiting, d.waitingAt = o, d.addrOf(id)
			d.patch = len(d.out) - len(vs) + j
		}
	}
}

// timeStamp decodes a time stamp.
// Differences wrap like the counter itself; time that goes back takes eight bytes.
func (d *Decoder) timeStamp() uint64 {
	n := uint64(d.nextByte(&d.times))
	switch n {
	case time2:
		n = d.payload(&d.times, 2)
	case time8:
		n = d.payload(&d.times, 8)
	}
	d.time += n
	return d.time
}

// settle decodes the branch word that waits, knowing the address behind it.
func (d *Decoder) settle(next uint64) {
	if d.patch < 0 {
		return
	}
	w := d.waiting.outcome(d.waitingAt, next)
	if d.outcome.more {
		if d.outcome.gap == 0 {
			w = d.outcome.word
			d.nextException()
		} else {
			d.outcome.gap--
		}
	}
	d.out[d.patch] = w
	d.patch = -1
}

// nextException reads where the next branch exception is.
// An empty stream means that every outcome was as expected.
func (d *Decoder) nextException() {
	d.outcome = outcomes{}
	if len(d.branch) > 0 {
		d.outcome = outcomes{gap: d.uvarint(&d.branch), word: d.uvarint(&d.branch), more: true}
	}
}

// value decodes a word of bytes that were read or written. memory is what was
// there before.
func (d *Decoder) value(o *op, s *slot, memory *uint64) uint64 {
	if !d.more() {
		return 0
	}
	var v uint64
	switch {
	case d.vals.hits == 0:
		v = d.mispredictedValue(o, s, *memory)
	case o.kind() == opMemory:
		d.vals.hits--
		return *memory // the slot is left alone, as the encoder does
	default:
		d.vals.hits--
		v = s.last + uint64(int64(s.d))
		s.last = v
	}
	*memory = v
	return v
}

// more reads runs of value words until there is a right prediction or a
// misprediction.
func (d *Decoder) more() bool {
	r := &d.vals
	for r.hits == 0 && r.class < 0 && d.err == nil {
		c := d.nextByte(&d.valClasses)
		if n := int(c & valueRun); n < valueRun {
			r.hits, r.class = n, int(c>>5)
		} else {
			r.hits = valueRun << (2 * (c >> 5))
		}
	}
	return d.err == nil
}

// mispredictedValue decodes a value that was not predicted.
func (d *Decoder) mispredictedValue(o *op, s *slot, memory uint64) uint64 {
	class := d.vals.class
	d.vals.class = -1
	v := d.payload(&d.valPay, valueLen(class))
	switch class {
	case valueOther:
		v = s.otherValue(o, memory)
	case valueLast:
		v = s.last
	case valueDiff1, valueDiff2:
		v = s.last + uint64(unzigzag(v))
	}
	s.learnValue(o, class, v)
	return v
}
