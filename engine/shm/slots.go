package shm

import (
	"encoding/binary"

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

// Slotted tells whether the thread's ring has slots.
func (s *Slot) Slotted() bool { return layout.Slotted(s.Get(layout.Buffering)) }

// initSlots makes all words of the ring free, but for the guards. All chunks have their memory from the start: the producer
// enters one as soon as its first words are free.
func (s *Slot) initSlots() {
	chunk, chunks := s.Get(layout.ChunkBytes), s.Get(layout.Chunks)
	for n := range uint64(layout.MaxChunks) {
		s.Set(chunkCtl(n)+layout.ChunkBase, s.Base+layout.RingOff+n%chunks*chunk)
	}
	ring := s.Mem[layout.RingOff:][:chunks*chunk]
	fill(ring, layout.SlotClear)
	for n := range chunks {
		fill(ring[(n+1)*chunk-layout.SlotGuard:][:layout.SlotGuard], layout.SlotEnd)
	}
	s.Set(layout.Clear, layout.SlotClear)
	s.Set(layout.NegClear, 0)
	s.Set(layout.NegClear, s.Get(layout.NegClear)-layout.SlotClear)
	s.Set(layout.Taken, 0)
}

// fill makes all words of b w. Nobody reads them yet.
func fill(b []byte, w uint64) {
	binary.LittleEndian.PutUint64(b, w)
	for n := 8; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// free is how many bytes of the ring are.
func (s *Slot) free() uint64 {
	n, size := s.Get(layout.Head), s.Get(layout.ChunkBytes)
	at := n*size + s.Get(layout.Buf) - s.chunkBase(n)
	if s.Get(layout.Buf) > s.Get(layout.Last) { // what is left of the chunk is used up
		at = (n + 1) * size
	}
	return s.Get(layout.Taken) + s.Get(layout.Chunks)*size - min(at, s.Get(layout.Taken)+s.Get(layout.Chunks)*size)
}

// markSlots is mark: the first word comes last.
func (s *Slot) markSlots(words []uint64) {
	for s.free() < slotRoom {
		s.bell.ringConsumers()
		sys.Nap(roomNap)
	}
	if s.Get(layout.Buf) > s.Get(layout.Last) {
		s.leaveChunk()
		s.bell.ringConsumers()
	}
	buf := s.Get(layout.Buf)
	for i := len(words) - 1; i >= 0; i-- {
		s.Set(int(buf-s.Base)+8*i, words[i])
	}
	s.Set(layout.Buf, buf+uint64(8*len(words)))
}

// leaveChunk goes on with the next chunk.
func (s *Slot) leaveChunk() {
	n := s.Get(layout.Head)
	s.Set(chunkCtl(n)+layout.ChunkComplete, sys.TSC())
	// None of the other words may look free before the consumer gets there. The first comes last.
	from := s.Get(layout.Buf)
	for at := s.Get(layout.Last) + layout.RingSlack - 8; at >= from; at -= 8 {
		s.Set(int(at-s.Base), layout.SlotEnd)
	}
	s.Set(layout.Head, n+1)
	s.openChunk(n + 1)
}

// endSlots makes the ring of a thread consistent that may have been killed: between leaving one chunk and entering the next, or within a record, of
// which words are there then. What the tracer says of the thread's end may be shorter, and what follows it has to be free.
func (s *Slot) endSlots() {
	s.endChunk()
	buf := s.Get(layout.Buf)
	if buf > s.Get(layout.Last) { // no record begins here
		return
	}
	for s.free() < slotRoom { // what lies there may be from the round before
		s.bell.ringConsumers()
		sys.Nap(roomNap)
	}
	s.ClearRecord(layout.MaxRecordWords)
}

// endChunk opens the chunk that a thread was about to enter as it was killed.
func (s *Slot) endChunk() {
	n, size := s.Get(layout.Head), s.Get(layout.ChunkBytes)
	buf, base := s.Get(layout.Buf), s.chunkBase(n)
	if buf < base || buf > base+size { // it has entered the next
		s.openChunk(n)
		return
	}
	if s.Get(int(buf-s.Base)) == layout.SlotEnd || s.Get(layout.Taken) >= (n+1)*size {
		s.Set(layout.Head, n+1)
		s.openChunk(n + 1)
	}
}

// ClearRecord takes the words of a record back that does not come to be.
func (s *Slot) ClearRecord(words int) {
	off := int(s.Get(layout.Buf) - s.Base)
	for w := range words {
		s.Set(off+8*w, layout.SlotClear)
	}
}

// CutRecord makes the record of block id at start, of so many words behind its number, say that it was left before instruction i.
// The record is moved by a word to make room for the mark. Its first word goes
// first and the mark comes last.
func (s *Slot) CutRecord(start, i, id uint64, words int) {
	off := int(start - s.Base)
	s.Set(off, layout.SlotClear)
	for w := words; w > 0; w-- {
		s.Set(off+8*w+8, s.Get(off+8*w))
	}
	s.Set(off+8, id)
	s.Set(off, records.Mark(records.MarkCut, i))
	s.Set(layout.Buf, start+8*(2+uint64(words)))
}
