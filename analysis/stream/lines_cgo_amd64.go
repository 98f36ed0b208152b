package stream

// #cgo CFLAGS: -O2
// #cgo noescape lines_run
// #cgo nocallback lines_run
// #include "lines_amd64.h"
import "C"

import "unsafe"

// Indices that are not zero do not compile.
var _ = [...]any{
	[1]int{}[unsafe.Sizeof(vectorPlan{})-C.sizeof_struct_plan], [1]int{}[unsafe.Offsetof(vectorPlan{}.words)-4], [1]int{}[lanes-C.LANES],
	[1]int{}[groupIndex-C.GROUP_INDEX], [1]int{}[groupOffset-C.GROUP_OFFSET], [1]int{}[groupLast-C.GROUP_LAST],
	[1]int{}[groupWords-C.GROUP_WORDS], [1]int{}[mostGroups-C.MOST_GROUPS],
}

// haveVector tells whether the processor has what lines_run needs.
func haveVector() bool { return C.lines_supported() != 0 }

// run goes on with whole executions from a word on, up to something that is left to the caller or until there are enough keys, and returns where it
// stopped.
func (v *vector) run(l *Lines, words []uint64, at int) int {
	s := C.struct_lines{at: C.uint64_t(at), words: C.uint64_t(len(words)), blocks: C.uint64_t(len(v.plans)), n: C.uint64_t(l.n), many: C.uint64_t(l.many), shift: C.uint64_t(l.shift)}
	C.lines_run(&s, (*C.uint64_t)(unsafe.SliceData(words)), (*C.struct_plan)(unsafe.Pointer(unsafe.SliceData(v.plans))), (*C.uint64_t)(unsafe.SliceData(v.arena)),
		(*C.uint64_t)(&l.keys[0]))
	l.n = int(s.n)
	return int(s.at)
}
