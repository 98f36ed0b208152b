package codecache

import (
	"encoding/binary"
	"testing"
	"unsafe"
)

// TestPatchLocksNoBus holds which stores lock the bus: those of four bytes that lie in two cache lines, by an exchange. That they take another
// way is what BenchmarkPatch shows: on every processor an exchange there takes a hundred times as long.
func TestPatchLocksNoBus(t *testing.T) {
	mem := make([]byte, 256)
	first := 64 - int(uintptr(unsafe.Pointer(&mem[0]))&63)
	for off := range 64 {
		at := uintptr(unsafe.Pointer(&mem[first+off]))
		if two := at/64 != (at+3)/64; crossesLine(at) != two {
			t.Errorf("%d bytes into a line: taken to lie in two: %t", off, !two)
		}
		v := uint32(0x01020304 * (off + 1))
		Patch32(mem[first+off:], v)
		if is := binary.LittleEndian.Uint32(mem[first+off:]); is != v {
			t.Errorf("%d bytes into a line: %#x was written, not %#x", off, is, v)
		}
	}
}

// BenchmarkPatch patches within a line and across two.
func BenchmarkPatch(b *testing.B) {
	mem := make([]byte, 256)
	first := 64 - int(uintptr(unsafe.Pointer(&mem[0]))&63)
	for name, off := range map[string]int{"within": 8, "across": 62} {
		b.Run(name, func(b *testing.B) {
			for n := range b.N {
				Patch32(mem[first+off:], uint32(n))
			}
		})
	}
}
