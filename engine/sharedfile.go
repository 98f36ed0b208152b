package engine

import (
	"fmt"
	"os"

	"alleria/internal/layout"
	"alleria/internal/spin"
	"alleria/internal/sys"
)

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

// shared is the memory that a process shares with the tracer.
type shared struct {
	file      *os.File
	ctl       *control
	slotsBase uint64  // the target's address of the first slot
	slots     []*slot // by index; nil where none was needed yet
	freeSlots []int
}

// bell is the page that all traced processes share with the tracer: the doorbell that threads
// ring, and where the tracer is. Each process has it mapped right before its control
// area, which translated code has a pointer to.
//
// Refused: a doorbell in each process's own control area. The tracer sleeps on one word; several
// would need futex_waitv, which takes 128.
type bell struct {
	*control
	file *os.File
}

func newBell() (bell, error) {
	f, err := sys.Memfd("alleria-bell", pageSize)
	if err != nil {
		return bell{}, err
	}
	mem, err := sys.MapShared(f, 0, pageSize)
	if err != nil {
		f.Close()
		return bell{}, fmt.Errorf("doorbell: %w", err)
	}
	c := &control{mem}
	c.u32(layout.TracerCPU).Store(spin.Unknown)
	return bell{c, f}, nil
}

func (b *bell) close() {
	sys.Unmap(b.mem)
	b.file.Close()
}

// bellAt is where the bell lies in the target.
func (p *Process) bellAt() uint64 { return p.control() - layout.BellBelow }
