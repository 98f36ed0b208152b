package cab

import (
	"testing"

	"golang.org/x/sys/unix"

	"alleria/internal/layout"
	"alleria/internal/sys"
)

// newShared is newGrowing with memory as rings have it, and how much of that is there.
func newShared(t *testing.T, chunks, most int) (p *producer, there func() int64) {
	f, err := sys.Memfd("ring", int64(layout.RingOff+testChunk*most))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	slot, err := sys.MapShared(f, 0, layout.RingOff+testChunk*most)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sys.Unmap(slot) })
	p = &producer{&Ring{slot: slot}, NewBell(make([]byte, layout.ControlSize))}
	p.begin(chunks, most)
	return p, func() int64 {
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			t.Fatal(err)
		}
		return st.Blocks * 512
	}
}

// use writes so many chunks, and has all of them consumed.
func (p *producer) use(t *testing.T, chunks int) {
	t.Helper()
	for range chunks {
		n := p.u64(layout.Head).Load()
		words := p.words(n, 0, testChunk/8)
		for i := range words {
			words[i] = n
		}
		p.u64(chunkCtl(n) + layout.ChunkUsed).Store(testChunk)
		p.u64(layout.Head).Store(n + 1)
		if !p.placed(n + 1) {
			p.u64(layout.Waits).Add(1)
		}
		p.release(t)
		p.u64(layout.Buf).Store(p.base(n + 1))
	}
}

// TestGivesBack: a ring whose thread has gone quiet gives its memory back, and has it again at once when the thread needs it; one in use keeps it.
func TestGivesBack(t *testing.T) {
	p, there := newShared(t, 4, 16)
	p.hurry()
	look := func() {
		for range quietLooks + 1 {
			p.settle()
		}
	}
	p.growth.lull.Store(true)
	p.fill()
	for range 4 {
		p.release(t) // the first has it grow
	}
	p.use(t, 16)
	if n, b := p.u64(layout.Chunks).Load(), there(); n != 8 || b < 8*testChunk {
		t.Fatalf("in use: %d chunks, %d bytes", n, b)
	}
	for range 2 * quietLooks {
		p.use(t, 1)
		p.settle()
	}
	if n := p.u64(layout.Chunks).Load(); n != 8 {
		t.Fatalf("in use, with looks in between: %d chunks", n)
	}
	used := there()
	look()
	if n, b := p.u64(layout.Chunks).Load(), there(); n != quietLeast || b > used-6*testChunk {
		t.Fatalf("quiet: %d chunks, %d bytes of %d", n, b, used)
	}
	for _, want := range []uint64{4, 8} {
		p.fill()
		for range want / 2 {
			p.release(t)
		}
		if n := p.u64(layout.Chunks).Load(); n != want {
			t.Fatalf("again: %d chunks, want %d", n, want)
		}
	}
	p.use(t, 16)
	if b := there(); b > used {
		t.Errorf("%d bytes where there were %d", b, used)
	}
	bases := map[uint64]bool{}
	for n := p.u64(layout.Tail).Load(); p.placed(n); n++ {
		bases[p.base(n)] = true
	}
	if len(bases) != 8 {
		t.Errorf("%d pieces of memory for 8 chunks", len(bases))
	}
	p.fill() // nothing is quiet that waits to be consumed
	look()
	if n := p.u64(layout.Chunks).Load(); n != 8 {
		t.Errorf("full: %d chunks", n)
	}
}

// TestKeepsMemory: rings whose size the user has set, those without room to grow and lossy ones stay as they are.
func TestKeepsMemory(t *testing.T) {
	for name, set := range map[string]func(*producer){
		"fixed":  func(p *producer) { p.fix() },
		"nway":   func(p *producer) { p.growth.most = 0 },
		"lossy":  func(p *producer) { p.buffering = layout.BufferLossy },
		"ended":  func(p *producer) { p.retired = true },
		"change": func(p *producer) {},
	} {
		p, _ := newShared(t, 4, 16)
		set(p)
		for range quietLooks + 1 {
			p.settle()
		}
		if n := p.u64(layout.Chunks).Load(); (n == 4) != (name != "change") {
			t.Errorf("%s: %d chunks", name, n)
		}
	}
}
