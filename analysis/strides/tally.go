package strides

import (
	"cmp"
	"math/bits"
	"slices"

	"alleria/analysis/lanes"
)

// most is how many different strides are counted apart; others are counted together.
const most = 64

// tallies count strides of operands, by number. A table has a tag of two bytes for each stride in front, which a loop in C compares all at once
// (tally_amd64.c): of a stride that is in no table, as nearly each one of a random walk, two cache lines tell it. Tables with open addressing, of which one is looked
// through until a slot is free, took a quarter of the analysis.
type tallies struct {
	heads []head
	// arena is tables: words of tags, then a stride and its count by turns, in the order in which strides came, and behind most of them how often others came.
	// There is slack behind the last one.
	arena []uint64
	end   int // of the last one
}

// head is what there is to be known of a table. Its room goes by how many strides it has.
type head struct{ at, used uint32 } // at: in the arena, in units of unitWords; the first table is nobody's

// The layout of tables: see tally_amd64.h.
const (
	tagWords  = most * 2 / 8
	unitWords = 8
	slack     = tagWords + 2*most + 2
)

// grow makes room for numbers below n.
func (t *tallies) grow(n int) {
	t.heads = append(t.heads, make([]head, max(n-len(t.heads), 0))...)
	if t.end == 0 {
		t.end = unitWords
		t.arena = make([]uint64, t.end+slack)
	}
}

// tag tells most strides apart.
func tag(stride uint64) uint64 { return stride * 0x9e3779b97f4a7c15 >> 48 }

// add counts a stride n times, n not 0.
func (t *tallies) add(number uint32, stride, n uint64) {
	h := &t.heads[number]
	k := t.find(h, stride)
	if k == int(h.used) && k < most {
		t.room(h)
		tags, slots := t.table(h)
		tags[k/4] |= tag(stride) << (k % 4 * 16)
		slots[2*k] = stride
		h.used++
	}
	_, slots := t.table(h)
	slots[2*k+1] += n
}

// table is a table's tags, and its slots with what is behind them.
func (t *tallies) table(h *head) (tags, slots []uint64) {
	all := t.arena[int(h.at)*unitWords:]
	return all[:tagWords], all[tagWords:]
}

// find returns where a stride is, four tags at a time; or how many there are.
func (t *tallies) find(h *head, stride uint64) int {
	const low, high = 0x0001000100010001, 0x8000800080008000
	tags, slots := t.table(h)
	all := tag(stride) * low
	for i, word := range tags[:(h.used+3)/4] {
		x := word ^ all
		for x = (x - low) &^ x & high; x != 0; x &= x - 1 { // of tags that are the same, and perhaps some above them
			if k := 4*i + bits.TrailingZeros64(x)/16; k < int(h.used) && slots[2*k] == stride {
				return k
			}
		}
	}
	return int(h.used)
}

// room makes a table four times as large where it is full. There are three sizes: what is left behind is a third of the largest.
func (t *tallies) room(h *head) {
	var words int // of the next size
	switch h.used {
	case 0:
		words = tagWords + 2*4
	case 4:
		words = tagWords + 2*16
	case 16:
		words = tagWords + 2*most + unitWords
	default:
		return
	}
	at := t.end
	t.end += words
	t.arena = append(t.arena, make([]uint64, t.end+slack-len(t.arena))...)
	if h.used > 0 {
		copy(t.arena[at:], t.arena[int(h.at)*unitWords:][:tagWords+2*h.used])
	}
	h.at = uint32(at / unitWords)
}

// ends counts runs that ended.
func (t *tallies) ends(e *lanes.Ends) {
	for i := range t.known(e) {
		if e.Run[i] > 0 {
			t.add(uint32(e.Track[i]), e.Stride[i], e.Run[i])
		}
	}
}

// others is how often strides came that have no room.
func (t *tallies) others(number uint32) uint64 {
	h := &t.heads[number]
	if h.used < most {
		return 0
	}
	_, slots := t.table(h)
	return slots[2*most+1]
}

// addOthers counts some of them, which only a full table has.
func (t *tallies) addOthers(number uint32, n uint64) {
	if n > 0 {
		_, slots := t.table(&t.heads[number])
		slots[2*most+1] += n
	}
}

// all is how many strides were counted.
func (t *tallies) all(number uint32) uint64 {
	n := t.others(number)
	_, slots := t.table(&t.heads[number])
	for k := range t.heads[number].used {
		n += slots[2*k+1]
	}
	return n
}

// sorted lists strides, the most frequent first.
func (t *tallies) sorted(number uint32) []Stride {
	out := []Stride{}
	_, slots := t.table(&t.heads[number])
	for k := range t.heads[number].used {
		out = append(out, Stride{int64(slots[2*k]), slots[2*k+1]})
	}
	slices.SortFunc(out, func(a, b Stride) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Bytes, b.Bytes)) })
	return out
}
