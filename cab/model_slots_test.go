package cab

import (
	"sync/atomic"
	"testing"

	"alleria/internal/layout"
)

// Rings with slots in the check of the protocol: the package's own consumer with small distances, and a producer that follows the
// engine's code at the start of a block (engine/translate/record_check.go) and the assembly routine's part for slots. Its records are of two words,
// numbers from 1 on, the first of which is written last.

// Sizes of the model's ring with slots, in bytes. As in a real one the guard is longer than a record and the slack than the guard, and
// more than one record of the slack's size has to be free for anything to be written.
const (
	slotRecord = 16
	slotGuard  = 24
	slotSlack  = 32
	slotRoom   = slotSlack + 8
	slotLast   = slotGuard + slotSlack
	slotChunk  = slotLast + 2*slotRecord // room for three records, and model.long more
	slotBatch  = 2 * slotRecord
	slotLeast  = 8 // of a batch
)

// slotFlaws are mistakes that the check has to find in rings with slots.
type slotFlaws struct {
	firstFirst bool // a record's first word is written before the others
	noCarry    bool // what is unfinished stays behind in the old chunk
}

// chunkSize is how large a chunk of the model is.
func (m *model) chunkSize() uint64 {
	if m.slots != 0 {
		return slotChunk + m.long*slotRecord
	}
	return modelChunk
}

// initSlots makes the ring one with slots, all of which are free.
func (m *model) initSlots(p *producer) {
	p.u64(layout.Buffering).Store(m.slots)
	chunk := int(m.chunkSize())
	for n := range layout.MaxChunks {
		p.u64(chunkCtl(uint64(n)) + layout.ChunkBase).Store(layout.RingOff + uint64(n%m.start*chunk))
	}
	for at := 0; at < m.start*chunk; at += 8 {
		w := uint64(layout.SlotClear)
		if at%chunk >= chunk-slotGuard {
			w = layout.SlotEnd
		}
		p.u64(layout.RingOff + at).Store(w)
	}
	p.u64(layout.Taken).Store(0)
	p.u64(layout.Last).Store(uint64(layout.RingOff + chunk - slotLast))
	p.u64(layout.End).Store(layout.RingOff)
}

// findSlots has the ring's consumer find the model's records, as records.Blocks.Filled does.
func (m *model) findSlots(p *producer) {
	perChunk := 3 + m.long
	p.apart = distances{safe: 4, most: 4, guard: slotGuard / 8}
	load := func(words []uint64, at int) uint64 {
		p.hooks.step()
		return atomic.LoadUint64(&words[at])
	}
	p.FindRecords(func(words []uint64, clear, end uint64, most int, all bool) (n int, ended bool) {
		for n < len(words) && n < most {
			first := load(words, n)
			if first == clear || first == end {
				return n, first == end
			}
			mark := m.marks && first%(2*perChunk) == 2*perChunk-1 // a chunk's last record: nothing comes into its place
			if n+2 >= len(words) || !mark && !all && (load(words, n+2) == clear || load(words, n) != first) {
				return n, false
			}
			n += 2
		}
		return n, false
	})
}

// produceSlots writes records.
func (a *asm) produceSlots() {
	buf := a.w.p.u64(layout.Buf).Load()
	for n := range uint64(a.chunks) {
		first, second := 2*n+1, 2*n+2
		if a.slots == layout.BufferBatched {
			a.st(int(buf)+8, second)
			if buf > a.ld(layout.End) {
				buf = a.changeSlots(buf, 2)
			}
			a.st(int(buf), first)
		} else {
			for a.ld(int(buf)+slotRecord) != layout.SlotClear {
				buf = a.changeSlots(buf, 0)
			}
			if a.firstFirst {
				a.st(int(buf), first)
			}
			a.st(int(buf)+8, second)
			if !a.firstFirst {
				a.st(int(buf), first)
			}
		}
		buf += slotRecord
		a.st(layout.Buf, buf)
	}
}

// changeSlots is alleria_switch's part for slots: carry words of an unfinished record lie at buf.
func (a *asm) changeSlots(buf uint64, carry int) uint64 {
	head := a.ld(layout.Head)
	a.awaitSlots(head, buf)
	last := a.ld(layout.Last)
	if buf <= last {
		if a.slots == layout.BufferBatched {
			a.batch(buf)
			return buf
		}
		for at := slotGuard; at > 0; at -= 8 {
			a.st(int(buf)+at-8, layout.SlotClear)
		}
		return buf
	}
	base, size := a.ld(chunkCtl(head+1)+layout.ChunkBase), a.ld(layout.ChunkBytes)
	a.st(layout.Last, base+size-slotLast)
	a.st(layout.End, base+size-slotLast)
	for ; carry > 0 && !a.noCarry; carry-- {
		a.st(int(base)+8*carry-8, a.ld(int(buf)+8*carry-8))
	}
	for at := last + slotSlack; at > buf; {
		at -= 8
		a.st(int(at), layout.SlotEnd)
	}
	a.st(layout.Head, head+1)
	a.st(layout.Buf, base)
	a.fence(a.noFenceBell)
	a.ring()
	if a.slots == layout.BufferBatched {
		a.batch(base)
	}
	return base
}

// awaitSlots waits until there is room behind buf.
func (a *asm) awaitSlots(head, buf uint64) {
	base, size := a.ld(chunkCtl(head)+layout.ChunkBase), a.ld(layout.ChunkBytes)
	need := uint64(slotRoom)
	if buf > a.ld(layout.Last) {
		need += base + size - buf // what is left of this chunk is used up
	}
	upTo := head*size + buf - base - a.ld(layout.Chunks)*size + need
	room := func() bool { return int64(a.ld(layout.Taken)-upTo) >= 0 }
	for !room() {
		a.st(layout.Waits, a.ld(layout.Waits)+1)
		a.st32(layout.Starved, 1)
		a.fence(a.noFenceStarved)
		if !a.noRecheck && room() {
			a.st32(layout.Starved, 0)
			continue
		}
		a.step()
		a.drain()
		if a.w.p.u32(layout.Starved).Load() == 1 {
			a.sleep(a.w.starved())
		}
	}
}

// batch looks how far may be written without another look.
func (a *asm) batch(buf uint64) {
	last := a.ld(layout.Last)
	for n := uint64(slotBatch); n >= slotLeast; n >>= 1 {
		end := min(buf+n, last)
		if a.ld(int(end)+slotSlack-8) == layout.SlotClear {
			a.st(layout.End, end)
			return
		}
	}
	a.st(layout.End, buf)
}

// endSlots is what the engine does for a thread that was killed (engine/shm/slots.go). It returns false while there is no room.
func (p *producer) endSlots() bool {
	size := p.u64(layout.ChunkBytes).Load()
	open := func(n uint64) {
		base := p.base(n)
		p.u64(layout.Head).Store(n)
		p.u64(layout.Buf).Store(base)
		p.u64(layout.Last).Store(base + size - slotLast)
	}
	n, buf := p.u64(layout.Head).Load(), p.u64(layout.Buf).Load()
	if base := p.base(n); buf < base || buf > base+size {
		open(n)
	} else if p.u64(int(buf)).Load() == layout.SlotEnd || p.u64(layout.Taken).Load() >= (n+1)*size {
		open(n + 1)
	}
	if buf = p.u64(layout.Buf).Load(); buf > p.u64(layout.Last).Load() {
		return true
	}
	n = p.u64(layout.Head).Load()
	if at := n*size + buf - p.base(n); int64(p.u64(layout.Taken).Load()+p.u64(layout.Chunks).Load()*size-at) < slotRoom {
		return false
	}
	for at := uint64(0); at < slotGuard-8; at += 8 {
		p.u64(int(buf + at)).Store(layout.SlotClear)
	}
	return true
}

// TestProtocolSlots checks rings with slots, and that the check finds mistakes.
func TestProtocolSlots(t *testing.T) {
	const free, batched = layout.BufferSlots, layout.BufferBatched
	for _, c := range []modelCase{
		{"FastForward", model{chunks: 8, start: 2, most: 2, workers: 1, slots: free, bound: 2}, false},
		{"FastForward, three chunks", model{chunks: 15, start: 3, most: 3, workers: 1, slots: free, bound: 1}, false},
		{"FastForward, two processing threads", model{chunks: 10, start: 2, most: 2, workers: 2, slots: free, bound: 1}, false},
		{"batched", model{chunks: 8, start: 2, most: 2, workers: 1, slots: batched, bound: 2, quick: 1}, false},
		{"batched, three chunks", model{chunks: 15, start: 3, most: 3, workers: 1, slots: batched, bound: 1}, false},
		{"batched, two processing threads", model{chunks: 10, start: 2, most: 2, workers: 2, slots: batched, bound: 1}, false},
		{"FastForward, marks", model{chunks: 10, start: 2, most: 2, workers: 1, slots: free, marks: true, bound: 1}, false},
		{"FastForward, longer chunks", model{chunks: 18, start: 2, most: 2, workers: 1, slots: free, long: 4, bound: 1}, false},
		{"the first word first", model{chunks: 6, start: 2, most: 2, workers: 1, slots: free, marks: true, bound: 2, flaws: flaws{slotFlaws: slotFlaws{firstFirst: true}}}, true},
		{"what is unfinished left behind", model{chunks: 10, start: 2, most: 2, workers: 1, slots: batched, bound: 1, flaws: flaws{slotFlaws: slotFlaws{noCarry: true}}}, true},
		{"no second look", model{chunks: 10, start: 2, most: 2, workers: 1, slots: free, bound: 1, flaws: flaws{noRecheck: true}}, true},
		{"no fence before sleeping", model{chunks: 10, start: 2, most: 2, workers: 1, slots: free, bound: 2, flaws: flaws{noFenceStarved: true}}, true},
		{"no fence before the bell", model{chunks: 4, start: 2, most: 2, workers: 1, slots: free, bound: 3, flaws: flaws{noFenceBell: true}}, true},
	} {
		c.check(t)
	}
}

// TestProtocolSlotsDeath kills the producer at each of its steps.
func TestProtocolSlotsDeath(t *testing.T) {
	each := 1
	if testing.Short() { // with the race detector each order takes twenty times as long
		each = 9
	}
	for _, m := range []model{{slots: layout.BufferSlots}, {slots: layout.BufferBatched}} {
		for at := 1; at <= 160; at += each {
			m.chunks, m.start, m.most, m.workers, m.bound, m.dies = 10, 2, 2, 1, 1, at
			if failure, runs := m.all(t); failure != "" {
				t.Errorf("%+v: killed at step %d: after %d orders: %.150q", m, at, runs, failure)
				break
			}
		}
	}
}
