package records

import (
	"runtime"
	"sync/atomic"
)

// Whole tables at a time: who counts the executions of all blocks needs neither a look at each when it is first met, which goes from one cold line to the next, nor one when
// the counts are added up.

// Plain sets what stands in to for the numbers from first on: none where there is a block whose words do not decide what it counts for (Sum.Dynamic), else other.
// to is by number; numbers that were not given yet are others.
func (t *Blocks) Plain(to []uint32, first uint32, none, other uint32) {
	last := t.last.Load() // whose row is there, as are those in front
	for from := int(first); from < len(to); {
		page, end := t.rows[from>>blockPageBits].Load(), min(len(to), (from>>blockPageBits+1)<<blockPageBits)
		for id := from; id < end; id++ {
			if to[id] = other; page == nil || uint32(id) > last {
				continue
			}
			if r := &page[id&(1<<blockPageBits-1)]; atomic.LoadUint32(&r.place) != 0 && r.flags&rowDynamic == 0 {
				to[id] = none
			}
		}
		from = end
	}
	runtime.KeepAlive(t) // and what the pages are in
}

// Tally adds up what so many executions of each block count for, and the words of their records, first ones as well. execs is by number; those below most are counts,
// of blocks that Plain has told of, and begin anew.
func (t *Blocks) Tally(execs []uint32, most uint32) (s Sum, words uint64) {
	for from := 0; from < len(execs); from += 1 << blockPageBits {
		page := t.rows[from>>blockPageBits].Load()
		if page == nil { // nothing of it was executed
			continue
		}
		here := execs[from:min(len(execs), from+1<<blockPageBits)]
		for i, n := range here {
			if n >= most {
				continue
			}
			here[i] = 0
			r := &page[i]
			if words += uint64(n) * (1 + uint64(r.words)); r.flags&rowWide == 0 { // adding nothing takes less than finding out
				s.addRow(r, uint64(n))
			} else if n > 0 {
				s.addWide(t, uint32(from+i), uint64(n))
			}
		}
	}
	runtime.KeepAlive(t)
	return s, words
}

// addRow adds n executions of a row that is not wide.
func (s *Sum) addRow(r *Row, n uint64) {
	s.Instructions += n * uint64(r.counts[0])
	s.MemInstructions += n * uint64(r.counts[1])
	s.Loads += n * uint64(r.counts[2])
	s.Stores += n * uint64(r.counts[3])
	s.BytesRead += n * uint64(r.bytes[0])
	s.BytesWritten += n * uint64(r.bytes[1])
}

// addWide adds n executions of a block whose facts say what it counts for. Facts of a file that are none count for nothing.
func (s *Sum) addWide(t *Blocks, id uint32, n uint64) {
	w, _ := t.Sum(id)
	s.Instructions += n * w.Instructions
	s.MemInstructions += n * w.MemInstructions
	s.Loads += n * w.Loads
	s.Stores += n * w.Stores
	s.BytesRead += n * w.BytesRead
	s.BytesWritten += n * w.BytesWritten
}
