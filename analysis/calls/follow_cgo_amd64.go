package calls

// #cgo CFLAGS: -O2
// #cgo noescape follow_run
// #cgo nocallback follow_run
// #include "follow_amd64.h"
import "C"

import (
	"unsafe"

	"alleria/abp"
	"alleria/analysis/stream"
)

// Indices that are not zero do not compile.
var _ = [...]any{
	[1]int{}[unsafe.Sizeof(followPlan{})-C.sizeof_struct_plan], [1]int{}[unsafe.Offsetof(followPlan{}.at)-8], [1]int{}[unsafe.Offsetof(followPlan{}.counts)-16],
	[1]int{}[unsafe.Sizeof(followStep{})-C.sizeof_struct_step], [1]int{}[unsafe.Offsetof(followStep{}.self)-12], [1]int{}[unsafe.Offsetof(followStep{}.counts)-64],
	[1]int{}[unsafe.Sizeof(followAccess{})-C.sizeof_struct_access], [1]int{}[unsafe.Offsetof(followAccess{}.aux)-4], [1]int{}[unsafe.Offsetof(followAccess{}.lanes)-16],
	[1]int{}[unsafe.Sizeof(node{})-C.sizeof_struct_node], [1]int{}[unsafe.Offsetof(node{}.executed)-8*laneSize], [1]int{}[unsafe.Offsetof(node{}.calls)-8*laneCalls], [1]int{}[unsafe.Offsetof(node{}.site)-112],
	[1]int{}[unsafe.Sizeof(frame{})-C.sizeof_struct_frame], [1]int{}[unsafe.Offsetof(frame{}.tail)-12], [1]int{}[unsafe.Offsetof(frame{}.slot)-16], [1]int{}[unsafe.Offsetof(frame{}.state)-32],
	[1]int{}[unsafe.Sizeof(entry{})-C.sizeof_struct_entry], [1]int{}[unsafe.Offsetof(entry{}.child)-16],
	[1]int{}[unsafe.Offsetof(node{}.met)-76], [1]int{}[unsafe.Sizeof(met{})-C.sizeof_struct_met], [1]int{}[unsafe.Sizeof(abp.Counts{})-6*8],
	[1]int{}[C.OP_CALL-int(opCall)], [1]int{}[C.OP_RET-int(opRet)], [1]int{}[C.OP_NONE-int(opNone)], [1]int{}[C.ROOT-root], [1]int{}[C.ANYWHERE-anywhere], [1]int{}[C.MOST_SEARCH-maxSearch],
	[1]int{}[C.STEPS_SHIFT-stepsShift], [1]int{}[C.SIMPLE-simpleBlock], [1]int{}[C.STRING-int(abp.AccessString)], [1]int{}[C.PACKED-int(abp.AccessPacked)], [1]int{}[C.SIZED-int(abp.AccessSized)],
	[1]int{}[C.LANES-followLanes], [1]int{}[C.LANE_SIZE-laneSize], [1]int{}[C.LANE_CALLS-laneCalls], [1]int{}[C.MOST_LANE-mostLane], [1]int{}[C.MOST_WORDS-mostWords],
}

// haveLoop tells whether there is a loop in C.
const haveLoop = true

// haveVector tells whether the processor has what makes it fast.
func haveVector() bool { return C.follow_supported() != 0 }

// run goes on with whole executions behind those that were walked, as long as they are of the usual kind; step is how many steps of the next execution
// it has followed.
func (l *loop) run(t *Tracker, words []uint64, w *stream.Walked) (step int) {
	f := C.struct_follow{
		at: C.uint64_t(w.At), words: C.uint64_t(len(words)), limit: C.uint64_t(min(len(words), w.At+mostWords)),
		blocks: C.uint64_t(min(len(l.plans), len(w.Execs))), steps: C.uint64_t(len(l.steps)),
		frames: C.uint64_t(len(t.frames)), room: C.uint64_t(cap(t.frames)),
		mask: C.uint64_t(len(t.nodes.table) - 1), shift: C.uint64_t(t.nodes.shift),
		match: C.int32_t(t.match), cur: C.int32_t(t.cur),
		op: C.uint32_t(t.pend.op), site: C.uint64_t(t.pend.site), ret: C.uint64_t(t.pend.ret), target: C.uint64_t(t.pend.target), slot: C.uint64_t(t.pend.slot),
	}
	if t.nodes.many() {
		f.many = 1
	}
	vector := C.int(0)
	if l.vector {
		vector = 1
	}
	C.follow_run(&f, vector, (*C.uint64_t)(unsafe.SliceData(words)), (*C.struct_plan)(unsafe.Pointer(unsafe.SliceData(l.plans))), (*C.struct_step)(unsafe.Pointer(unsafe.SliceData(l.steps))),
		(*C.struct_access)(unsafe.Pointer(unsafe.SliceData(l.accesses))), (*C.uint64_t)(unsafe.SliceData(w.Execs)),
		(*C.struct_node)(unsafe.Pointer(unsafe.SliceData(t.nodes.all))), (*C.struct_frame)(unsafe.Pointer(unsafe.SliceData(t.frames))),
		(*C.struct_entry)(unsafe.Pointer(unsafe.SliceData(t.nodes.table))))
	t.match, t.cur, t.frames = int32(f.match), int32(f.cur), t.frames[:f.frames]
	t.pend = pending{}
	if f.op != C.OP_NONE {
		t.pend = pending{op: op(f.op), site: uint64(f.site), ret: uint64(f.ret), target: uint64(f.target), slot: uint64(f.slot)}
	}
	w.Counts.Add(abp.Counts{Loads: uint64(f.dyn[2]), Stores: uint64(f.dyn[3]), BytesRead: uint64(f.dyn[4]), BytesWritten: uint64(f.dyn[5])}, 1)
	w.At = int(f.at)
	return int(f.step)
}
