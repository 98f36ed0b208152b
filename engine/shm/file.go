package shm

import (
	"errors"
	"fmt"
	"os"
	"time"

	"alleria/internal/layout"
	"alleria/internal/spin"
	"alleria/internal/sys"
)

// The shared file's parts, from its start:
//
//	regions   code caches
//	jumps     small regions near images, for jump probes
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
	RegionsOff = uint64(0)
	JumpsOff   = RegionsOff + 2*RegionBytes
	ControlOff = (JumpsOff + MaxJumpRegions*JumpRegionBytes + ControlBytes - 1) &^ (ControlBytes - 1)
	slotsOff   = ControlOff + ControlBytes
)

// Sizes of the parts. The control area is a large page, so that what lies behind it is
// aligned to one.
const (
	slotsBytes   = uint64(layout.MaxSlots) * layout.SlotSize
	ControlBytes = 2 << 20
	RegionBytes  = 256 << 20
)

// What jumps need near an image: code, and the counts, which are those of the
// control area, mapped once more.
const (
	JumpRegionBytes = 2 << 20
	CountsBytes     = (layout.PlaceTable + layout.MaxPlaces*layout.PlaceSize + bellBytes - 1) &^ (bellBytes - 1)
	MaxJumpRegions  = 16
)

// bellBytes is a page.
const bellBytes = 4096

// SharedBytes is the size of the mapping that holds the control area and the slots.
const SharedBytes = ControlBytes + slotsBytes

// Memory is what a process shares with the tracer: the file, and the tracer's mappings of its control area and of the slots
// that were taken so far. The code cache's regions map their parts themselves.
//
// Only the tracer's goroutine calls its methods. The words of slots and of the control area are the target's as well: each has one
// writer, named in internal/layout.
type Memory struct {
	File      *os.File
	Bell      *Bell
	Ctl       *Control
	SlotsBase uint64  // the target's address of the first slot; where the file is mapped there is known
	Slots     []*Slot // by index
	freeSlots []int   // of threads that have ended
}

// NewMemory makes the file of a process. Nothing is mapped yet, here or there.
func NewMemory(b *Bell) (Memory, error) {
	f, err := sys.Memfd("alleria", int64(slotsOff+slotsBytes))
	if err != nil {
		return Memory{}, err
	}
	return MemoryOf(f, b)
}

// MemoryOf is the memory of a process that gets another's file, see Leave. The file is closed if that fails.
func MemoryOf(f *os.File, b *Bell) (Memory, error) {
	if err := f.Truncate(int64(slotsOff)); err != nil {
		f.Close()
		return Memory{}, fmt.Errorf("shared memory: %w", err)
	}
	return Memory{File: f, Bell: b}, nil
}

// Leave takes the file away, of which the code regions are kept for another process; the control area and the slots are
// zeros there. nil if that fails.
func (m *Memory) Leave() *os.File {
	f := m.File
	if f.Truncate(int64(ControlOff)) != nil {
		return nil
	}
	m.File = nil
	return f
}

// MapControl maps the control area in the tracer.
func (m *Memory) MapControl() error {
	mem, err := sys.MapShared(m.File, int64(ControlOff), ControlBytes)
	if err != nil {
		return fmt.Errorf("control area: %w", err)
	}
	m.Ctl = &Control{mem}
	return nil
}

// Control is the target's address of the control area, which lies before the slots.
func (m *Memory) Control() uint64 { return m.SlotsBase - ControlBytes }

// BellAt is where the bell lies in the target.
func (m *Memory) BellAt() uint64 { return m.Control() - layout.BellBelow }

// Holds tells whether one of the target's addresses lies in the bell, the control area or a slot. None does before these are mapped.
func (m *Memory) Holds(addr uint64) bool {
	return m.SlotsBase != 0 && addr-m.BellAt() < layout.BellBelow+SharedBytes
}

// ErrSlots means that no further thread can have a slot.
var ErrSlots = errors.New("too many threads at a time")

// TakeSlot returns a slot that no thread uses, with what the thread before has left in it.
// Memory for it comes with its first use. The file ends behind the last slot that has been taken.
func (m *Memory) TakeSlot() (*Slot, error) {
	if k := len(m.freeSlots); k > 0 {
		i := m.freeSlots[k-1]
		m.freeSlots = m.freeSlots[:k-1]
		return m.Slots[i], nil
	}
	i := len(m.Slots)
	if i == layout.MaxSlots {
		return nil, ErrSlots
	}
	off := int64(slotsOff) + int64(i)*layout.SlotSize
	if err := m.File.Truncate(off + layout.SlotSize); err != nil {
		return nil, fmt.Errorf("thread area: %w", err)
	}
	mem, err := sys.MapSharedAligned(m.File, off, layout.SlotSize)
	if err != nil {
		return nil, fmt.Errorf("thread area: %w", err)
	}
	s := &Slot{Mem: mem, Index: i, Base: m.SlotsBase + uint64(i)*layout.SlotSize, bell: m.Bell}
	m.Slots = append(m.Slots, s)
	return s, nil
}

// GiveBack says that a slot's thread is no more: the next one may have it.
func (m *Memory) GiveBack(s *Slot) { m.freeSlots = append(m.freeSlots, s.Index) }

// DropSlots gives the threads' memory back though the file is still mapped: only its code regions are wanted any more.
func (m *Memory) DropSlots() {
	_ = m.File.Truncate(int64(slotsOff)) // the memory would be freed later
}

// Unmap takes the tracer's mappings away and closes the file. The target may go on with its own.
func (m *Memory) Unmap() {
	for _, s := range m.Slots {
		sys.UnmapAligned(s.Mem)
	}
	if m.Ctl != nil {
		sys.Unmap(m.Ctl.Mem)
	}
	if m.File != nil {
		m.File.Close()
	}
}

// Bell is the page that all traced processes share with the tracer: the doorbell that threads
// ring, and where the tracer is. Each process has it mapped right before its control
// area, which translated code has a pointer to.
//
// Refused: a doorbell in each process's own control area. The tracer sleeps on one word; several
// would need futex_waitv, which takes 128.
type Bell struct {
	*Control
	File  *os.File
	heard uint32    // see WakeConsumers
	rang  time.Time // when that was another one last
}

func NewBell() (Bell, error) {
	f, err := sys.Memfd("alleria-bell", bellBytes)
	if err != nil {
		return Bell{}, err
	}
	mem, err := sys.MapShared(f, 0, bellBytes)
	if err != nil {
		f.Close()
		return Bell{}, fmt.Errorf("doorbell: %w", err)
	}
	c := &Control{mem}
	c.U32(layout.TracerCPU).Store(spin.Unknown)
	return Bell{Control: c, File: f}, nil
}

// ringConsumers wakes processing threads that wait for chunks.
func (b *Bell) ringConsumers() {
	b.U32(layout.ConsumerBell).Add(1)
	if b.U32(layout.ConsumerAsleep).Load() != 0 {
		sys.FutexWake(b.Word(layout.ConsumerBell), 1<<20)
	}
}

// WakeConsumers wakes processing threads that wait for chunks if somebody has rung since this was asked last: a thread under a filter of system calls rings, and may not wake who sleeps.
func (b *Bell) WakeConsumers() {
	rung := b.U32(layout.ConsumerBell).Load()
	if rung == b.heard {
		return
	}
	b.heard, b.rang = rung, time.Now()
	if b.U32(layout.ConsumerAsleep).Load() != 0 {
		sys.FutexWake(b.Word(layout.ConsumerBell), 1<<20)
	}
}

// Rang is when WakeConsumers found last that somebody had.
func (b *Bell) Rang() time.Time { return b.rang }

func (b *Bell) Close() {
	sys.Unmap(b.Mem)
	b.File.Close()
}
