package shm

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// chunkBytes is the size of the tests' chunks.
const chunkBytes = layout.RingSlack * 4

// testSlot is a slot of a process that has no target, with a ring.
func testSlot(t *testing.T, chunks int, buffering uint64) *Slot {
	t.Helper()
	bell, err := NewBell()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bell.Close)
	m, err := NewMemory(&bell)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Unmap)
	m.SlotsBase = 0x7000_0000_0000
	s, err := m.TakeSlot()
	if err != nil {
		t.Fatal(err)
	}
	s.InitRing(Ring{ChunkBytes: chunkBytes, Chunks: uint64(chunks), Buffering: buffering})
	return s
}

// written is what the open chunk of a slot holds.
func written(s *Slot) (words []uint64) {
	for at := s.chunkBase(s.Get(layout.Head)); at < s.Get(layout.Buf); at += 8 {
		words = append(words, s.Get(int(at-s.Base)))
	}
	return words
}

func TestMarksLieInOrder(t *testing.T) {
	for _, b := range []uint64{layout.BufferLossy, layout.BufferSlots} {
		s := testSlot(t, 4, b)
		first := records.Mark(records.MarkFS, 0)
		s.Mark(first, 7)
		s.Mark(first, 8)
		if got := written(s); !slices.Equal(got, []uint64{first, 7, first, 8}) {
			t.Errorf("buffering %d: the chunk holds %#x", b, got)
		}
	}
}

func TestPublishCompletesTheChunk(t *testing.T) {
	s := testSlot(t, 2, 0)
	if n, empty := s.Publish(); n != 0 || !empty {
		t.Errorf("an empty ring: chunk %d, empty %t", n, empty)
	}
	s.Mark(records.Mark(records.MarkFS, 0), 7)
	if n, empty := s.Publish(); n != 1 || !empty {
		t.Errorf("a mark: chunk %d is open, empty %t", n, empty)
	}
	if used := s.Get(chunkCtl(0) + layout.ChunkUsed); used != 16 {
		t.Errorf("%d bytes were published", used)
	}
	s.Mark(records.Mark(records.MarkFS, 0), 8)
	if n, empty := s.Publish(); n != 1 || empty { // both chunks are taken
		t.Errorf("a full ring: chunk %d is open, empty %t", n, empty)
	}
}

// A producer that was killed between publishing a chunk and opening the next one has left Buf behind the old one's end.
func TestEndRingOpensTheNextChunk(t *testing.T) {
	s := testSlot(t, 4, 0)
	s.Set(layout.Buf, s.chunkBase(0)+chunkBytes)
	s.Set(layout.Head, 2)
	s.Set(layout.Tail, 1)
	s.EndRing()
	if got := s.Get(layout.Buf); got != s.chunkBase(2) {
		t.Errorf("Buf is %#x, chunk 2 begins at %#x", got, s.chunkBase(2))
	}
}

// What must stay is below Floor; the rest of a lossy ring without room is written over, and counted.
func TestLossyRingKeepsMarks(t *testing.T) {
	s := testSlot(t, 1, layout.BufferLossy)
	kept := records.Mark(records.MarkFS, 0)
	s.Mark(kept, 7)
	s.Set(layout.Buf, s.Get(layout.End)+8) // records of translated code
	lost := (s.Get(layout.Buf) - s.Get(layout.Floor)) / 8
	s.Mark(kept, 8)
	if got := written(s); !slices.Equal(got, []uint64{kept, 7, kept, 8}) {
		t.Errorf("the chunk holds %#x", got)
	}
	if got := s.Get(layout.LostWords); got != lost || s.Get(layout.Lost) != 1 {
		t.Errorf("%d words lost in %d pieces, want %d", got, s.Get(layout.Lost), lost)
	}
}

func TestCutRecordMovesItBehindTheMark(t *testing.T) {
	s := testSlot(t, 4, layout.BufferSlots)
	s.Mark(5, 50, 51) // a record of block 5 with two words
	s.CutRecord(s.chunkBase(0), 3, 5, 2)
	if got := written(s); !slices.Equal(got, []uint64{records.Mark(records.MarkCut, 3), 5, 50, 51}) {
		t.Errorf("the chunk holds %#x", got)
	}
	s.Set(int(s.Get(layout.Buf)-s.Base), 9) // the first word of a record that does not come to be
	s.ClearRecord(1)
	if got := s.Get(int(s.Get(layout.Buf) - s.Base)); got != layout.SlotClear {
		t.Errorf("%#x is left of it", got)
	}
}

// A producer that was killed within a record has left words of it. What the tracer says of its end has free words behind it.
func TestEndRingClearsTheRecord(t *testing.T) {
	s := testSlot(t, 4, layout.BufferSlots)
	s.Mark(5, 50)
	off := int(s.Get(layout.Buf) - s.Base)
	for w := 1; w < layout.MaxRecordWords; w++ {
		s.Set(off+8*w, uint64(w))
	}
	s.EndRing()
	s.Mark(6, 60, 61)
	if got := written(s); !slices.Equal(got, []uint64{5, 50, 6, 60, 61}) {
		t.Errorf("the chunk holds %#x", got)
	}
	for at := int(s.Get(layout.Buf) - s.Base); at < off+8*layout.MaxRecordWords; at += 8 {
		if got := s.Get(at); got != layout.SlotClear {
			t.Fatalf("behind the mark there is %#x", got)
		}
	}
}

func TestSlotsAreUsedAgain(t *testing.T) {
	var bell Bell
	m, err := NewMemory(&bell)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Unmap()
	if m.Holds(0x401000) {
		t.Error("memory that is not mapped holds a program's address")
	}
	m.SlotsBase = 1 << 40
	a, err := m.TakeSlot()
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.TakeSlot()
	if err != nil {
		t.Fatal(err)
	}
	if b.Base != a.Base+layout.SlotSize || !m.Holds(a.Base) || !m.Holds(m.Control()) || !m.Holds(m.BellAt()) || m.Holds(m.BellAt()-1) {
		t.Errorf("slots at %#x and %#x, control area at %#x", a.Base, b.Base, m.Control())
	}
	a.Set(0, 1)
	m.GiveBack(a)
	if c, err := m.TakeSlot(); err != nil || c != a {
		t.Errorf("%v, %v: want the slot that was given back", c, err)
	}
	m.Slots = make([]*Slot, layout.MaxSlots)
	if _, err := m.TakeSlot(); !errors.Is(err, ErrSlots) {
		t.Errorf("one slot more than there is room for: %v", err)
	}
	m.Slots = nil
}

// A producer of N-way buffers that was killed before it could raise the flag of one that it has counted already: the buffer is complete.
func TestEndRingRaisesTheFlag(t *testing.T) {
	s := testSlot(t, 4, layout.BufferNWay)
	s.Mark(records.Mark(records.MarkFS, 0), 7)
	s.Set(layout.Head, 1)
	s.EndRing()
	if used := s.Get(chunkCtl(0) + layout.ChunkUsed); used != 16 || s.Get(layout.Buf) != s.chunkBase(1) {
		t.Errorf("the buffer's flag is %d, and %d bytes from the next one's beginning are written", used, s.Get(layout.Buf)-s.chunkBase(1))
	}
	s.EndRing() // nothing is left to be done
	if s.Get(chunkCtl(1)+layout.ChunkUsed) != 0 {
		t.Error("an open buffer was completed")
	}
}

// TestHolds has addresses held where the memory is mapped, and none before that: programs begin at low addresses.
func TestHolds(t *testing.T) {
	var m Memory
	for _, addr := range []uint64{0, 0x401000, 0x7ffff7fc3000} {
		if m.Holds(addr) {
			t.Errorf("memory that is mapped nowhere holds %#x", addr)
		}
	}
	m.SlotsBase = 0x7f0000000000
	for addr, want := range map[uint64]bool{0x401000: false, m.BellAt() - 1: false, m.BellAt(): true, m.Control(): true, m.SlotsBase + 1: true, m.Control() + SharedBytes: false} {
		if m.Holds(addr) != want {
			t.Errorf("memory with slots at %#x holds %#x: %v, want %v", m.SlotsBase, addr, !want, want)
		}
	}
}

// TestWakeConsumers: who sleeps for chunks is woken for a thread that has rung and may wake nobody, once for each time that one has.
func TestWakeConsumers(t *testing.T) {
	b, err := NewBell()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	bell := b.U32(layout.ConsumerBell)
	b.U32(layout.ConsumerAsleep).Store(1)
	tid, woken := make(chan int), make(chan bool)
	go func() {
		runtime.LockOSThread() // until it ends
		tid <- syscall.Gettid()
		sys.FutexWait(b.Word(layout.ConsumerBell), 0, time.Minute)
		woken <- true
	}()
	for call, path := "", fmt.Sprintf("/proc/self/task/%d/syscall", <-tid); !strings.HasPrefix(call, fmt.Sprint(syscall.SYS_FUTEX, " ")); {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		call = string(text)
	}
	if b.WakeConsumers(); !b.Rang().IsZero() {
		t.Error("somebody has rung")
	}
	bell.Add(1) // and no more
	b.WakeConsumers()
	rang := b.Rang()
	select {
	case <-woken:
	case <-time.After(30 * time.Second):
		t.Fatal("who sleeps is not woken")
	}
	if b.WakeConsumers(); rang.IsZero() || b.Rang() != rang {
		t.Errorf("rung at %v, and at %v", rang, b.Rang())
	}
}
