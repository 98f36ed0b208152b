package probe

import (
	"testing"

	"alleria/engine/shm"
	"alleria/engine/testprogram"
	"alleria/internal/layout"
)

// stackOf is the stack pointers of a slot's frames, from the outermost.
func stackOf(s *shm.Slot) (sps []uint64) {
	eachCapture(s, func(f Frame) { sps = append([]uint64{f.Sp()}, sps...) })
	return sps
}

// TestTurnTo: frames follow their goroutine from slot to slot and from stack to stack, and a thread's own are where they were.
func TestTurnTo(t *testing.T) {
	m, a := testprogram.Shared(t)
	b, err := m.TakeSlot()
	if err != nil {
		t.Fatal(err)
	}
	p := &Points{}
	if !p.followGoroutines() || p.followGoroutines() {
		t.Fatal("goroutines are not followed, or twice")
	}
	c := &Interception{}
	for _, s := range []*shm.Slot{a, b} {
		InitCaptureFrames(s)
	}
	expect := func(s *shm.Slot, g uint64, want ...uint64) {
		t.Helper()
		got := stackOf(s)
		of, _ := FramesOf(s)
		if len(got) != len(want) || of != g {
			t.Fatalf("frames %v of %d, want %v of %d", got, of, want, g)
		}
		await := uint64(layout.FrameNone)
		for i := range got {
			if await = got[i]; got[i] != want[i] {
				t.Errorf("frames %v, want %v", got, want)
			}
		}
		own, goes := -s.Get(layout.CaptureAwait), -s.Get(layout.CaptureGoAwait)
		wantOwn, wantGoes := await, uint64(layout.FrameNone)
		if g != layout.OwnStack {
			wantOwn, wantGoes = layout.FrameNone, await
			if s == a { // its own frame is looked for all the same
				wantOwn = 7000
			}
		}
		if own != wantOwn || goes != wantGoes {
			t.Errorf("awaited are %#x and %#x, want %#x and %#x", own, goes, wantOwn, wantGoes)
		}
	}
	PushCapture(a, c, 7000, 1)
	p.TurnTo(a, 0x100, 1000)
	expect(a, 0x100)
	PushCapture(a, c, 900, 1)
	PushCapture(a, c, 800, 1)
	if p.TurnTo(a, 0x100, 1000) || !p.TurnTo(a, 0x100, 3000) {
		t.Error("what was the same, or was not, is taken for the opposite")
	}
	expect(a, 0x100, 2900, 2800)
	p.TurnTo(a, 0x200, 600)
	expect(a, 0x200)
	PushCapture(a, c, 500, 1)
	p.TurnTo(b, 0x200, 650) // which is in a's slot
	expect(b, 0x200, 550)
	expect(a, layout.NoStack)
	p.TurnTo(b, 0x100, 3000)
	expect(b, 0x100, 2900, 2800)
	p.TurnTo(a, layout.OwnStack, 0)
	expect(a, layout.OwnStack, 7000)
	sites := 0
	if p.OwnReached(a, 8000) || p.OwnReached(b, 8000) {
		t.Error("own frames are reached that are in the slot, or not there")
	}
	p.captures.goroutines.parkedSites(func(uint32, uint64) { sites++ })
	if sites != 1 {
		t.Errorf("%d frames are parked, want 1", sites)
	}
	p.BeginFrames(b) // its thread has ended
	expect(b, layout.OwnStack)
	p.TurnTo(a, 0x100, 3000)
	expect(a, 0x100, 2900, 2800)
}

// TestNoFrame: where no return is awaited, no return takes the way of those that have reached one: they look at the top byte of the sum.
func TestNoFrame(t *testing.T) {
	none := int64(-layout.FrameNone)
	for _, rsp := range []uint64{0, 0x1000, 0xc000_0000_0000 >> 8, 1<<47 - 8, 1<<56 - 8} {
		if top := (uint64(none) + rsp) >> 56; top != 0xff {
			t.Errorf("at %#x the sum's top byte is %#x", rsp, top)
		}
	}
}
