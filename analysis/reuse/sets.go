package reuse

// unitBits: times are kept in units of so many references (a power of two), the shortest stretch whose
// working set may be told.
const unitBits = 10

// epoch is the unit of time of the latest reference, from 1 on.
func (c *Counter) epoch() uint32 { return uint32((c.Refs-1)>>unitBits) + 1 }

// workingSets counts the different lines in each of the stretches that references are cut into, for several
// lengths of stretches at once: how many references there will be is not known while they come. Lengths that
// give too many stretches are dropped on the way.
type workingSets struct {
	shortest uint       // that was not dropped: stretches of 1 << shortest units
	counts   [][]uint64 // by length, from that on
	last     uint32     // unit, from 0
}

// Bounds of how many stretches there are of the lengths that are kept.
const (
	mostStretches   = 128
	toldStretches   = 64
	longestStretch  = 32 // no unit has more bits
	unknownLocation = ^uint32(0)
)

// touch counts a line that was used in a unit (from 1; 0: never) and is used again in a later one.
func (w *workingSets) touch(before, now uint32) {
	now--
	before-- // of a new line the largest number
	w.last = now
	for now>>w.shortest >= mostStretches {
		w.shortest++
		if len(w.counts) > 0 {
			w.counts = w.counts[1:]
		}
	}
	for s := w.shortest; s < longestStretch; s++ {
		if before != unknownLocation && before>>s == now>>s {
			return
		}
		i := int(s - w.shortest)
		if i >= len(w.counts) {
			w.counts = append(w.counts, nil)
		}
		for k := int(now >> s); k >= len(w.counts[i]); {
			w.counts[i] = append(w.counts[i], 0)
		}
		w.counts[i][now>>s]++
	}
}

// told is the length, as a shift of units, that gives a number of stretches to be shown.
func (w *workingSets) told() uint {
	s := w.shortest
	for w.last>>s >= toldStretches {
		s++
	}
	return s
}

// of is the working sets of stretches of a length that was not dropped.
func (w *workingSets) of(s uint) []uint64 {
	if i := int(s - w.shortest); i < len(w.counts) {
		return w.counts[i]
	}
	return nil
}
