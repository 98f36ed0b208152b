package engine

import (
	"time"

	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// initRing prepares a thread's ring, empty, with the chunks that it starts with.
// Marks may be appended from here on, also before the thread has run.
func (p *Process) initRing(s *slot) {
	o := &p.tr.opts
	chunk := uint64(o.ChunkBytes)
	if chunk == 0 {
		return
	}
	s.set(layout.RingBase, s.base+layout.RingOff)
	s.set(layout.ChunkBytes, chunk)
	s.set(layout.Chunks, uint64(o.Chunks))
	s.set(layout.Head, 0)
	s.set(layout.Tail, 0)
	s.set(layout.Waits, 0) // the slot may have been another thread's
	s.set(layout.WaitTSC, 0)
	s.set(layout.Lost, 0)
	s.set(layout.LostWords, 0)
	s.set(layout.Buffering, o.buffering())
	for n := range uint64(o.Chunks) {
		s.set(chunkCtl(n)+layout.ChunkBase, s.base+layout.RingOff+n*chunk)
	}
	switch {
	case s.slotted():
		s.initSlots()
	case s.get(layout.Buffering) == layout.BufferNWay: // a buffer is the producer's from when its flag says so
		for n := range uint64(layout.MaxChunks) {
			s.set(chunkCtl(n)+layout.ChunkUsed, 1)
		}
		for n := range uint64(o.Chunks) {
			s.set(chunkCtl(n)+layout.ChunkUsed, 0)
		}
	}
	s.openChunk(0)
}

// chunkCtl is where chunk number n's control entry lies.
func chunkCtl(n uint64) int { return layout.ChunkCtl + int(n%layout.MaxChunks)*layout.ChunkCtlSize }

// chunkBase is the target address of chunk number n, which is or may be opened.
func (s *slot) chunkBase(n uint64) uint64 { return s.get(chunkCtl(n) + layout.ChunkBase) }

// roomFor tells whether chunk number n may be opened.
func (s *slot) roomFor(n uint64) bool {
	switch {
	case s.slotted():
		return s.free() >= slotRoom
	case s.get(layout.Buffering) == layout.BufferNWay:
		return s.get(chunkCtl(n)+layout.ChunkUsed) == 0
	}
	return n-s.get(layout.Tail) < s.get(layout.Chunks)
}

// awaitRoomFor waits until chunk number n may be opened. The consumers are other threads of the
// tracer and need nothing of this one's.
func (p *Process) awaitRoomFor(s *slot, n uint64) {
	for !s.roomFor(n) {
		p.ringConsumers()
		time.Sleep(50 * time.Microsecond)
	}
}

// openChunk makes chunk number n the one that is written.
// End lies before the chunk's end by more than the largest record: a block checks
// once.
func (s *slot) openChunk(n uint64) {
	base := s.chunkBase(n)
	end := base + s.get(layout.ChunkBytes) - layout.RingSlack
	if s.slotted() {
		end = base + s.get(layout.ChunkBytes) - layout.SlotLast
		s.set(layout.Last, end)
		if s.get(layout.Buffering) == layout.BufferBatched {
			end = base // code looks ahead first
		}
	}
	s.set(chunkCtl(n)+layout.ChunkOpened, sys.TSC())
	s.set(layout.End, end)
	s.set(layout.NegEnd, -end)
	s.set(layout.Floor, base)
	s.set(layout.Buf, base)
}

// mark appends words to the ring of a thread that does not run code of the
// cache.
//
// Room for the words is certain: the slack behind End is larger than any mark. A mark that says how things are
// from here on, or makes a row, is never lost, nor what is before it in its chunk; what the tracer has
// executed for the thread is a record like others.
func (t *Thread) mark(words ...uint64) {
	s := t.slot
	if s.get(layout.ChunkBytes) == 0 || t.vfork {
		return
	}
	if s.slotted() {
		t.markSlots(words)
		return
	}
	if s.get(layout.Buf) > s.get(layout.End) {
		t.switchChunk()
	}
	buf := s.get(layout.Buf)
	for i, w := range words {
		s.set(int(buf-s.base)+8*i, w)
	}
	s.set(layout.Buf, buf+uint64(8*len(words)))
	if records.StateMark(words[0]) {
		s.set(layout.Floor, s.get(layout.Buf))
	}
}

// Publish completes the open chunk of a thread that is stopped or waits, so that consumers get what it
// holds at once. It returns the number of the chunk that is open then, and whether that is empty: a ring without room for
// another chunk stays as it is, and what is in it may be overwritten yet.
func (t *Thread) Publish() (chunk uint64, empty bool) {
	s := t.slot
	n := s.get(layout.Head)
	if s.get(layout.ChunkBytes) == 0 || t.vfork {
		return n, false
	}
	if s.get(layout.Buf) == s.chunkBase(n) {
		return n, true
	}
	if !s.roomFor(n + 1) {
		return n, false
	}
	t.switchChunk()
	return n + 1, true
}

// overwrite goes back to Floor in a lossy ring that has no room for another chunk, as the assembly routine does.
// It returns false where a chunk has to be completed.
func (s *slot) overwrite() bool {
	floor := s.get(layout.Floor)
	if s.get(layout.Buffering) != layout.BufferLossy || s.roomFor(s.get(layout.Head)+1) || floor+layout.RingSlack > s.get(layout.End) {
		return false
	}
	words := (s.get(layout.Buf) - floor) / 8
	s.set(layout.Buf, floor)
	s.set(layout.LostWords, s.get(layout.LostWords)+words)
	s.set(layout.Lost, s.get(layout.Lost)+1)
	return true
}

// switchChunk does what the assembly routine does, for the tracer.
func (t *Thread) switchChunk() {
	s := t.slot
	if s.overwrite() {
		return
	}
	n := s.get(layout.Head)
	s.set(chunkCtl(n)+layout.ChunkComplete, sys.TSC())
	s.set(chunkCtl(n)+layout.ChunkUsed, s.get(layout.Buf)-s.chunkBase(n))
	s.set(layout.Head, n+1)
	t.p.ringConsumers()
	t.p.awaitRoomFor(s, n+1)
	s.openChunk(n + 1)
}

// endRing makes the ring of a thread that is no more consistent: it may have
// been killed within the change to another chunk, with the full one published
// and the next one not opened. Where that one lies is certain once there is room for it.
func (t *Thread) endRing() {
	s := t.slot
	size := s.get(layout.ChunkBytes)
	if size == 0 || t.vfork {
		return
	}
	n := s.get(layout.Head)
	if s.slotted() {
		s.endSlots()
		return
	}
	t.p.awaitRoomFor(s, n)
	base := s.chunkBase(n)
	if buf := s.get(layout.Buf); buf < base || buf > base+size {
		s.openChunk(n)
	}
}

// ringConsumers wakes processing threads that wait for chunks.
func (p *Process) ringConsumers() {
	bell := &p.tr.bell
	bell.u32(layout.ConsumerBell).Add(1)
	if bell.u32(layout.ConsumerAsleep).Load() != 0 {
		sys.FutexWake(bell.word(layout.ConsumerBell), 1<<20)
	}
}

// Mark appends words to the thread's records. The client calls it from within
// its call-backs about the thread.
func (t *Thread) Mark(words ...uint64) { t.mark(words...) }

// SlotMemory is the tracer's view of the thread's shared memory, for the
// consumer of its ring.
func (t *Thread) SlotMemory() []byte { return t.slot.mem }

// BellMemory is the tracer's view of the page that all traced processes share. It is there
// until Options.Ending has been called.
func (p *Process) BellMemory() []byte { return p.tr.bell.mem }

// Blocks is the process's recorded blocks.
func (p *Process) Blocks() *records.Blocks { return &p.cache.Facts }
