package probe

import (
	"maps"
	"math/rand/v2"
	"testing"
)

// TestByPage holds what lies at addresses to a map of all of them.
func TestByPage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var b byPage[int]
	all := make(map[uint64]int)
	for n := range 4000 {
		addr := rng.Uint64N(20 * appPage)
		if rng.IntN(3) == 0 {
			b.drop(addr)
			delete(all, addr)
		} else {
			b.put(addr, n)
			all[addr] = n
		}
		start := rng.Uint64N(20 * appPage)
		end := start + rng.Uint64N(3*appPage)
		within := make(map[uint64]int)
		for at, v := range all {
			if at >= start && at < end {
				within[at] = v
			}
		}
		if got := maps.Collect(b.within(start, end)); !maps.Equal(got, within) {
			t.Fatalf("[%#x, %#x): %v instead of %v", start, end, got, within)
		}
		want, there := all[addr]
		if v, ok := b.get(addr); ok != there || v != want {
			t.Fatalf("%#x: %d, %t", addr, v, ok)
		}
		if b.n != len(all) {
			t.Fatalf("%d instead of %d", b.n, len(all))
		}
	}
	for addr := range b.all() {
		b.drop(addr)
	}
	if b.n != 0 || len(b.pages) != 0 {
		t.Errorf("%d are left in %d pages", b.n, len(b.pages))
	}
}
