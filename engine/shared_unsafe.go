package engine

import (
	"sync/atomic"
	"unsafe"

	"alleria/engine/codecache"
	"alleria/internal/layout"
)

// slot is the tracer's view of one thread's shared memory. Every access is
// atomic: the thread's translated code works on the same words.
type slot struct {
	mem   []byte
	index int
	huge  bool   // its tables are made of large pages, or that was tried
	base  uint64 // its address in the target: the thread's gs base
}

// u64 and u32 are words of the slot by offset (internal/layout); get and set are for plain
// 64-bit words. Offsets are constants or bounded by what the tracer itself has given out.
func (s *slot) u64(off int) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&s.mem[off])) }
func (s *slot) u32(off int) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&s.mem[off])) }

func (s *slot) get(off int) uint64    { return s.u64(off).Load() }
func (s *slot) set(off int, v uint64) { s.u64(off).Store(v) }

// Words of 16 bits are read and written while the thread stands still.
func (s *slot) getU16(off int) uint16    { return *(*uint16)(unsafe.Pointer(&s.mem[off])) }
func (s *slot) setU16(off int, v uint16) { *(*uint16)(unsafe.Pointer(&s.mem[off])) = v }

// fillTable makes every entry of a variant's look-up table lead to the miss
// routine.
// Plain stores do: the thread does not run, and what lets it run orders them.
func (s *slot) fillTable(v codecache.Variant, miss uint64) {
	off := int(codecache.TableOff(v))
	t := unsafe.Slice((*uint64)(unsafe.Pointer(&s.mem[off])), layout.TableEntries)
	for i := range t {
		t[i] = miss
	}
}

// control is the tracer's view of the control area.
type control struct{ mem []byte }

// u32 is a word of the control area by offset.
func (c *control) u32(off int) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&c.mem[off])) }

func (c *control) u64(off int) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&c.mem[off])) }

// word is the futex word at off, for sys.FutexWait and FutexWake.
func (c *control) word(off int) *uint32 { return (*uint32)(unsafe.Pointer(&c.mem[off])) }

// word is a futex word of the slot.
func (s *slot) word(off int) *uint32 { return (*uint32)(unsafe.Pointer(&s.mem[off])) }
