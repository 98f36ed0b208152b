package frame

import "unsafe"

// addressOps encodes the address words of a special block. It is the second loop
// of blocksOf, with the words where the ops say; unsafe for the same reason, and
// as safe: words, slots and ops of a block are as many, and op.word is below that.
//
// Both loops keep the model's fields in variables and put them back before anything else
// may look at them: written through the pointer, each word would wait for the store of
// the one before.
func (e *Encoder) addressOps(b *blockState, ops []op, slots []slot, vs []uint64) {
	v0, s0 := unsafe.Pointer(unsafe.SliceData(vs)), unsafe.Pointer(unsafe.SliceData(slots))
	fcm := (*[1 << fcmBits]uint64)(e.fcm)
	stack, prev, hits := e.stack, e.prev, e.hits
	for i := range ops[:b.addrs] {
		j := uintptr(ops[i].what) // opAddr is no bits
		s := (*slot)(unsafe.Add(s0, j*slotSize))
		v := *(*uint64)(unsafe.Add(v0, j*8))
		if s.mode == modeWild {
			e.wild(s, v, hits)
			hits = 0
		} else if v == s.predict(stack, prev, fcm) {
			s.last = v
			hits++
			if s.mode == modeStack {
				stack = v
			}
		} else {
			e.stack, e.prev = stack, prev
			e.mispredicted(b, s, v, int(b.words)-int(j), hits)
			hits, stack = 0, e.stack
		}
		prev = v
	}
	e.stack, e.prev, e.hits = stack, prev, hits
}

// valueOps encodes the words of a special block that hold bytes. Addresses have
// been encoded by then, so that the decoder knows where each value was. The table
// of what is where needs no tags: a wrong entry is a misprediction, not an error.
//
// A word without an address predicts itself from the last time. One with an address
// predicts that memory still holds what was last seen there, which is right for most
// loads: the bytes were stored, or loaded, before.
func (e *Encoder) valueOps(b *blockState, ops []op, slots []slot, vs []uint64) {
	if b.values == 0 { // there may be no table then
		return
	}
	v0, s0 := unsafe.Pointer(unsafe.SliceData(vs)), unsafe.Pointer(unsafe.SliceData(slots))
	values := (*[1 << valueBits]uint64)(e.values)
	for i := range ops[:b.values] {
		o := &ops[i]
		j := uintptr(o.word())
		v := *(*uint64)(unsafe.Add(v0, j*8))
		s := (*slot)(unsafe.Add(s0, j*slotSize))
		// Without an address of the simple form the slot itself is the place.
		memory := &s.last
		if o.addr >= 0 {
			addr := *(*uint64)(unsafe.Add(v0, uintptr(o.addr)*8)) + uint64(int64(o.off))
			memory = &values[uint16(valueIndex(addr))]
		}
		if o.kind() == opMemory {
			if v == *memory {
				e.valHits++
				continue
			}
		} else if v == s.last+uint64(int64(s.d)) {
			e.valHits++
			s.last, *memory = v, v // others may read the same place by their addresses
			continue
		}
		e.mispredictedValue(o, s, v, *memory)
		*memory = v
	}
}
