package sys

import (
	"sync/atomic"
	"testing"
)

// TestShares: each part is done once, and has been when Finish returns, by one thread or two.
func TestShares(t *testing.T) {
	for _, alone := range []bool{true, false} {
		for n := range 300 {
			done := make([]atomic.Int32, n%7)
			var parts []func()
			for i := range done {
				parts = append(parts, func() { done[i].Add(1) })
			}
			Share(parts, alone).Finish()
			for i := range done {
				if did := done[i].Load(); did != 1 {
					t.Fatalf("part %d of %d was done %d times, alone: %t", i, len(done), did, alone)
				}
			}
		}
	}
}
