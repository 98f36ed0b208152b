package strides

// most is how many different strides are counted apart; others are counted together.
const most = 64

// tally counts strides: a table with open addressing, twice as large as it is full at least. A Go map took half of the
// analysis' time where nearly each access is another stride away from the last.
type tally struct {
	slots  []Stride // Count 0: free
	used   int
	others uint64 // of strides that have no room
}

// add counts a stride n times, n not 0.
func (t *tally) add(stride int64, n uint64) {
	if 2*t.used == len(t.slots) && t.used < most {
		t.grow()
	}
	s := t.find(stride)
	switch {
	case s.Count > 0:
		s.Count += n
	case t.used == most:
		t.others += n
	default:
		*s = Stride{stride, n}
		t.used++
	}
}

// find returns a stride's slot, or the free one where it belongs.
func (t *tally) find(stride int64) *Stride {
	mask := uint64(len(t.slots) - 1)
	for i := uint64(stride) * 0x9e3779b97f4a7c15 >> 32; ; i++ {
		if s := &t.slots[i&mask]; s.Count == 0 || s.Bytes == stride {
			return s
		}
	}
}

// grow doubles the table.
func (t *tally) grow() {
	old := t.slots
	t.slots = make([]Stride, max(2*len(old), 4))
	for _, s := range old {
		if s.Count > 0 {
			*t.find(s.Bytes) = s
		}
	}
}
