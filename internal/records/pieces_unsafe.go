package records

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// factsPiece is a piece of the facts' memory. Tables may share it.
type factsPiece struct{ mem *[factsBytes]byte }

// newPiece makes one more piece for the facts, outside of Go's heap: what is there the collector
// counts as alive, lets as much again wait for it in proportion, and keeps a share of that free.
// Of 13 MiB of a compiler's facts that was 3.
//
// It is in Go's heap after all where the process may map no more. A table must be in reach for as
// long as somebody reads from its pieces (see Read): they are given back with the last one that has them.
func newPiece() *factsPiece {
	mem, err := unix.Mmap(-1, 0, factsBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return &factsPiece{new([factsBytes]byte)}
	}
	p := &factsPiece{(*[factsBytes]byte)(unsafe.Pointer(unsafe.SliceData(mem)))}
	runtime.AddCleanup(p, func(mem []byte) { _ = unix.Munmap(mem) }, mem)
	return p
}
