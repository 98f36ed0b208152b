package engine

/*
#include <stdint.h>
extern const uint8_t alleria_stubs[], alleria_stubs_end[], alleria_indirect[], alleria_request[],
	alleria_request_core[], alleria_request_end[], alleria_switch[], alleria_switch_core[], alleria_switch_end[],
	alleria_switch_wait[], alleria_switch_tail[], alleria_syscall[], alleria_syscall_after[], alleria_inject[], alleria_inject_after[],
	alleria_capture[], alleria_capture_enter[], alleria_capture_done[], alleria_capture_left[], alleria_capture_left_done[],
	alleria_capture_leave[], alleria_capture_text[], alleria_capture_text_core[], alleria_capture_text_end[], alleria_capture_text_bail[], alleria_capture_bail[], alleria_capture_end[],
	alleria_entered[], alleria_return[], alleria_return_any[], alleria_return_end[], alleria_batch[], alleria_batch_end[];
#define OFF(l) static uint64_t off_##l(void) { return (uint64_t)(alleria_##l - alleria_stubs); }
OFF(stubs_end) OFF(indirect) OFF(request) OFF(request_core) OFF(request_end) OFF(switch) OFF(switch_core)
OFF(switch_end) OFF(switch_wait) OFF(switch_tail) OFF(syscall) OFF(syscall_after) OFF(inject) OFF(inject_after)
OFF(entered) OFF(return) OFF(return_any) OFF(return_end)
OFF(capture) OFF(capture_enter) OFF(capture_done) OFF(capture_left) OFF(capture_left_done) OFF(capture_leave)
OFF(capture_text) OFF(capture_text_core) OFF(capture_text_end) OFF(capture_text_bail) OFF(capture_bail) OFF(capture_end)
*/
import "C"

import "unsafe"

// routines is where the assembly routines lie in an area, as offsets from the
// start of their copy.
//
// What lies between request and requestCore saves registers, between core and end they are
// saved: that is what tells where the application's are. chunkWait to chunkTail is where a
// thread waits for room.
type routines struct {
	size                       uint64
	indirect                   uint64
	request, requestCore       uint64
	requestEnd                 uint64
	chunk, chunkCore, chunkEnd uint64
	chunkWait, chunkTail       uint64
	syscall, syscallAfter      uint64
	inject, injectAfter        uint64
	entered                    uint64 // counted places
	ret, retAny, retEnd        uint64
	capture                    captureRoutines
}

// captureRoutines are those that capture calls. A fault in them or in code that goes to them leads
// to bail, one between text and textEnd to textBail.
type captureRoutines struct {
	begin, enter, done                uint64
	left, leftDone, leave             uint64
	text, textCore, textEnd, textBail uint64
	bail, end                         uint64
}

// routineOffsets takes them from the linker's addresses of the labels, so that nothing has to
// be kept in step with the assembly by hand.
func routineOffsets() routines {
	return routines{
		size:         uint64(C.off_stubs_end()),
		indirect:     uint64(C.off_indirect()),
		request:      uint64(C.off_request()),
		requestCore:  uint64(C.off_request_core()),
		requestEnd:   uint64(C.off_request_end()),
		chunk:        uint64(C.off_switch()),
		chunkCore:    uint64(C.off_switch_core()),
		chunkEnd:     uint64(C.off_switch_end()),
		chunkWait:    uint64(C.off_switch_wait()),
		chunkTail:    uint64(C.off_switch_tail()),
		syscall:      uint64(C.off_syscall()),
		syscallAfter: uint64(C.off_syscall_after()),
		inject:       uint64(C.off_inject()),
		injectAfter:  uint64(C.off_inject_after()),
		entered:      uint64(C.off_entered()),
		ret:          uint64(C.off_return()),
		retAny:       uint64(C.off_return_any()),
		retEnd:       uint64(C.off_return_end()),
		capture: captureRoutines{
			begin: uint64(C.off_capture()), enter: uint64(C.off_capture_enter()), done: uint64(C.off_capture_done()),
			left: uint64(C.off_capture_left()), leftDone: uint64(C.off_capture_left_done()), leave: uint64(C.off_capture_leave()),
			text: uint64(C.off_capture_text()), textCore: uint64(C.off_capture_text_core()), textEnd: uint64(C.off_capture_text_end()), textBail: uint64(C.off_capture_text_bail()),
			bail: uint64(C.off_capture_bail()), end: uint64(C.off_capture_end()),
		},
	}
}

// routineCode is the machine code of the routines.
// It is read-only data of our own binary, never executed there.
func routineCode() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&C.alleria_stubs)), int(C.off_stubs_end()))
}

// batchCode is the machine code that makes several system calls: see batch.go.
func batchCode() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&C.alleria_batch)),
		int(uintptr(unsafe.Pointer(&C.alleria_batch_end))-uintptr(unsafe.Pointer(&C.alleria_batch))))
}
