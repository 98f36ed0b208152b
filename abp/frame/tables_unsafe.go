package frame

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// tables is the memory of an encoder's tables by block: outside of Go's heap, where growing
// moves pages instead of copying them, and leaves no garbage. In a recording of a large program,
// copies of tables that had become too small were a fifth of all garbage, and a share of what
// is alive is kept free by the collector.
//
// It is a separate object, so that it can be freed when nobody has its encoder any more.
type tables struct {
	blocks, past, lasts []byte
	ctl, pay            []byte // two streams of a frame, which the others are small beside
}

// free gives the memory back.
func (t *tables) free() {
	for _, mem := range [...]*[]byte{&t.blocks, &t.past, &t.lasts, &t.ctl, &t.pay} {
		release(mem)
	}
}

// release unmaps memory, if it is any.
func release(mem *[]byte) {
	if *mem != nil {
		_ = unix.Munmap(*mem) // it was mapped as it is given here: it cannot fail
		*mem = nil
	}
}

// grownTable returns old with n elements, in mem where that is possible, else in Go's heap: a
// limit on the process's address space may be too low. Pages that were not used yet take no memory, so
// that the mapping itself doubles.
func grownTable[T blockState | blockPast | uint64 | byte](mem *[]byte, old []T, n int) []T {
	size := n * int(unsafe.Sizeof(*new(T)))
	if size > len(*mem) && (*mem != nil || len(old) == 0) {
		*mem = remap(*mem, max(size, 2*len(*mem), 64<<10))
	}
	if size > len(*mem) {
		if n <= cap(old) {
			return old[:n]
		}
		grown := make([]T, n+len(old)/8) // what is not used yet is memory here
		copy(grown, old)
		release(mem) // or a later try might find there what is old by then
		return grown[:n]
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(*mem))), n)
}

// remap makes a mapping larger, or a first one; on an error it is what it was.
func remap(mem []byte, size int) []byte {
	page := unix.Getpagesize()
	size = (size + page - 1) / page * page
	var grown []byte
	var err error
	if mem == nil {
		grown, err = unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	} else {
		grown, err = unix.Mremap(mem, size, unix.MREMAP_MAYMOVE)
	}
	if err != nil {
		return mem
	}
	return grown
}
