package shm

import (
	"time"

	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// Ring is how large a thread's ring is to begin with, and how records are exchanged by it.
type Ring struct {
	ChunkBytes, Chunks uint64 // chunkBytes 0: nothing can be recorded
	Buffering          uint64 // layout.Buffer…
}

// InitRing prepares a thread's ring, empty, with the chunks that it starts with.
// Marks may be appended from here on, also before the thread has run.
func (s *Slot) InitRing(r Ring) {
	chunk := r.ChunkBytes
	if chunk == 0 {
		return
	}
	s.Set(layout.RingBase, s.Base+layout.RingOff)
	s.Set(layout.ChunkBytes, chunk)
	s.Set(layout.Chunks, r.Chunks)
	s.Set(layout.Head, 0)
	s.Set(layout.Tail, 0)
	s.Set(layout.Waits, 0) // the slot may have been another thread's
	s.Set(layout.WaitTSC, 0)
	s.Set(layout.Lost, 0)
	s.Set(layout.LostWords, 0)
	s.Set(layout.Buffering, r.Buffering)
	for n := range r.Chunks {
		s.Set(chunkCtl(n)+layout.ChunkBase, s.Base+layout.RingOff+n*chunk)
	}
	switch {
	case s.Slotted():
		s.initSlots()
	case s.Get(layout.Buffering) == layout.BufferNWay: // a buffer is the producer's from when its flag says so
		for n := range uint64(layout.MaxChunks) {
			s.Set(chunkCtl(n)+layout.ChunkUsed, 1)
		}
		for n := range r.Chunks {
			s.Set(chunkCtl(n)+layout.ChunkUsed, 0)
		}
	}
	s.openChunk(0)
}

// chunkCtl is where chunk number n's control entry lies.
func chunkCtl(n uint64) int { return layout.ChunkCtl + int(n%layout.MaxChunks)*layout.ChunkCtlSize }

// chunkBase is the target address of chunk number n, which is or may be opened.
func (s *Slot) chunkBase(n uint64) uint64 { return s.Get(chunkCtl(n) + layout.ChunkBase) }

// roomFor tells whether chunk number n may be opened.
func (s *Slot) roomFor(n uint64) bool {
	switch {
	case s.Slotted():
		return s.free() >= slotRoom
	case s.Get(layout.Buffering) == layout.BufferNWay:
		return s.Get(chunkCtl(n)+layout.ChunkUsed) == 0
	}
	return n-s.Get(layout.Tail) < s.Get(layout.Chunks)
}

// roomNap is how long the tracer sleeps between two looks for room in a ring.
const roomNap = 50 * time.Microsecond

// AwaitRoom waits until chunk number n may be opened. The consumers are other threads of the
// tracer and need nothing of this one's.
func (s *Slot) AwaitRoom(n uint64) {
	for !s.roomFor(n) {
		s.bell.ringConsumers()
		sys.Nap(roomNap)
	}
}

// openChunk makes chunk number n the one that is written.
// End lies before the chunk's end by more than the largest record: a block checks
// once.
func (s *Slot) openChunk(n uint64) {
	base := s.chunkBase(n)
	end := base + s.Get(layout.ChunkBytes) - layout.RingSlack
	if s.Slotted() {
		end = base + s.Get(layout.ChunkBytes) - layout.SlotLast
		s.Set(layout.Last, end)
		if s.Get(layout.Buffering) == layout.BufferBatched {
			end = base // code looks ahead first
		}
	}
	s.Set(chunkCtl(n)+layout.ChunkOpened, sys.TSC())
	s.Set(layout.End, end)
	s.Set(layout.NegEnd, -end)
	s.Set(layout.Floor, base)
	s.Set(layout.Buf, base)
}

// Mark appends words to the ring of a thread that does not run code of the
// cache.
//
// Room for the words is certain: the slack behind End is larger than any mark. A mark that says how things are
// from here on, or makes a row, is never lost, nor what is before it in its chunk; what the tracer has
// executed for the thread is a record like others.
func (s *Slot) Mark(words ...uint64) {
	if s.Get(layout.ChunkBytes) == 0 {
		return
	}
	if s.Slotted() {
		s.markSlots(words)
		return
	}
	if s.Get(layout.Buf) > s.Get(layout.End) {
		s.switchChunk()
	}
	buf := s.Get(layout.Buf)
	for i, w := range words {
		s.Set(int(buf-s.Base)+8*i, w)
	}
	s.Set(layout.Buf, buf+uint64(8*len(words)))
	if records.StateMark(words[0]) {
		s.Set(layout.Floor, s.Get(layout.Buf))
	}
}

// Publish completes the open chunk of a thread that is stopped or waits, so that consumers get what it
// holds at once. It returns the number of the chunk that is open then, and whether that is empty: a ring without room for
// another chunk stays as it is, and what is in it may be overwritten yet.
func (s *Slot) Publish() (chunk uint64, empty bool) {
	n := s.Get(layout.Head)
	if s.Get(layout.ChunkBytes) == 0 {
		return n, false
	}
	if s.Get(layout.Buf) == s.chunkBase(n) {
		return n, true
	}
	if !s.roomFor(n + 1) {
		return n, false
	}
	s.switchChunk()
	return n + 1, true
}

// overwrite goes back to Floor in a lossy ring that has no room for another chunk, as the assembly routine does.
// It returns false where a chunk has to be completed.
func (s *Slot) overwrite() bool {
	floor := s.Get(layout.Floor)
	if s.Get(layout.Buffering) != layout.BufferLossy || s.roomFor(s.Get(layout.Head)+1) || floor+layout.RingSlack > s.Get(layout.End) {
		return false
	}
	words := (s.Get(layout.Buf) - floor) / 8
	s.Set(layout.Buf, floor)
	s.Set(layout.LostWords, s.Get(layout.LostWords)+words)
	s.Set(layout.Lost, s.Get(layout.Lost)+1)
	return true
}

// switchChunk does what the assembly routine does, for the tracer.
func (s *Slot) switchChunk() {
	if s.overwrite() {
		return
	}
	n := s.Get(layout.Head)
	s.Set(chunkCtl(n)+layout.ChunkComplete, sys.TSC())
	s.Set(chunkCtl(n)+layout.ChunkUsed, s.Get(layout.Buf)-s.chunkBase(n))
	s.Set(layout.Head, n+1)
	s.bell.ringConsumers()
	s.AwaitRoom(n + 1)
	s.openChunk(n + 1)
}

// EndRing makes the ring of a thread that is no more consistent: it may have
// been killed within the change to another chunk, with the full one published
// and the next one not opened. Where that one lies is certain once there is room for it.
func (s *Slot) EndRing() {
	size := s.Get(layout.ChunkBytes)
	if size == 0 {
		return
	}
	n := s.Get(layout.Head)
	if s.Slotted() {
		s.endSlots()
		return
	}
	s.endFlag(n)
	s.AwaitRoom(n)
	base := s.chunkBase(n)
	if buf := s.Get(layout.Buf); buf < base || buf > base+size {
		s.openChunk(n)
	}
}

// Begins tells whether the first word of a record of the block with this number lies where the thread writes next: it was left out.
func (s *Slot) Begins(block uint32) bool {
	id, _ := records.SplitNumber(s.Get(int(s.Get(layout.Buf) - s.Base)))
	return id == block
}

// EndsWith tells whether a record of the block with this number, with so many words behind it, is what the thread has written last.
func (s *Slot) EndsWith(block uint32, words int) bool {
	size := 8 * (1 + uint64(words))
	buf, base := s.Get(layout.Buf), s.chunkBase(s.Get(layout.Head))
	if buf < base+size {
		return false
	}
	id, _ := records.SplitNumber(s.Get(int(buf - size - s.Base)))
	return id == block
}

// endFlag completes the buffer of an N-way ring whose producer was killed between counting it in Head and raising its flag, without which consumers
// would never get past it.
func (s *Slot) endFlag(head uint64) {
	if s.Get(layout.Buffering) != layout.BufferNWay || head <= s.Get(layout.Tail) {
		return
	}
	if flag := chunkCtl(head-1) + layout.ChunkUsed; s.Get(flag) == 0 {
		s.Set(flag, s.Get(layout.Buf)-s.chunkBase(head-1))
		s.bell.ringConsumers()
	}
}
