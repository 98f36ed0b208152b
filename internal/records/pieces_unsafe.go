package records

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// factsPiece is a piece of the facts' memory.
type factsPiece = [factsBytes]byte

// newPiece makes one more piece for the facts, outside of Go's heap: what is there the collector
// counts as alive, lets as much again wait for it in proportion, and keeps a share of that free.
// Of 13 MiB of a compiler's facts that was 3.
//
// It is in Go's heap after all where the process may map no more. The table must be in reach for as
// long as somebody reads from its pieces (see Read): they are given back with it.
func (t *Blocks) newPiece() *factsPiece {
	mem, err := unix.Mmap(-1, 0, factsBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return new(factsPiece)
	}
	runtime.AddCleanup(t, func(mem []byte) { _ = unix.Munmap(mem) }, mem)
	return (*factsPiece)(unsafe.Pointer(unsafe.SliceData(mem)))
}
