package shm

import (
	"sync/atomic"
	"unsafe"

	"alleria/internal/layout"
)

// Slot is the tracer's view of one thread's shared memory. Every access is
// atomic: the thread's translated code works on the same words.
type Slot struct {
	Mem   []byte
	Index int
	Huge  bool // its tables are made of large pages, or that was tried
	bell  *Bell
	Base  uint64 // its address in the target: the thread's gs base
}

// u64 and u32 are words of the slot by offset (internal/layout); get and set are for plain
// 64-bit words. Offsets are constants or bounded by what the tracer itself has given out.
func (s *Slot) u64(off int) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&s.Mem[off])) }
func (s *Slot) U32(off int) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&s.Mem[off])) }

func (s *Slot) Get(off int) uint64    { return s.u64(off).Load() }
func (s *Slot) Set(off int, v uint64) { s.u64(off).Store(v) }

// Words of 16 bits are read and written while the thread stands still.
func (s *Slot) GetU16(off int) uint16    { return *(*uint16)(unsafe.Pointer(&s.Mem[off])) }
func (s *Slot) SetU16(off int, v uint16) { *(*uint16)(unsafe.Pointer(&s.Mem[off])) = v }

// Table is the entries of a look-up table, which lies at off, of a thread that does not run: what lets it run orders plain stores.
func (s *Slot) Table(off int) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(&s.Mem[off])), layout.TableEntries)
}

// Control is the tracer's view of the control area.
type Control struct{ Mem []byte }

// U32 is a word of the control area by offset.
func (c *Control) U32(off int) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&c.Mem[off])) }

func (c *Control) U64(off int) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&c.Mem[off])) }

// Word is the futex word at off, for sys.FutexWait and FutexWake.
func (c *Control) Word(off int) *uint32 { return (*uint32)(unsafe.Pointer(&c.Mem[off])) }

// Word is a futex word of the slot.
func (s *Slot) Word(off int) *uint32 { return (*uint32)(unsafe.Pointer(&s.Mem[off])) }
