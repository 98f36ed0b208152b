package codecache

import (
	"sync/atomic"
	"unsafe"
)

// Patch32 replaces a displacement in the code cache by one store: other
// threads may be executing it. It lies in one cache line (asm.Writer.AlignRel32): over two the store locks the bus, which Linux tells
// of on processors that trap it, at some hundred microseconds a store. What nobody executes yet is written by a plain store.
func Patch32(b []byte, v uint32) {
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&b[0])), v)
}
