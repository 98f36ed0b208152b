package cab

import (
	"testing"

	"alleria/internal/layout"
)

// TestKeep: what is in a kept ring is left there, but where its producer waits, and at its end.
func TestKeep(t *testing.T) {
	p := newProducer(t)
	p.Keep()
	for range 3 * testChunk / 32 {
		p.put(1, 2, 3, 4)
	}
	for _, x := range []Extent{Completed, Committed} {
		if l := p.Acquire(x); l != nil {
			t.Fatalf("extent %d of a kept ring was consumed", x)
		}
	}
	p.u32(layout.Starved).Store(1)
	l := p.Acquire(Completed)
	if l == nil {
		t.Fatal("a producer waits, and nobody makes room")
	}
	l.GiveBack()
	p.u32(layout.Starved).Store(0)
	if p.Acquire(Everything) == nil {
		t.Error("what a thread has left is not drained at its end")
	}
}
