package reuse

// #cgo CFLAGS: -O2
// #cgo noescape near_pass
// #cgo nocallback near_pass
// #cgo noescape far_pass
// #cgo nocallback far_pass
// #include "near_amd64.h"
import "C"

import "unsafe"

// Indices that are not zero do not compile.
var _ = [...]any{
	[1]int{}[unsafe.Sizeof(missed{})-C.sizeof_struct_missed], [1]int{}[unsafe.Offsetof(missed{}.epoch)-24],
	[1]int{}[unsafe.Sizeof(entry{})-C.sizeof_struct_entry], [1]int{}[recents-C.RECENTS],
	[1]int{}[groupBits-C.GROUP_BITS], [1]int{}[fan-C.FAN], [1]int{}[mostLevels-C.MOST_LEVELS], [1]int{}[subBits-C.SUB_BITS], [1]int{}[homeShift-C.HOME_SHIFT],
}

// haveVector tells whether the processor has what near_pass needs.
func haveVector() bool { return C.near_supported() != 0 }

// pass refers to lines, one at least, in the unit that is given. What was not among the recent lines is in b.missed afterwards, and the
// units of those that were used first in this one in b.stale.
func (b *batch) pass(c *Counter, keys []uint64, now uint32) {
	table := b.none[:]
	if c.later == nil { // else it is another goroutine's, and there is no use in having its entries come to this processor
		table = c.table
	}
	n := C.struct_near{count: C.uint64_t(len(keys)), now: C.uint64_t(now), mask: C.uint64_t(len(table) - 1)}
	C.near_pass(&n, (*C.uint64_t)(&c.recent[0]), (*C.uint32_t)(&c.epochs[0]), (*C.uint8_t)(&b.ages[0]), (*C.uint64_t)(&keys[0]), (*C.struct_entry)(unsafe.Pointer(&table[0])),
		(*C.uint64_t)(&b.hits[0]), (*C.struct_missed)(unsafe.Pointer(&b.missed[0])), (*C.uint32_t)(&b.stale[0]))
	b.misses, b.stales = int(n.missed), int(n.stale)
}

// farPass goes on with what was not among the recent lines, from one on, up to one that is left to Go, and returns which. The units in which lines had been used
// before that are used first in this one are in stale, of which it returns how many.
func (c *Counter) farPass(list []missed, at int, stale []uint32, now uint32) (next, stales int) {
	t := &c.times
	f := C.struct_far{at: C.uint64_t(at), count: C.uint64_t(len(list)), now: C.uint64_t(now), mask: C.uint64_t(len(c.table) - 1), recent: C.uint64_t(c.fresh),
		time: C.uint64_t(c.now), in: C.uint64_t(t.in), room: C.uint64_t(t.room()), levels: C.uint64_t(len(t.levels)), buckets: C.uint64_t(len(c.Hist)), weight: C.double(c.sample.weight)}
	for i, l := range t.levels {
		f.level[i] = C.uint32_t(l)
	}
	C.far_pass(&f, (*C.struct_missed)(unsafe.Pointer(unsafe.SliceData(list))), (*C.struct_entry)(unsafe.Pointer(&c.table[0])), (*C.uint64_t)(&t.bits[0]),
		(*C.uint32_t)(&t.sums[0]), (*C.double)(unsafe.SliceData(c.Hist)), (*C.uint32_t)(&stale[0]))
	c.now = uint32(f.time)
	return int(f.at), int(f.stale)
}
