package codecache

import (
	"sync/atomic"
	"unsafe"
)

// Patch32 replaces a displacement in the code cache by one store: other
// threads may be executing it.
func Patch32(b []byte, v uint32) {
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&b[0])), v)
}
