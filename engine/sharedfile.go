package engine

import "alleria/internal/layout"

// The shared file's parts, from its start:
//
//	areas     code caches
//	jumps     small areas near images, for native jumps
//	control   what all threads share
//	slots     a stretch for each thread
//
// Threads' slots come last, and the file ends behind the last that was taken. The target maps
// room for all of them, 64 GiB, so that no later call of ours is needed for a thread, and
// what touches each page of a mapping (mlockall, and a core dump, had it not been told to
// leave us out) would make all of that memory be there. It stops where the file ends.
// Refused: PROT_NONE until a slot is taken, which needs a call in the target for each thread,
// that a filter of system calls may answer by killing it.
const (
	areasOff   = uint64(0)
	jumpsOff   = areasOff + 2*areaBytes
	controlOff = (jumpsOff + maxJumpAreas*jumpAreaBytes + controlBytes - 1) &^ (controlBytes - 1)
	slotsOff   = controlOff + controlBytes
)

// Sizes of the parts. The control area is a large page, so that what lies behind it is
// aligned to one.
const (
	slotsBytes   = uint64(layout.MaxSlots) * layout.SlotSize
	controlBytes = 2 << 20
	areaBytes    = 256 << 20
)

// sharedBytes is the size of the mapping that holds the control area and the slots.
const sharedBytes = controlBytes + slotsBytes

// control is the target's address of the control area, which lies before the slots.
func (p *Process) control() uint64 { return p.slotsBase - controlBytes }
