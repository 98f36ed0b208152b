package engine

import (
	"encoding/binary"
	"time"

	"alleria/engine/codecache"
	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// A ring with slots (layout.BufferSlots, layout.BufferBatched) has no counter that says how far it is filled: the first word of
// a record, which is written last, says that the record is there, and words that are layout.SlotClear
// that they are free. They are the rivals of counting chunks, for comparison.
//
// What this asks of the engine: nothing but a record may ever be where the next one begins. Code writes words
// of a record before it is sure that there will be one, so that whatever it leaves behind in an
// execution that is given up is cleared here.

// slotRoom is how much has to be free for anything to be written.
const slotRoom = layout.RingSlack + 64

// buffering is how producers and consumers of rings exchange words.
func (o *Options) buffering() uint64 {
	if o.Lossy {
		return layout.BufferLossy
	}
	return uint64(o.Buffering)
}

// slotted tells whether the thread's ring has slots.
func (s *slot) slotted() bool { return layout.Slotted(s.get(layout.Buffering)) }

// initSlots makes all words of the ring free, but for the guards. All chunks have their memory from the start: the producer
// enters one as soon as its first words are free.
func (s *slot) initSlots() {
	chunk, chunks := s.get(layout.ChunkBytes), s.get(layout.Chunks)
	for n := range uint64(layout.MaxChunks) {
		s.set(chunkCtl(n)+layout.ChunkBase, s.base+layout.RingOff+n%chunks*chunk)
	}
	ring := s.mem[layout.RingOff:][:chunks*chunk]
	fill(ring, layout.SlotClear)
	for n := range chunks {
		fill(ring[(n+1)*chunk-layout.SlotGuard:][:layout.SlotGuard], layout.SlotEnd)
	}
	s.set(layout.Clear, layout.SlotClear)
	s.set(layout.NegClear, 0)
	s.set(layout.NegClear, s.get(layout.NegClear)-layout.SlotClear)
	s.set(layout.Taken, 0)
}

// fill makes all words of b w. Nobody reads them yet.
func fill(b []byte, w uint64) {
	binary.LittleEndian.PutUint64(b, w)
	for n := 8; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// free is how many bytes of the ring are.
func (s *slot) free() uint64 {
	n, size := s.get(layout.Head), s.get(layout.ChunkBytes)
	at := n*size + s.get(layout.Buf) - s.chunkBase(n)
	if s.get(layout.Buf) > s.get(layout.Last) { // what is left of the chunk is used up
		at = (n + 1) * size
	}
	return s.get(layout.Taken) + s.get(layout.Chunks)*size - min(at, s.get(layout.Taken)+s.get(layout.Chunks)*size)
}

// markSlots is mark: the first word comes last.
func (t *Thread) markSlots(words []uint64) {
	s := t.slot
	for s.free() < slotRoom {
		t.p.ringConsumers()
		time.Sleep(50 * time.Microsecond)
	}
	if s.get(layout.Buf) > s.get(layout.Last) {
		s.leaveChunk()
		t.p.ringConsumers()
	}
	buf := s.get(layout.Buf)
	for i := len(words) - 1; i >= 0; i-- {
		s.set(int(buf-s.base)+8*i, words[i])
	}
	s.set(layout.Buf, buf+uint64(8*len(words)))
}

// leaveChunk goes on with the next chunk.
func (s *slot) leaveChunk() {
	n := s.get(layout.Head)
	s.set(chunkCtl(n)+layout.ChunkComplete, sys.TSC())
	// None of the other words may look free before the consumer gets there. The first comes last.
	from := s.get(layout.Buf)
	for at := s.get(layout.Last) + layout.RingSlack - 8; at >= from; at -= 8 {
		s.set(int(at-s.base), layout.SlotEnd)
	}
	s.set(layout.Head, n+1)
	s.openChunk(n + 1)
}

// endSlots makes the ring of a thread consistent that may have been killed between leaving one chunk and entering the next.
func (s *slot) endSlots() {
	n, size := s.get(layout.Head), s.get(layout.ChunkBytes)
	buf, base := s.get(layout.Buf), s.chunkBase(n)
	if buf < base || buf > base+size { // it has entered the next
		s.openChunk(n)
		return
	}
	if s.get(int(buf-s.base)) == layout.SlotEnd || s.get(layout.Taken) >= (n+1)*size {
		s.set(layout.Head, n+1)
		s.openChunk(n + 1)
	}
}

// clearSlots takes back what a block that is left at a place in its code has written of a record that does not come to be.
func (s *slot) clearSlots(r *codecache.Recording, at uint32) {
	if !s.slotted() || at < uint32(r.From) || at >= uint32(r.To) {
		return
	}
	off := int(s.get(layout.Buf) - s.base)
	for w := range int(r.Words) + 1 {
		s.set(off+8*w, layout.SlotClear)
	}
}

// cutSlots is the end of cut: the record is moved by a word to make room for the mark. Its first word goes
// first and the mark comes last.
func (s *slot) cutSlots(start uint64, i int, r *codecache.Recording) {
	off := int(start - s.base)
	s.set(off, layout.SlotClear)
	for w := int(r.Words); w > 0; w-- {
		s.set(off+8*w+8, s.get(off+8*w))
	}
	s.set(off+8, uint64(r.ID))
	s.set(off, records.Mark(records.MarkCut, uint64(i)))
	s.set(layout.Buf, start+8*(2+uint64(r.Words)))
}
