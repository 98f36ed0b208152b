package codecache

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestCopies: code that is taken over is all there, whatever pages it lies in, and has as many large pages as code that was written there.
func TestCopies(t *testing.T) {
	const size = 32 << 20
	rng := rand.NewChaCha8([32]byte{10})
	for _, lengths := range [][2]int{{0, 0}, {100, 0}, {hugeAfter, 5}, {3<<20 + 77, hugeAfter - 1}, {4<<20 - GroupReserve/2, 2 << 20}, {7 << 20, 5<<20 + 1}} {
		from := regionOf(t, size)
		from.Next += lengths[0]
		from.Cold += lengths[1]
		_, _ = rng.Read(from.Mem[from.Routines.Size:from.Next])
		_, _ = rng.Read(from.Mem[coldAt(size):from.Cold])
		for before := -1; before != from.hugeNext+from.hugeCold; {
			before = from.hugeNext + from.hugeCold
			from.Enlarge()
		}
		for _, huge := range []bool{false, true} {
			to := regionOf(t, size)
			to.CopyFrom(from.Code(), huge)
			if to.Next != from.Next || to.Cold != from.Cold || !bytes.Equal(to.Mem[:to.Next], from.Mem[:to.Next]) || !bytes.Equal(to.Mem[coldAt(size):to.Cold+64], from.Mem[coldAt(size):to.Cold+64]) {
				t.Errorf("%v, large pages %t: another code, up to %d and %d", lengths, huge, to.Next, to.Cold)
			}
			if huge && (to.hugeNext != from.hugeNext || to.hugeCold != from.hugeCold) || !huge && (to.hugeNext != 0 || to.hugeCold != coldAt(size)) {
				t.Errorf("%v, large pages %t: up to %d and %d, want %d and %d", lengths, huge, to.hugeNext, to.hugeCold, from.hugeNext, from.hugeCold)
			}
		}
	}
}
