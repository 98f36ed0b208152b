package codecache

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// Patch32 replaces a displacement in the code cache by one store: other
// threads may be executing it. Such displacements lie in one cache line (asm.AlignRel32).
//
// One that crosses a line is of code that nobody runs yet, and is written by an ordinary store. Go's atomic store is an exchange, which there
// locks the bus: every processor of the machine waits, and Linux makes it a trap where the processor tells of it, which took 0.2 ms to 0.2 s.
func Patch32(b []byte, v uint32) {
	at := unsafe.Pointer(&b[0])
	if crossesLine(uintptr(at)) {
		binary.LittleEndian.PutUint32(b, v)
		return
	}
	atomic.StoreUint32((*uint32)(at), v)
}

// crossesLine tells whether four bytes lie in two cache lines.
func crossesLine(at uintptr) bool { return at&63 > 60 }
