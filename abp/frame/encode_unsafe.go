package frame

import "unsafe"

// Sizes for address arithmetic: constants, so that multiplications become shifts.
const (
	slotSize  = unsafe.Sizeof(slot{})
	blockSize = unsafe.Sizeof(blockState{})
)

// blocksOf encodes executions from words[at] on, up to a mark or the end, and
// returns where it stopped. It is the loop that the whole recorder's speed
// hangs on. Mispredictions, and blocks with words that are no addresses, are left to
// functions. Wild slots (wild.go) are not: a call, with the streams' ends in memory, costs
// them twice what they cost here.
//
// Three things make it fast. It advances at word by word, in a loop whose count
// the processor predicts, instead of by the record's length, whose load it would
// have to wait for before it could look at the next record: that alone is a
// factor of two. It computes the history from the numbers in the ring, not from
// those that the table predicted, although they are the same, so that no look-up
// waits for the one before. And it indexes without bounds checks: a block's
// slots were allocated with it, and the room for a record is checked for all of
// its words at once. Choices between predictions are written as assignments, which
// compile to conditional moves; only the table is worth a branch.
//
// What makes the pointers valid: ids has 1<<idBits entries and is indexed by 16 bits;
// blocks has an entry for every number that ids predicts or unpredicted has let through;
// a block's slots are words many from base on; words[at:] holds the record, which is
// checked in front of the switch; and the streams have room for a chunk's words (Chunk), which
// nothing that is called here moves. Both slices may move when a block is new, and only then:
// their pointers are taken again behind unpredicted. The garbage collector sees the
// slices in e the whole time.
//
// It is long on purpose: the two inner loops differ in what they need to keep in
// registers, and a function for each would have to return that state through memory.
func (e *Encoder) blocksOf(words []uint64, at int) (int, error) {
	w0 := unsafe.Pointer(unsafe.SliceData(words))
	ids, fcm := (*[1 << idBits]uint32)(e.ids), (*[1 << fcmBits]uint64)(e.fcm)
	blocks, slots := unsafe.Pointer(unsafe.SliceData(e.blocks)), unsafe.Pointer(unsafe.SliceData(e.slots))
	c0, p0 := unsafe.Pointer(unsafe.SliceData(e.ctl.b)), unsafe.Pointer(unsafe.SliceData(e.pay.b))
	hist, idHits, hits := e.hist, e.idHits, e.hits
	var err error
	for at < len(words) {
		w := *(*uint64)(unsafe.Add(w0, at*8))
		index := idIndex(hist)
		if uint64(ids[uint16(index)]) == w {
			idHits++
		} else {
			if IsMark(w) {
				break
			}
			e.idHits = idHits
			if err = e.unpredicted(index, words, at); err != nil {
				break
			}
			idHits = 0
			blocks, slots = unsafe.Pointer(unsafe.SliceData(e.blocks)), unsafe.Pointer(unsafe.SliceData(e.slots))
		}
		id := uint32(w)
		b := (*blockState)(unsafe.Add(blocks, uintptr(id)*blockSize))
		left := int(b.words)
		if left >= len(words)-at {
			// It was predicted, else unpredicted would have complained.
			return e.stop(at, idHits-1, hits, e.cutShort(words, at))
		}
		hist = idHistory(hist, id)
		e.last = id
		b.execs++
		at++
		off := uintptr(b.base) * slotSize
		switch {
		case b.flags == 0:
			for ; left > 0; left-- {
				sl := (*slot)(unsafe.Add(slots, off))
				v := *(*uint64)(unsafe.Add(w0, at*8))
				if v == sl.last+uint64(int64(sl.d)) {
					sl.last = v
					hits++
				} else {
					if left < int(b.words) {
						e.prev = *(*uint64)(unsafe.Add(w0, at*8-8))
					}
					e.mispredicted(b, sl, v, left, hits)
					hits = 0
				}
				at++
				off += slotSize
			}
			if b.words != 0 {
				e.prev = *(*uint64)(unsafe.Add(w0, at*8-8))
			}
		case b.flags == flagMixed:
			stack, prev, cn, pn := e.stack, e.prev, uintptr(e.ctl.n), uintptr(e.pay.n)
			for ; left > 0; left-- {
				sl := (*slot)(unsafe.Add(slots, off))
				v := *(*uint64)(unsafe.Add(w0, at*8))
				if sl.mode == modeWild {
					if hits >= wordRun {
						cn, hits = e.runAt(cn, hits)
					}
					class, payload := sl.wild(v)
					*(*byte)(unsafe.Add(c0, cn)) = class<<4 | byte(hits)
					*(*uint64)(unsafe.Add(p0, pn)) = payload
					hits, cn, pn = 0, cn+1, pn+uintptr(class>>4)
					if sl.tried == wildTrial {
						sl.tamed()
					}
				} else if v == sl.predict(stack, prev, fcm) {
					sl.last = v
					hits++
					if sl.mode == modeStack {
						stack = v
					}
				} else {
					e.stack, e.prev, e.ctl.n, e.pay.n = stack, prev, int(cn), int(pn)
					e.mispredicted(b, sl, v, left, hits)
					hits, stack, cn, pn = 0, e.stack, uintptr(e.ctl.n), uintptr(e.pay.n)
				}
				prev = v
				at++
				off += slotSize
			}
			e.stack, e.prev, e.ctl.n, e.pay.n = stack, prev, int(cn), int(pn)
		case id == 0: // what an empty entry of the table predicts
			return e.stop(at-1, idHits-1, hits, e.unknown(words, at-1))
		default:
			e.hits = hits
			at = e.special(id, b, words, at)
			hits = e.hits
		}
	}
	e.hist, e.idHits, e.hits = hist, idHits, hits
	return at, err
}
