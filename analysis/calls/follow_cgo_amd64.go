package calls

// #cgo CFLAGS: -O2
// #cgo noescape follow_run
// #cgo nocallback follow_run
// #include "follow_amd64.h"
import "C"

import "unsafe"

// Indices that are not zero do not compile.
var _ = [...]any{
	[1]int{}[unsafe.Sizeof(followPlan{})-C.sizeof_struct_plan], [1]int{}[unsafe.Offsetof(followPlan{}.at)-8], [1]int{}[unsafe.Offsetof(followPlan{}.counts)-16],
	[1]int{}[unsafe.Sizeof(followStep{})-C.sizeof_struct_step], [1]int{}[unsafe.Offsetof(followStep{}.self)-12], [1]int{}[unsafe.Offsetof(followStep{}.counts)-56],
	[1]int{}[unsafe.Sizeof(node{})-C.sizeof_struct_node], [1]int{}[unsafe.Offsetof(node{}.calls)-24], [1]int{}[unsafe.Offsetof(node{}.own)-40],
	[1]int{}[unsafe.Sizeof(frame{})-C.sizeof_struct_frame], [1]int{}[unsafe.Offsetof(frame{}.tail)-12], [1]int{}[unsafe.Offsetof(frame{}.slot)-16], [1]int{}[unsafe.Offsetof(frame{}.state)-32],
	[1]int{}[C.OP_CALL-int(opCall)], [1]int{}[C.OP_RET-int(opRet)], [1]int{}[C.OP_NONE-int(opNone)], [1]int{}[C.ROOT-root], [1]int{}[C.MOST_DEPTH-MaxDepth], [1]int{}[C.MOST_TAILS-maxSearch],
	[1]int{}[C.STEPS_SHIFT-stepsShift], [1]int{}[C.SIMPLE-simpleBlock],
	[1]int{}[C.LANES-followLanes], [1]int{}[C.LANE_SIZE-laneSize], [1]int{}[C.MOST_LANE-mostLane], [1]int{}[C.MOST_WORDS-mostWords],
}

// haveLoop tells whether there is a loop in C.
const haveLoop = true

// run goes on with whole executions from a word on, as long as they are of the usual kind, and returns where it stopped; step is how many steps of the execution there
// it has followed.
func (l *loop) run(t *Tracker, words []uint64, at int, runs []uint64) (next, step int) {
	f := C.struct_follow{
		at: C.uint64_t(at), words: C.uint64_t(len(words)), limit: C.uint64_t(min(len(words), at+mostWords)),
		blocks: C.uint64_t(min(len(l.plans), len(runs))), steps: C.uint64_t(len(l.steps)),
		nodes: C.uint64_t(len(t.nodes.all)), frames: C.uint64_t(len(t.frames)), room: C.uint64_t(cap(t.frames)),
		mask: C.uint64_t(len(t.nodes.table) - 1), shift: C.uint64_t(t.nodes.shift),
		match: C.int32_t(t.match), cur: C.int32_t(t.cur),
		op: C.uint32_t(t.pend.op), site: C.uint64_t(t.pend.site), ret: C.uint64_t(t.pend.ret), target: C.uint64_t(t.pend.target), slot: C.uint64_t(t.pend.slot),
		from: C.uint64_t(l.from),
	}
	C.follow_run(&f, (*C.uint64_t)(unsafe.SliceData(words)), (*C.struct_plan)(unsafe.Pointer(unsafe.SliceData(l.plans))), (*C.struct_step)(unsafe.Pointer(unsafe.SliceData(l.steps))),
		(*C.uint64_t)(unsafe.SliceData(runs)), (*C.struct_node)(unsafe.Pointer(unsafe.SliceData(t.nodes.all))), (*C.struct_frame)(unsafe.Pointer(unsafe.SliceData(t.frames))),
		(*C.int32_t)(unsafe.SliceData(t.nodes.table)), (*C.int32_t)(unsafe.SliceData(l.latest)))
	t.match, t.cur, t.frames = int32(f.match), int32(f.cur), t.frames[:f.frames]
	t.pend, l.from = pending{}, uint32(f.from)
	if f.op != C.OP_NONE {
		t.pend = pending{op: op(f.op), site: uint64(f.site), ret: uint64(f.ret), target: uint64(f.target), slot: uint64(f.slot)}
	}
	t.bursts.executed += uint64(f.executed)
	return int(f.at), int(f.step)
}
