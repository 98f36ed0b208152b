package reuse

// #cgo CFLAGS: -O2
// #cgo noescape near_pass
// #cgo nocallback near_pass
// #include "near_amd64.h"
import "C"

import "unsafe"

// Indices that are not zero do not compile.
var _ = [...]any{
	[1]int{}[unsafe.Sizeof(missed{})-C.sizeof_struct_missed], [1]int{}[unsafe.Offsetof(missed{}.epoch)-24],
	[1]int{}[unsafe.Sizeof(entry{})-C.sizeof_struct_entry], [1]int{}[recents-C.RECENTS],
}

// haveVector tells whether the processor has what near_pass needs.
func haveVector() bool { return C.near_supported() != 0 }

// pass refers to lines, one at least, in the unit that is given. What was not among the recent lines is in b.missed afterwards, and the
// units of those that were used first in this one in b.stale.
func (b *batch) pass(c *Counter, keys []uint64, now uint32) {
	n := C.struct_near{count: C.uint64_t(len(keys)), now: C.uint64_t(now), mask: C.uint64_t(len(c.table) - 1)}
	C.near_pass(&n, (*C.uint64_t)(&c.recent[0]), (*C.uint32_t)(&c.epochs[0]), (*C.uint64_t)(&keys[0]), (*C.struct_entry)(unsafe.Pointer(&c.table[0])),
		(*C.uint64_t)(&b.hits[0]), (*C.struct_missed)(unsafe.Pointer(&b.missed[0])), (*C.uint32_t)(&b.stale[0]))
	b.misses, b.stales = int(n.missed), int(n.stale)
}
