package codecache

import (
	"encoding/binary"
	"testing"
	"time"
	"unsafe"
)

// TestPatchLocksNoBus holds patching across a cache line to what it takes within one: an exchange there locks the bus,
// which takes a hundred times as long on every processor, and is a trap of the kernel's on some.
func TestPatchLocksNoBus(t *testing.T) {
	mem := make([]byte, 256)
	line := 64 - int(uintptr(unsafe.Pointer(&mem[0]))&63)
	const rounds = 20
	least := func(at int) time.Duration {
		shortest := time.Hour // of many, since others use the processor as well
		for range 200 {
			begun := time.Now()
			for v := range uint32(rounds) {
				Patch32(mem[at:], v)
			}
			shortest = min(shortest, time.Since(begun))
			if v := binary.LittleEndian.Uint32(mem[at:]); v != rounds-1 {
				t.Fatalf("%d bytes into a line: %d was written, not %d", (at-line)&63, v, rounds-1)
			}
		}
		return shortest
	}
	within := least(line + 8)
	for _, off := range []int{60, 61, 62, 63} {
		if took := least(line + off); took > 10*within+rounds*10 {
			t.Errorf("%d bytes into a line: %v, and %v within it", off, took, within)
		}
	}
}
