package frame

import (
	"encoding/binary"
	"math/bits"
)

// groupRoom is how many bytes of payload the longest group could claim: eight lengths of
// half a byte each. With so many left none of its words needs a look at the end.
const groupRoom = groupWords * 15

// lengthMasks keep the bytes of a payload's length, which are at most eight.
var lengthMasks = [16]uint64{0, 1<<8 - 1, 1<<16 - 1, 1<<24 - 1, 1<<32 - 1, 1<<40 - 1, 1<<48 - 1, 1<<56 - 1, 1<<64 - 1}

// denseRun decodes executions as long as their blocks are predicted and the batch is not
// full: item and denseExec in one loop, whose state is in registers. A block of the table
// of predictions has been met in this frame, since only such get into it; that it is there
// at all is all that has to be asked.
//
// What the loop waits for is the table (a prediction depends on the one before) and the
// streams' positions: each group's length is known from the one in front.
func (d *Decoder) denseRun() {
	d.reserveOut()
	out, hist, last := d.out, d.hist, d.last
	ids := (*[1 << idBits]uint32)(d.ids)
	left := uint64(d.idHits)
	c, p := d.halves, 0 // where the loop is in words (version 4: in half bytes) and pay
	for left = min(left, d.items); left > 0 && len(out) < batchWords; left-- {
		id := ids[uint16(idIndex(hist))]
		if id == 0 {
			d.fail("a block that was not met")
			return
		}
		hist, last = idHistory(hist, id), id
		b := &d.blocks[id]
		d.idHits--
		d.items--
		at, n := len(out)+1, int(b.words)
		out = out[:at+n]
		out[at-1] = uint64(id)
		if n == 0 {
			continue
		}
		if b.stack != noStack || n > groupWords {
			d.advance(c, p)
			d.denseExec(b, out[at:])
			c, p = d.halves, 0
		} else if d.strung {
			c, p = d.strungWords(d.lasts[b.base:][:n], out[at:], c, p)
		} else {
			c, p = d.denseGroup(d.lasts[b.base:][:n], out[at:], c, p)
		}
		if d.err != nil {
			return
		}
	}
	d.out, d.hist, d.last = out, hist, last
	d.advance(c, p)
}

// reserveOut makes room for a batch that ends with the largest block, and for a group behind it.
func (d *Decoder) reserveOut() {
	if room := batchWords + MaxWords + 1 + groupWords; cap(d.out) < room {
		d.out = append(make([]uint64, 0, room), d.out...)
	}
}

// advance goes on in the streams of words and payloads: c bytes, in version 4 to half byte c.
func (d *Decoder) advance(c, p int) {
	d.pay = d.pay[p:]
	if d.strung {
		d.halves = c
	} else {
		d.words = d.words[c:]
	}
}

// denseGroup decodes up to eight words, from these places of the streams on, and returns
// those behind them. Places are numbers, because a slice that is shortened is a store to
// memory that the collector wants to know of.
func (d *Decoder) denseGroup(lasts, vs []uint64, c, p int) (int, int) {
	if len(d.words)-c < groupBytes || len(d.pay)-p < groupRoom {
		d.words, d.pay = d.words[c:], d.pay[p:]
		if changed := d.nextByte(&d.words); changed != 0 {
			d.ungroup(changed, lasts)
		}
		copy(vs, lasts)
		return 0, 0
	}
	ctl, pay := d.words[c:][:groupBytes], d.pay
	changed := ctl[0]
	lengths := binary.LittleEndian.Uint32(ctl[1:])
	c += 1 + (bits.OnesCount8(changed)+1)/2
	for ; changed != 0; changed &= changed - 1 {
		size := lengths & 15
		lengths >>= 4
		i := bits.TrailingZeros8(changed)
		if i >= len(lasts) || size > 8 {
			d.fail("a group's control bytes")
			return 0, 0
		}
		lasts[i] += uint64(unzigzag(binary.LittleEndian.Uint64(pay[p:]) & lengthMasks[size]))
		p += int(size)
	}
	vs = vs[:len(lasts)]
	//lint:ignore S1001 a call costs more than eight words do
	for i, v := range lasts {
		vs[i] = v
	}
	return c, p
}

// strungWords decodes up to eight words of version 4, like denseGroup, c counting half bytes.
func (d *Decoder) strungWords(lasts, vs []uint64, c, p int) (int, int) {
	vs = vs[:len(lasts)]
	if len(d.words)-c/2 < 8 || len(d.pay)-p < groupRoom {
		d.advance(c, p)
		d.strungExec(lasts)
		copy(vs, lasts)
		return d.halves, 0
	}
	// Eight bytes have half a byte for each of eight words, also from the middle of one on.
	lengths := binary.LittleEndian.Uint64(d.words[c/2:]) >> (4 * (c & 1)) & (1<<(4*len(lasts)) - 1)
	pay := d.pay
	for i := 0; lengths != 0 && i < len(lasts); i++ {
		size := lengths & 15
		lengths >>= 4
		if size > 8 {
			d.fail("a word's length")
			return 0, 0
		}
		lasts[i] += uint64(unzigzag(binary.LittleEndian.Uint64(pay[p:]) & lengthMasks[size]))
		p += int(size)
	}
	//lint:ignore S1001 a call costs more than eight words do
	for i, v := range lasts {
		vs[i] = v
	}
	return c + len(lasts), p
}

// strungExec adds the differences of an execution of version 4 to its last words.
func (d *Decoder) strungExec(lasts []uint64) {
	if (d.halves+len(lasts)+1)/2 > len(d.words) {
		d.fail("words end early")
		return
	}
	for i := range lasts {
		size := int(d.words[d.halves/2]>>(4*(d.halves&1))) & 15
		d.halves++
		if size > 0 {
			lasts[i] += uint64(unzigzag(d.payload(&d.pay, size)))
		}
	}
}
