package cab

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"alleria/internal/layout"
)

const (
	testChunk  = 16 << 10
	testChunks = 8
)

// producer is the producer's side in Go: what translated code and the assembly
// routine do.
type producer struct {
	*Ring
	bell *Bell
}

func newProducer(t *testing.T) *producer { return newGrowing(t, testChunks, testChunks) }

// newGrowing is a producer whose ring begins with so many chunks and may grow to
// most.
func newGrowing(t *testing.T, chunks, most int) *producer {
	slot, err := unix.Mmap(-1, 0, layout.RingOff+testChunk*most, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(slot) })
	p := &producer{&Ring{slot: slot}, NewBell(make([]byte, layout.ControlSize))}
	p.begin(chunks, most)
	return p
}

// begin makes the ring in the producer's slot.
func (p *producer) begin(chunks, most int) {
	p.u64(layout.RingBase).Store(layout.RingOff)
	p.u64(layout.ChunkBytes).Store(testChunk)
	p.u64(layout.Chunks).Store(uint64(chunks))
	p.u64(layout.Buf).Store(layout.RingOff)
	for n := range uint64(chunks) {
		p.u64(chunkCtl(n) + layout.ChunkBase).Store(layout.RingOff + n*testChunk)
	}
	p.Ring = NewRing(p.slot, most, committedWords)
}

// loose marks the first word of a record of recordSize words that may be replaced as long as it is the
// last one, replaced that of one that was, which has a word more.
const (
	loose    = 1 << 63
	replaced = 1 << 62
)

// Acquire is the ring's first reader's.
func (p *producer) Acquire(x Extent) *Lease { return p.readers[0].Acquire(x) }

// committedWords is what NewRing asks of the tests' records.
func committedWords(words []uint64) int {
	for i := range words {
		if atomic.LoadUint64(&words[i])&(loose|replaced) != 0 && i+recordSize >= len(words) {
			return i
		}
	}
	return len(words)
}

// put appends words, which stay together.
func (p *producer) put(words ...uint64) {
	buf := p.u64(layout.Buf).Load()
	n := p.u64(layout.Head).Load()
	if base := p.base(n); buf+uint64(8*len(words)) > base+testChunk {
		p.u64(chunkCtl(n) + layout.ChunkUsed).Store(buf - base)
		p.u64(layout.Head).Store(n + 1)
		p.bell.u32(layout.ConsumerBell).Add(1)
		for !p.placed(n + 1) {
			p.u64(layout.Waits).Add(1)
			time.Sleep(time.Microsecond)
		}
		buf = p.base(n + 1)
	}
	for i, w := range words {
		binary.LittleEndian.PutUint64(p.slot[buf+uint64(8*i):], w)
	}
	p.u64(layout.Buf).Store(buf + uint64(8*len(words)))
}

// collector is a sink that keeps what it got, by place, and checks that a ring's
// chunks come in order to it within a run.
type collector struct {
	mu   *sync.Mutex
	got  map[[2]uint64][]uint64
	wait time.Duration
}

func (c *collector) Consume(_ any, ch Chunk) error {
	if c.wait > 0 {
		time.Sleep(rand.N(c.wait))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got[[2]uint64{ch.Number, ch.First}] = append([]uint64(nil), ch.Words...)
	return nil
}

func (c *collector) Leave(any) error { return nil }
func (c *collector) Flush() error    { return nil }

// TestEveryWordOnceInOrder lets several sinks consume one ring and puts together what
// they got by its place.
func TestEveryWordOnceInOrder(t *testing.T) {
	for _, sinks := range []int{1, 2, 5} {
		p := newGrowing(t, 2, 64)
		var mu sync.Mutex
		got := make(map[[2]uint64][]uint64)
		var s []Sink
		for range sinks {
			s = append(s, &collector{&mu, got, 200 * time.Microsecond})
		}
		pool := NewPool(p.bell, 2*time.Millisecond, s, func(err error) { t.Error(err) })
		pool.Add(p.Ring, nil)
		const total = 60000
		rng := rand.New(rand.NewPCG(1, uint64(sinks)))
		for n := uint64(0); n < total; {
			var words []uint64
			for range 1 + rng.IntN(40) {
				words = append(words, n)
				n++
			}
			p.put(words...)
			if n%(total/8) < 40 { // a lull
				time.Sleep(3 * time.Millisecond)
			}
		}
		if grown := p.u64(layout.Chunks).Load(); grown <= 2 {
			t.Errorf("%d sinks: the ring has %d chunks still", sinks, grown)
		}
		pool.Remove(p.Ring)
		if err := pool.Close(); err != nil {
			t.Fatal(err)
		}
		at, next := [2]uint64{}, uint64(0)
		for len(got) > 0 {
			words, ok := got[at]
			if !ok {
				at = [2]uint64{at[0] + 1, 0} // the chunk ended there
				if words, ok = got[at]; !ok {
					t.Fatalf("%d sinks: nothing at chunk %d after word %d", sinks, at[0], next)
				}
			}
			delete(got, at)
			for _, w := range words {
				if w != next {
					t.Fatalf("%d sinks: word %d where %d belongs", sinks, w, next)
				}
				next++
			}
			at[1] += uint64(len(words))
		}
		if next < total {
			t.Errorf("%d sinks: %d words of %d", sinks, next, total)
		}
	}
}

// TestLooseWordsStay checks that what the ring's owner may still replace is left where it is,
// and that the rest is taken once.
func TestLooseWordsStay(t *testing.T) {
	p := newProducer(t)
	p.put(1, 2, 3)
	p.put(loose|4, 5, 6)
	l := p.Acquire(Committed)
	if l == nil {
		t.Fatal("nothing to lease")
	}
	c, ok := l.Take(Committed)
	if !ok || !slices.Equal(c.Words, []uint64{1, 2, 3}) || c.Whole {
		t.Fatalf("took %+v", c)
	}
	l.Release(c)
	if c, ok := l.Take(Committed); ok {
		t.Errorf("took %v, which may yet change", c.Words)
	}
	if p.Acquire(Committed) != nil {
		t.Error("two leases of the same words")
	}
	p.takeBack(replaced|11, 12, 13, 14)
	if c, ok := l.Take(Committed); !ok || !slices.Equal(c.Words, []uint64{replaced | 11, 12, 13, 14}) {
		t.Errorf("took %v", c.Words)
	}
	p.put(loose|7, 8, 9)
	l.GiveBack()
	if p.retire() {
		t.Error("retired with words left")
	}
	if l = p.Acquire(Everything); l == nil {
		t.Fatal("no lease of the rest")
	}
	if c, ok = l.Take(Everything); !ok || !slices.Equal(c.Words, []uint64{replaced | 11, 12, 13, 14, loose | 7, 8, 9}) {
		t.Errorf("at the end it took %v", c.Words)
	}
}

// recordSize is how many words a record has before the tracer replaces it.
const recordSize = 3

// takeBack replaces the last record by another, one word longer, as the engine does: its
// first word last.
func (p *producer) takeBack(words ...uint64) {
	start := p.u64(layout.Buf).Load() - 8*recordSize
	for i := range words {
		i = len(words) - 1 - i
		p.u64(int(start) + 8*i).Store(words[i])
	}
	p.u64(layout.Buf).Store(start + uint64(8*len(words)))
}

// TestTakenBack replaces records while a
// consumer takes what is there: it gets each word that stays once, and none that
// was replaced.
func TestTakenBack(t *testing.T) {
	p := newProducer(t)
	const records, size = 200000, recordSize
	taken := make(chan map[[2]uint64][]uint64)
	ended := make(chan bool)
	go func() {
		got := make(map[[2]uint64][]uint64) // a later lease may be got before an earlier one
		for x := Committed; ; {
			l := p.Acquire(x)
			if l == nil && x == Everything {
				taken <- got
				return
			}
			select {
			case <-ended:
				x = Everything
			default:
			}
			for l != nil {
				c, ok := l.Take(x)
				if !ok {
					l.GiveBack()
					break
				}
				got[[2]uint64{c.Number, c.First}] = append([]uint64(nil), c.Words...)
				l.Release(c)
			}
		}
	}()
	for n := uint64(1); n <= records; n++ {
		p.put(loose|n<<8|1, n<<8|2, n<<8|3)
		if p.u64(layout.Buf).Load()+8 <= p.base(p.u64(layout.Head).Load())+testChunk {
			p.takeBack(replaced|n<<8|0x80, n<<8|0x81, n<<8|0x82, n<<8|0x83)
		}
	}
	close(ended)
	pieces := <-taken
	places := slices.SortedFunc(maps.Keys(pieces), func(a, b [2]uint64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	var got []uint64
	for _, at := range places {
		got = append(got, pieces[at]...)
	}
	at := 0
	for n := uint64(1); n <= records; n++ {
		first, words := uint64(1), size
		got[at] &^= loose | replaced
		if got[at]&0x80 != 0 {
			first, words = 0x80, size+1
		}
		for w := range uint64(words) {
			if want := n<<8 | first + w; got[at] != want {
				t.Fatalf("record %d: word %d is %#x, want %#x", n, w, got[at], want)
			}
			at++
		}
	}
	if at != len(got) {
		t.Errorf("%d words, want %d", len(got), at)
	}
}

// TestRetiredRing gives a slot to another thread while a processing thread still
// knows the ring of the one before: it gets nothing through it.
func TestRetiredRing(t *testing.T) {
	p := newProducer(t)
	p.put(1, 2, 3)
	l := p.Acquire(Everything)
	if p.retire() {
		t.Fatal("retired with a lease held")
	}
	c, _ := l.Take(Everything)
	l.Release(c)
	l.GiveBack()
	if !p.retire() || p.retire() {
		t.Fatal("a drained ring retires, once")
	}
	if p.isCrowded() {
		t.Error("a ring that was retired is crowded")
	}
	next := &producer{NewRing(p.slot, testChunks, committedWords), p.bell} // the engine makes the slot's words anew
	next.u64(layout.Buf).Store(layout.RingOff)
	next.put(11, 12, 13, 14)
	if p.Acquire(Everything) != nil {
		t.Error("the words of the next thread, through the ring of the last")
	}
	if c, ok := next.Acquire(Everything).Take(Everything); !ok || !slices.Equal(c.Words, []uint64{11, 12, 13, 14}) {
		t.Errorf("the next thread's words are %v", c.Words)
	}
}

// TestHeldRing: who holds a lease looks at the slot behind its last release, so that the ring is not retired before the lease is given back,
// used up or not.
func TestHeldRing(t *testing.T) {
	p := newProducer(t)
	for range testChunks/2*testChunk/8 + 1 {
		p.put(1)
	}
	l := p.Acquire(Completed)
	for c, ok := l.Take(Completed); ok; c, ok = l.Take(Completed) {
		l.Release(c)
	}
	if l.at != l.end {
		t.Fatalf("the lease ends at %d, not %d", l.at, l.end)
	}
	rest := p.Acquire(Everything)
	if rest == nil {
		t.Fatal("nothing is left")
	}
	c, _ := rest.Take(Everything)
	rest.Release(c)
	if rest.GiveBack(); p.retire() {
		t.Error("retired with a lease held that is used up")
	}
	if l.GiveBack(); !p.retire() {
		t.Error("not retired with nothing held")
	}
}

// TestWakesForRoom: a producer that sleeps for want of room is woken when a
// quarter of the ring is free, not before and not later.
func TestWakesForRoom(t *testing.T) {
	p := newProducer(t)
	for n := range uint64(testChunks) { // complete chunks fill the ring
		p.u64(chunkCtl(n) + layout.ChunkUsed).Store(8)
	}
	p.u64(layout.Head).Store(testChunks)
	starved := p.u32(layout.Starved)
	starved.Store(1)
	for n := 1; n <= testChunks; n++ {
		l := p.Acquire(Completed)
		if l == nil {
			t.Fatalf("no chunk %d", n)
		}
		c, ok := l.Take(Completed)
		if !ok {
			t.Fatalf("chunk %d is not there", n)
		}
		l.Release(c)
		l.GiveBack()
		if asleep := starved.Load() != 0; asleep != (n < testChunks/4) {
			t.Errorf("%d of %d chunks free: asleep %v", n, testChunks, asleep)
		}
	}
	if times, _ := p.Waits(); times != 0 || p.Touched() != testChunks*testChunk {
		t.Errorf("%d waits, %d bytes touched", times, p.Touched())
	}
}
