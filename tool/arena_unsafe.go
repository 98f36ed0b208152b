package tool

import (
	"fmt"
	"os"
	"sync"
	"unsafe"

	"alleria/internal/sys"
)

// arena has buffers in memory that two processes share. There are two files, one that each of the two
// lets grow, so that neither asks the other for a buffer. A buffer is known by its offset, with the file's number in the lowest bit;
// each has a mapping of its own, which stays: where buffers go back to is a list, not the system.
type arena struct {
	files [2]*os.File
	mine  int // the file that grows here

	mu   sync.Mutex
	size int64                        // of that file; guarded by mu
	at   map[uint64]unsafe.Pointer    // guarded by mu
	ids  map[unsafe.Pointer]uint64    // guarded by mu
	free map[uintptr][]unsafe.Pointer // by bytes; guarded by mu
}

func newArena(files [2]*os.File, mine int) *arena {
	return &arena{files: files, mine: mine, at: map[uint64]unsafe.Pointer{}, ids: map[unsafe.Pointer]uint64{}, free: map[uintptr][]unsafe.Pointer{}}
}

// pageBytes is what mappings are multiples of.
const pageBytes = 4096

// pages is so many bytes in whole pages.
func pages(bytes uintptr) int { return int((max(bytes, 1) + pageBytes - 1) &^ (pageBytes - 1)) }

// alloc makes a buffer. That there is no memory is nobody's fault, as where Go says it, and ends what asked.
func (a *arena) alloc(bytes uintptr) unsafe.Pointer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if free := a.free[bytes]; len(free) > 0 {
		b := free[len(free)-1]
		a.free[bytes] = free[:len(free)-1]
		return b
	}
	n, at := pages(bytes), a.size
	if err := a.files[a.mine].Truncate(at + int64(n)); err != nil {
		panic(fmt.Errorf("memory for a buffer: %w", err))
	}
	a.size += int64(n)
	b, err := a.mapped(uint64(at)|uint64(a.mine), n)
	if err != nil {
		panic(fmt.Errorf("memory for a buffer: %w", err))
	}
	return b
}

// recycle takes a buffer of so many bytes back.
func (a *arena) recycle(b unsafe.Pointer, bytes uintptr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.free[bytes] = append(a.free[bytes], b)
}

// mapped maps a buffer. a.mu is held.
func (a *arena) mapped(id uint64, n int) (unsafe.Pointer, error) {
	m, err := sys.MapShared(a.files[id&1], int64(id&^1), n)
	if err != nil {
		return nil, err
	}
	b := unsafe.Pointer(unsafe.SliceData(m))
	a.at[id], a.ids[b] = b, id
	return b, nil
}

// id is what the other process knows a buffer by.
func (a *arena) id(b unsafe.Pointer) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ids[b]
}

// buffer is what the other process has named. Memory that is not there would be a bus error.
func (a *arena) buffer(id uint64, bytes uintptr) (unsafe.Pointer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if b := a.at[id]; b != nil {
		return b, nil
	}
	n := pages(bytes)
	st, err := a.files[id&1].Stat()
	if err != nil {
		return nil, err
	}
	if at := int64(id &^ 1); at < 0 || at%pageBytes != 0 || at+int64(n) > st.Size() {
		return nil, fmt.Errorf("there is no buffer %#x", id)
	}
	return a.mapped(id, n)
}

// share has buffers of a type lie in the arena.
func (c *bufferType) share(a *arena) {
	c.alloc = func(n int) unsafe.Pointer { return a.alloc(uintptr(n) * c.size) }
	c.recycle = func(b unsafe.Pointer) { a.recycle(b, uintptr(c.records)*c.size) }
	c.ids, c.named = a.id, func(id uint64) (buffer, error) {
		b, err := a.buffer(id, uintptr(c.records)*c.size)
		return buffer{base: b}, err
	}
}

// known is what the other process knows a buffer by.
func (c *bufferType) known(b buffer) uint64 { return c.ids(b.base) }
