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
	if cap(d.out) < batchWords+MaxWords+1 {
		d.out = append(make([]uint64, 0, batchWords+MaxWords+1), d.out...)
	}
	out, hist, last := d.out, d.hist, d.last
	ids := (*[1 << idBits]uint32)(d.ids)
	left := uint64(d.idHits)
	c, p := 0, 0 // where the loop is in words and pay
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
		if b.stack != noStack || n > groupWords {
			d.words, d.pay, c, p = d.words[c:], d.pay[p:], 0, 0
			d.denseExec(b, out[at:])
		} else if n > 0 {
			c, p = d.denseGroup(d.lasts[b.base:][:n], out[at:], c, p)
		}
		if d.err != nil {
			return
		}
	}
	d.out, d.hist, d.last = out, hist, last
	d.words, d.pay = d.words[c:], d.pay[p:]
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
