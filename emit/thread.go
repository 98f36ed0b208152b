package emit

import (
	"sync"
	"sync/atomic"

	"alleria/abp"
)

// Place is a place in the records of an application thread: a chunk of its ring
// and a word of it.
type Place struct {
	Chunk uint64 // counted from 0, never reset
	Word  uint64 // within the chunk
}

// chunks is of how many chunks there is something up to another place. One that is taken in parts counts once: the numbers that
// AddSampling's rows begin with are the ring's.
func (p Place) chunks(to Place) uint32 {
	n := to.Chunk - p.Chunk
	if to.Word > 0 {
		n++
	}
	return uint32(n)
}

// ThreadState is what must survive from frame to frame of one application
// thread, whichever stream writes the next. Streams encode frames of one thread at
// the same time; a frame is written once those before it have been, because
// only then its place among the instructions is known.
// Number is the application thread's in its process.
type ThreadState struct {
	Number uint32 // within the process, from 1

	mu      sync.Mutex
	osid    uint32 // guarded by mu, as are all down to fed
	seq     uint64 // the next frame's
	ordinal uint64 // the next instruction's
	windows uint64
	fs, gs  uint64
	first   uint64           // the time stamp that the last frame began with
	at      Place            // where the frame that comes next starts
	pending map[Place]*ready // frames that wait for those before them
	cuts    map[uint64]bool  // chunks that frames have to begin with, and were not consumed yet
	fed     uint64           // chunks that Consume, which knows no places, was given

	// counts of the frames written so far; read by others while it grows.
	counts [6]atomic.Uint64
}

// thread returns the state of an application thread.
// It is made at its first chunk.
func (p *ProcessWriter) thread(number uint32) *ThreadState {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.threads[number]
	if t == nil {
		t = &ThreadState{Number: number}
		p.threads[number] = t
	}
	return t
}

// cutsAt tells whether a frame has to begin at a place.
func (t *ThreadState) cutsAt(at Place) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at.Word != 0 || !t.cuts[at.Chunk] {
		return false
	}
	delete(t.cuts, at.Chunk)
	return true
}

// add and total keep counts as atomics, one by one: who reads them meanwhile may see an
// instruction without its access, which progress lines do not mind.
func (t *ThreadState) add(c abp.Counts) {
	for i, v := range [...]uint64{c.Instructions, c.MemInstructions, c.Loads, c.Stores, c.BytesRead, c.BytesWritten} {
		t.counts[i].Add(v)
	}
}

func (t *ThreadState) total() abp.Counts {
	return abp.Counts{
		Instructions: t.counts[0].Load(), MemInstructions: t.counts[1].Load(),
		Loads: t.counts[2].Load(), Stores: t.counts[3].Load(),
		BytesRead: t.counts[4].Load(), BytesWritten: t.counts[5].Load(),
	}
}
