package pages

// #cgo CFLAGS: -O2
// #cgo noescape pages_run
// #cgo nocallback pages_run
// #include "pages_amd64.h"
import "C"

import "unsafe"

// Indices that are not zero do not compile.
var _ = [...]any{
	[1]int{}[unsafe.Sizeof(vectorPlan{})-C.sizeof_struct_plan], [1]int{}[unsafe.Offsetof(vectorPlan{}.words)-4], [1]int{}[lanes-C.LANES],
	[1]int{}[groupIndex-C.GROUP_INDEX], [1]int{}[groupOffset-C.GROUP_OFFSET], [1]int{}[groupPage-C.GROUP_PAGE], [1]int{}[groupSince-C.GROUP_SINCE], [1]int{}[groupMasks-C.GROUP_MASKS],
	[1]int{}[unsafe.Sizeof(recent{})-C.sizeof_struct_recent], [1]int{}[recents-C.RECENTS],
	[1]int{}[groupWords-C.GROUP_WORDS], [1]int{}[mostGroups-C.MOST_GROUPS], [1]int{}[eventWords-C.EVENT_WORDS],
}

// haveVector tells whether the processor has what pages_run needs.
func haveVector() bool { return C.pages_supported() != 0 }

// run goes on with whole executions from a word on, up to something that is left to the caller or until there is no room for events, and returns
// where it stopped.
func (v *vector) run(shift uint, words []uint64, at int) int {
	s := C.struct_pages{at: C.uint64_t(at), words: C.uint64_t(len(words)), blocks: C.uint64_t(len(v.plans)), room: C.uint64_t(len(v.events)), shift: C.uint64_t(shift)}
	C.pages_run(&s, (*C.uint64_t)(unsafe.SliceData(words)), (*C.struct_plan)(unsafe.Pointer(unsafe.SliceData(v.plans))), (*C.uint64_t)(unsafe.SliceData(v.arena)),
		(*C.uint64_t)(unsafe.SliceData(v.since)), (*C.uint64_t)(unsafe.SliceData(v.runs)), (*C.struct_recent)(unsafe.Pointer(&v.recent)), (*C.uint64_t)(&v.events[0]))
	v.used = int(s.events)
	return int(s.at)
}
