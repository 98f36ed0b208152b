package strides

// #cgo CFLAGS: -O2
// #cgo noescape tally_known
// #cgo nocallback tally_known
// #include "tally_amd64.h"
import "C"

import (
	"unsafe"

	"alleria/analysis/lanes"
)

// Indices that are not zero do not compile.
var _ = [...]any{
	[1]int{}[unsafe.Sizeof(head{})-C.sizeof_struct_head], [1]int{}[unsafe.Offsetof(head{}.used)-4], [1]int{}[most-C.MOST], [1]int{}[tagWords-C.TAG_WORDS],
	[1]int{}[unitWords-C.UNIT_WORDS],
}

// haveVector tells whether the processor has what the loops need.
func haveVector() bool { return lanes.Supported() && C.tally_supported() != 0 }

// known counts runs whose strides are known, and returns how many others are first in e then.
func (t *tallies) known(e *lanes.Ends) int {
	if e.N == 0 {
		return 0
	}
	return int(C.tally_known(C.uint64_t(e.N), (*C.uint64_t)(&e.Track[0]), (*C.uint64_t)(&e.Stride[0]), (*C.uint64_t)(&e.Run[0]),
		(*C.struct_head)(unsafe.Pointer(unsafe.SliceData(t.heads))), (*C.uint64_t)(unsafe.SliceData(t.arena))))
}
