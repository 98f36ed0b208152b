package codecache

/*
#include <stdint.h>
extern const uint8_t alleria_stubs[], alleria_stubs_end[], alleria_indirect[], alleria_dispatch[],
	alleria_dispatch_core[], alleria_dispatch_end[], alleria_switch[], alleria_switch_core[], alleria_switch_end[],
	alleria_switch_wait[], alleria_switch_tail[], alleria_syscall[], alleria_syscall_after[], alleria_sigreturn[], alleria_sigreturn_call[], alleria_sigreturn_after[], alleria_iret[], alleria_iret_copy[], alleria_inject[], alleria_inject_after[], alleria_notes[], alleria_notes_end[],
	alleria_capture[], alleria_capture_enter[], alleria_capture_done[], alleria_capture_left[], alleria_capture_left_done[],
	alleria_capture_leave[], alleria_capture_text[], alleria_capture_text_core[], alleria_capture_text_end[], alleria_capture_text_bail[], alleria_capture_bail[], alleria_capture_end[],
	alleria_entered[], alleria_entered_caller[], alleria_entered_known[], alleria_return[], alleria_return_any[], alleria_return_end[], alleria_batch[], alleria_batch_end[];
#define OFF(l) static uint64_t off_##l(void) { return (uint64_t)(alleria_##l - alleria_stubs); }
OFF(stubs_end) OFF(indirect) OFF(dispatch) OFF(dispatch_core) OFF(dispatch_end) OFF(switch) OFF(switch_core)
OFF(switch_end) OFF(switch_wait) OFF(switch_tail) OFF(syscall) OFF(syscall_after) OFF(inject) OFF(inject_after)
OFF(batch) OFF(notes) OFF(notes_end) OFF(sigreturn) OFF(sigreturn_call) OFF(sigreturn_after) OFF(iret) OFF(iret_copy)
OFF(entered) OFF(entered_caller) OFF(entered_known) OFF(return) OFF(return_any) OFF(return_end)
OFF(capture) OFF(capture_enter) OFF(capture_done) OFF(capture_left) OFF(capture_left_done) OFF(capture_leave)
OFF(capture_text) OFF(capture_text_core) OFF(capture_text_end) OFF(capture_text_bail) OFF(capture_bail) OFF(capture_end)
*/
import "C"

import "unsafe"

// Routines is where the assembly routines lie in a region, as offsets from the
// start of their copy.
//
// What lies between dispatch and dispatchCore saves registers, between core and end they are
// saved: that is what tells where the application's are. chunkWait to chunkTail is where a
// thread waits for room.
type Routines struct {
	Size                       uint64
	Indirect                   uint64
	Dispatch, DispatchCore     uint64
	DispatchEnd                uint64
	Chunk, ChunkCore, chunkEnd uint64
	chunkWait, ChunkTail       uint64
	Syscall, SyscallAfter      uint64
	Inject, InjectAfter        uint64
	Batch                      uint64 // as BatchCode has it
	notes, notesEnd            uint64 // see Region.NoteRoom
	ReturnRoutines
	Entered                     uint64 // counted places
	EnteredCaller, EnteredKnown uint64 // a load, and where it goes on if that faults
	Ret, RetAny, retEnd         uint64
	Capture                     CaptureRoutines
}

// ReturnRoutines take registers from a copy of what the application has on its stack.
type ReturnRoutines struct {
	Sigreturn, SigreturnCall, SigreturnAfter uint64
	Iret, IretCopy                           uint64
}

// CaptureRoutines are those that capture calls. A fault in them or in code that goes to them leads
// to bail, one between text and textEnd to textBail.
type CaptureRoutines struct {
	Begin, Enter, Done                uint64
	Left, LeftDone, Leave             uint64
	Text, TextCore, TextEnd, TextBail uint64
	Bail, End                         uint64
}

// routineOffsets takes them from the linker's addresses of the labels, so that nothing has to
// be kept in step with the assembly by hand.
func routineOffsets() Routines {
	return Routines{
		Size:         uint64(C.off_stubs_end()),
		Indirect:     uint64(C.off_indirect()),
		Dispatch:     uint64(C.off_dispatch()),
		DispatchCore: uint64(C.off_dispatch_core()),
		DispatchEnd:  uint64(C.off_dispatch_end()),
		Chunk:        uint64(C.off_switch()),
		ChunkCore:    uint64(C.off_switch_core()),
		chunkEnd:     uint64(C.off_switch_end()),
		chunkWait:    uint64(C.off_switch_wait()),
		ChunkTail:    uint64(C.off_switch_tail()),
		Syscall:      uint64(C.off_syscall()),
		SyscallAfter: uint64(C.off_syscall_after()),
		Inject:       uint64(C.off_inject()),
		InjectAfter:  uint64(C.off_inject_after()),
		Batch:        uint64(C.off_batch()),
		notes:        uint64(C.off_notes()),
		notesEnd:     uint64(C.off_notes_end()),
		ReturnRoutines: ReturnRoutines{
			Sigreturn: uint64(C.off_sigreturn()), SigreturnCall: uint64(C.off_sigreturn_call()), SigreturnAfter: uint64(C.off_sigreturn_after()),
			Iret: uint64(C.off_iret()), IretCopy: uint64(C.off_iret_copy()),
		},
		Entered:       uint64(C.off_entered()),
		EnteredCaller: uint64(C.off_entered_caller()), EnteredKnown: uint64(C.off_entered_known()),
		Ret:    uint64(C.off_return()),
		RetAny: uint64(C.off_return_any()),
		retEnd: uint64(C.off_return_end()),
		Capture: CaptureRoutines{
			Begin: uint64(C.off_capture()), Enter: uint64(C.off_capture_enter()), Done: uint64(C.off_capture_done()),
			Left: uint64(C.off_capture_left()), LeftDone: uint64(C.off_capture_left_done()), Leave: uint64(C.off_capture_leave()),
			Text: uint64(C.off_capture_text()), TextCore: uint64(C.off_capture_text_core()), TextEnd: uint64(C.off_capture_text_end()), TextBail: uint64(C.off_capture_text_bail()),
			Bail: uint64(C.off_capture_bail()), End: uint64(C.off_capture_end()),
		},
	}
}

// routineCode is the machine code of the routines.
// It is read-only data of our own binary, never executed there.
func routineCode() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&C.alleria_stubs)), int(C.off_stubs_end()))
}

// BatchCode is the machine code that makes several system calls: see tracee.Injector.Batch.
func BatchCode() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&C.alleria_batch)),
		int(uintptr(unsafe.Pointer(&C.alleria_batch_end))-uintptr(unsafe.Pointer(&C.alleria_batch))))
}
