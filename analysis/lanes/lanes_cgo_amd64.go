package lanes

// #cgo CFLAGS: -O2
// #cgo noescape pages_run
// #cgo nocallback pages_run
// #cgo noescape lines_run
// #cgo nocallback lines_run
// #cgo noescape sample_run
// #cgo nocallback sample_run
// #cgo noescape tracks_run
// #cgo nocallback tracks_run
// #include "lanes_amd64.h"
import "C"

import "unsafe"

// Indices that are not zero do not compile.
var _ = [...]any{
	[1]int{}[unsafe.Sizeof(plan{})-C.sizeof_struct_plan], [1]int{}[unsafe.Offsetof(plan{}.words)-4], [1]int{}[lanes-C.LANES], [1]int{}[hashFactor-C.HASH_FACTOR],
	[1]int{}[groupIndex-C.GROUP_INDEX], [1]int{}[groupOffset-C.GROUP_OFFSET], [1]int{}[groupOwn-C.GROUP_OWN], [1]int{}[groupNumber-C.GROUP_NUMBER], [1]int{}[groupMasks-C.GROUP_MASKS],
	[1]int{}[groupWords-C.GROUP_WORDS], [1]int{}[mostGroups-C.MOST_GROUPS],
	[1]int{}[unsafe.Sizeof(recent{})-C.sizeof_struct_recent], [1]int{}[recents-C.RECENTS], [1]int{}[eventWords-C.EVENT_WORDS],
	[1]int{}[unsafe.Sizeof(Octet{})-C.sizeof_struct_octet], [1]int{}[unsafe.Sizeof(Ends{})-C.sizeof_struct_ends], [1]int{}[endRoom-C.END_ROOM],
}

// Supported tells whether the processor has what the loops need.
func Supported() bool { return C.lanes_supported() != 0 }

// at is where a loop begins.
func (v *Plans) at(words []uint64, at int, shift uint) C.struct_at {
	return C.struct_at{at: C.uint64_t(at), words: C.uint64_t(len(words)), blocks: C.uint64_t(len(v.plans)), shift: C.uint64_t(shift)}
}

// first is the first plan.
func (v *Plans) first() *C.struct_plan {
	return (*C.struct_plan)(unsafe.Pointer(unsafe.SliceData(v.plans)))
}

// Run goes on with whole executions from a word on, up to something that is left to the caller or until there are as many keys as are enough, and returns where it
// stopped. n keys are there; for as many as are enough and MostAccesses more there is room. A key is a line's number plus one. runs counts executions by block, for as many as Blocks says; nil: they are not counted.
func (l *Lines) Run(words []uint64, at int, keys []uint64, n, enough int, runs []uint64) (next, have int) {
	s := C.struct_lines{at: l.at(words, at, l.shift), n: C.uint64_t(n), many: C.uint64_t(enough), most: C.uint64_t(l.most)}
	if l.sample {
		C.sample_run(&s, (*C.uint64_t)(unsafe.SliceData(words)), l.first(), (*C.uint64_t)(unsafe.SliceData(l.arena)), (*C.uint64_t)(&keys[0]), (*C.uint64_t)(unsafe.SliceData(runs)))
		l.passed += uint64(s.passed)
	} else {
		C.lines_run(&s, (*C.uint64_t)(unsafe.SliceData(words)), l.first(), (*C.uint64_t)(unsafe.SliceData(l.arena)), (*C.uint64_t)(&keys[0]), (*C.uint64_t)(unsafe.SliceData(runs)))
	}
	return int(s.at.at), int(s.n)
}

// run goes on with whole executions from a word on, up to something that is left to the caller or until there is no room for events, and returns
// where it stopped. execs counts executions by block, for as many as Blocks says; nil: they are not counted.
func (v *Pages) run(words []uint64, at int, execs []uint64) int {
	s := C.struct_pages{at: v.at(words, at, v.shift), room: C.uint64_t(len(v.events))}
	C.pages_run(&s, (*C.uint64_t)(unsafe.SliceData(words)), v.first(), (*C.uint64_t)(unsafe.SliceData(v.arena)),
		(*C.uint64_t)(unsafe.SliceData(v.since)), (*C.uint64_t)(unsafe.SliceData(v.runs)), (*C.uint64_t)(unsafe.SliceData(execs)),
		(*C.struct_recent)(unsafe.Pointer(&v.recent)), (*C.uint64_t)(&v.events[0]))
	v.used = int(s.events)
	return int(s.at.at)
}

// run is Run.
func (t *Tracks) run(words []uint64, at int) int {
	s := C.struct_tracks{at: t.at(words, at, 0)}
	C.tracks_run(&s, (*C.uint64_t)(unsafe.SliceData(words)), t.first(), (*C.uint64_t)(unsafe.SliceData(t.arena)),
		(*C.struct_octet)(unsafe.Pointer(unsafe.SliceData(t.Octets))), (*C.struct_ends)(unsafe.Pointer(&t.Ends)))
	t.Ends.N = int(s.ends)
	return int(s.at.at)
}
