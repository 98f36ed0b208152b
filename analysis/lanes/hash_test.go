package lanes

import (
	"math"
	"testing"
)

// TestHash: of lines at any distance from each other a threshold takes about as many as it says, and those of a stretch no more unevenly than chance would; and of two lines at a distance it takes
// both as often as if they had nothing to do with each other.
func TestHash(t *testing.T) {
	const rate, lines, stretch = 1.0 / 13, 1 << 17, 2048
	most := uint64(math.Ldexp(rate, 64))
	strides := []uint64{}
	for s := uint64(1); s <= 70; s++ {
		strides = append(strides, s)
	}
	for k := 7; k < 20; k++ {
		strides = append(strides, 1<<k-1, 1<<k, 1<<k+1, 3<<k)
	}
	for _, base := range []uint64{0x400000 >> 6, 0x55f456789000 >> 6, 0x7f3456789000 >> 6, 0x7f3456789000 >> 12} {
		for _, s := range strides {
			taken, here, spread, pairs := 0.0, 0.0, 0.0, 0.0
			for i := range uint64(lines) {
				if Hash(base+i*s) <= most {
					here++
					if Hash(base+i*s+s) <= most {
						pairs++
					}
				}
				if i%stretch == stretch-1 {
					taken += here
					spread += math.Pow(here-stretch*rate, 2)
					here = 0
				}
			}
			deviation := math.Sqrt(lines * rate * (1 - rate))
			if off := (taken - lines*rate) / deviation; math.Abs(off) > 5 {
				t.Errorf("from %#x on, every %d: %v lines, %.1f deviations off", base, s, taken, off)
			}
			if v := spread / (lines / stretch) / (stretch * rate * (1 - rate)); v > 2.5 || v < 0.3 {
				t.Errorf("from %#x on, every %d: stretches are %.2f times as uneven as by chance", base, s, v)
			}
			if both := pairs / taken / rate; both > 1.3 || both < 0.7 {
				t.Errorf("from %#x on, lines at a distance of %d are both taken %.2f times as often as by chance", base, s, both)
			}
		}
	}
}
