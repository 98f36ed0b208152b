package cache

// #cgo CFLAGS: -O2
// #cgo noescape filter_run
// #cgo nocallback filter_run
// #include "filter_amd64.h"
import "C"

import "unsafe"

// Indices that are not zero do not compile.
var _ = [...]any{
	[1]int{}[unsafe.Sizeof(filterPlan{})-C.sizeof_struct_plan], [1]int{}[unsafe.Offsetof(filterPlan{}.words)-4],
	[1]int{}[unsafe.Offsetof(filterPlan{}.latest)-8],
	[1]int{}[fetchWords-C.FETCH_WORDS], [1]int{}[lanes-C.LANES], [1]int{}[groupWords-C.GROUP_WORDS], [1]int{}[groupLast-C.GROUP_LAST],
	[1]int{}[groupIndex-C.GROUP_INDEX], [1]int{}[groupOps-C.GROUP_OPS], [1]int{}[groupMasks-C.GROUP_MASKS], [1]int{}[mostOps-C.MOST_OPS],
	[1]int{}[eventWords-C.EVENT_WORDS],
}

// haveVector tells whether the processor has what filter_run needs.
func haveVector() bool { return C.filter_supported() != 0 }

// run goes on with whole executions from a word on, up to something that is left to the caller or until there is no room for
// events, and returns where it stopped. execs counts executions by block, for all that have plans; nil: they are not counted.
func (f *filter) run(words []uint64, at int, execs []uint64) int {
	s := C.struct_filter{
		at: C.uint64_t(at), words: C.uint64_t(len(words)), blocks: C.uint64_t(len(f.plans)), room: C.uint64_t(len(f.events)),
		moved: C.uint64_t(f.sim.moved), d_shift: C.uint64_t(f.sim.line), d_mask: C.uint64_t(f.d.mask), d_ways: C.uint64_t(f.d.ways),
	}
	// Without code to be simulated the tables are those of data, and nothing looks at them.
	i := f.d
	if f.i != nil {
		i = f.i
		s.i_mask, s.i_ways = C.uint64_t(i.mask), C.uint64_t(i.ways)
	}
	if f.sim.list != nil {
		s.list, s.pos = 1, C.uint64_t(f.sim.list.pos)
	}
	C.filter_run(&s, (*C.uint64_t)(unsafe.SliceData(words)), (*C.struct_plan)(unsafe.Pointer(unsafe.SliceData(f.plans))), (*C.uint64_t)(unsafe.SliceData(f.arena)),
		(*C.uint64_t)(unsafe.SliceData(f.runs)), (*C.uint64_t)(unsafe.SliceData(execs)), (*C.uint64_t)(&f.d.tags[0]), (*C.uint64_t)(&f.d.latest.tags[0]),
		(*C.uint64_t)(&i.tags[0]), (*C.uint64_t)(&i.latest.tags[0]), (*C.uint64_t)(&f.events[0]))
	f.used, f.sim.moved = int(s.events), uint64(s.moved)
	return int(s.at)
}
