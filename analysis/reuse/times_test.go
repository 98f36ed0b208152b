package reuse

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTimes compares the set with a list, of one level and of several, filled or not, and its ranks.
func TestTimes(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for _, room := range []int{groupBits, 1 << 12, 1 << 14, 1 << 17, 1 << 19} {
		for _, full := range []int{0, 1, room / 2, room - 1} {
			s, list := fill(full, room), make([]bool, room)
			for k := 1; k <= full; k++ {
				list[k] = true
			}
			for range 2000 {
				k := rng.IntN(room)
				if list[k] {
					s.remove(uint32(k))
				} else {
					s.add(uint32(k))
				}
				list[k] = !list[k]
			}
			ranks := s.ranks()
			n := uint32(0)
			for k, in := range list {
				if k%64 == 0 && ranks[k/64] != n {
					t.Fatalf("room %d, filled to %d: rank of %d is %d, want %d", room, full, k, ranks[k/64], n)
				}
				if k%61 == 0 || k == room-1 {
					if got := s.before(uint32(k)); got != n {
						t.Fatalf("room %d, filled to %d: %d before %d, want %d", room, full, got, k, n)
					}
				}
				if in {
					n++
				}
			}
			if s.in != uint64(n) || len(s.levels) > mostLevels || slices.Contains(s.levels[1:], 0) {
				t.Fatalf("room %d: %d in it, want %d; levels %v", room, s.in, n, s.levels)
			}
		}
	}
}
