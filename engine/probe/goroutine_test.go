package probe

import (
	"slices"
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
	setRange(a, 6000, 8000) // as Suspect has found
	if p.TurnTo(a, layout.OwnStack, 0) {
		t.Error("the thread's own stack is taken to have moved")
	}
	expect(a, layout.OwnStack, 7000)
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

// TestStacksOfThreads: frames are where their stack is, in whichever slot, and those that nobody returns to any more are nowhere.
func TestStacksOfThreads(t *testing.T) {
	m, a := testprogram.Shared(t)
	b, err := m.TakeSlot()
	if err != nil {
		t.Fatal(err)
	}
	InitCaptureFrames(a)
	InitCaptureFrames(b)
	p := &Points{shm: m}
	p.captures.goroutines = newGoroutines(true)
	gs := p.captures.goroutines
	expect := func(s *shm.Slot, want ...uint64) {
		t.Helper()
		if got := stackOf(s); !slices.Equal(got, want) {
			t.Fatalf("frames %v, want %v", got, want)
		}
	}
	c := &Interception{}
	PushCapture(a, c, 900, 1)
	PushCapture(a, c, 500, 1)
	pushReturn(a, 450, 1, 7)
	waits := func(sp, site uint64) bool { return site == 1 }
	turn := func(s *shm.Slot, lo, hi uint64) { gs.stand(s, lo, hi, waits) }
	turn(a, 800, 1000)
	expect(a, 900)
	PushCapture(a, c, 870, 1)
	if gs.stand(a, 800, 1000, waits) {
		t.Error("the same stack is another one")
	}
	turn(a, 400, 600)
	expect(a, 500)
	if sp := AwaitedAt(a); sp != 450 || -a.Get(layout.Await) != 450 || -a.Get(layout.CaptureAwait) != 500 {
		t.Errorf("awaited at %d", sp)
	}
	turn(b, 700, 1000) // which has grown
	expect(b, 900, 870)
	expect(a, 500)
	turn(a, 700, 1000)
	expect(a, 900, 870)
	expect(b)
	turn(a, 0, 100)
	PushCapture(a, c, 50, 2)
	turn(a, 400, 600)
	expect(a, 500)
	turn(b, 0, 100) // where another stack lies by now
	expect(b)
	p.BeginFrames(a)
	expect(a)
	if lo, hi := RangeOf(a); lo != 0 || hi != 0 {
		t.Errorf("a new thread's stack is from %d to %d", lo, hi)
	}
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
