package cab

import (
	"fmt"
	"iter"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"alleria/internal/layout"
)

// The protocol of a ring, checked exhaustively for small sizes: every order in which the producer, one or two
// processing threads and the processor's store buffer can take their steps, up to so many departures from the
// straightest one (delay-bounded scheduling; most defects of such protocols need one or two). The processing threads are
// the package's own code, stopped in front of each shared word by hooks; the producer is
// engine/codecache/routines_amd64.S, line by line, with its stores in a buffer that drains when it likes, or at a fence, a locked
// instruction or a system call, as the processor's does. Processing threads' stores are atomics of Go, which drain at once.
//
// What must hold: nobody sleeps for ever, no chunk lies complete while all processing threads sleep, every word comes once and in
// order, and of a lossy ring each is there or counted. Sleeping has no timeouts here, though the real one has.

// flaws are mistakes that the check has to find.
type flaws struct {
	noFenceBell    bool // Head is stored, then ConsumerAsleep looked at, without a fence in between
	noFenceStarved bool // Starved is stored, then Tail looked at
	noRecheck      bool // the producer sleeps without a second look for room
	publishFirst   bool // Head is stored before the chunk's used bytes are
	keepFloor      bool // a lossy ring's next chunk begins with the floor of the one before
	flagFirst      bool // an N-way buffer's flag is stored before the words in it
	hasty          bool // memory is taken back without a second look at Head
	early          bool // memory is taken back though the producer is still opening a chunk
	leaveFlag      bool // a thread that was killed between Head and the flag of an N-way buffer leaves it as it is
	slotFlaws
}

// world is one run of the model.
type world struct {
	t       *testing.T
	choices []int // taken at each point where there was more than one, the first len(prefix) prescribed
	widths  []int // how many there were
	bound   int   // departures that are left
	last    *actor
	ready   []*actor // memory of run's
	inside  bool     // an actor runs, not the world
	held    bool     // the store buffer is left alone until somebody has to drain it
	actors  []*actor
	buffer  []store
	p       *producer
	steps   int
	failure string
}

// actor is a coroutine: the world lets one run at a time. Goroutines that hand a turn on through channels took several times as long.
type actor struct {
	next    func() (struct{}, bool) // runs it to its next step; false: it has ended
	stop    func()                  // gives it up
	pause   func(struct{}) bool     // false: give up
	blocked func() bool             // nil: not blocked
	futex   *uint32                 // that it sleeps on
	done    bool
}

// store is a word in the store buffer.
type store struct {
	off  int
	val  uint64
	bits int
}

type giveUp struct{}

// yield lets the world choose who goes on.
func (a *actor) yield() {
	if !a.pause(struct{}{}) {
		panic(giveUp{})
	}
}

// spawn adds an actor, which begins when it is chosen.
func (w *world) spawn(body func(*actor)) {
	a := &actor{}
	w.actors = append(w.actors, a)
	a.next, a.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(giveUp); !ok {
					w.failure = fmt.Sprint("panic: ", r)
				}
			}
		}()
		a.pause = yield
		body(a)
	})
}

// flush drains the oldest store.
func (w *world) flush() {
	s := w.buffer[0]
	w.buffer = w.buffer[1:]
	if s.bits == 32 {
		w.p.u32(s.off).Store(uint32(s.val))
	} else {
		w.p.u64(s.off).Store(s.val)
	}
	if len(w.buffer) == 0 {
		w.held = false
	}
}

// run lets the actors take steps until all have ended or sleep. It returns false if somebody who is
// asleep would have had something to do.
func (w *world) run() {
	for w.failure == "" {
		ready := w.ready[:0] // nil: the store buffer
		for _, a := range w.actors {
			if !a.done && (a.blocked == nil || !a.blocked()) {
				ready = append(ready, a)
			}
		}
		if len(w.buffer) > 0 {
			ready = append(ready, nil)
		}
		if len(ready) == 0 {
			return
		}
		if w.steps++; w.steps > 20000 {
			w.failure = "no end"
			return
		}
		w.ready = ready
		next := w.choose(ready)
		if next == nil {
			w.flush()
			continue
		}
		w.last = next
		next.blocked = nil
		w.inside = true
		_, more := next.next()
		next.done = !more
		w.inside = false
	}
}

// choose picks who goes on. The straightest order is: the store buffer drains at once, and whoever runs goes on.
func (w *world) choose(ready []*actor) *actor {
	def := 0
	for i, a := range ready {
		if a == nil && !w.held {
			def = i
			break
		}
		if a != nil && a == w.last {
			def = i
		}
	}
	ready[0], ready[def] = ready[def], ready[0]
	n := 1
	if w.bound > 0 {
		n = len(ready)
	}
	k := 0
	if at := len(w.widths); at < len(w.choices) {
		k = w.choices[at]
	} else {
		w.choices = append(w.choices, 0)
	}
	w.widths = append(w.widths, n)
	if k > 0 {
		w.bound--
		if ready[0] == nil {
			w.held = true
		}
	}
	return ready[k]
}

// stop ends all actors.
func (w *world) stop() {
	for _, a := range w.actors {
		a.stop()
	}
}

// asm is the producer: what the routine of the change to the next chunk does.
type asm struct {
	*actor
	w *world
	flaws
	chunks  int
	lossy   bool
	nway    bool
	slots   uint64
	carries bool
	dies    int // at that step; 0: never
	steps   int
}

func (a *asm) step() {
	if a.steps++; a.steps == a.dies {
		a.drain()
		panic(giveUp{})
	}
	a.yield()
}

func (a *asm) st(off int, v uint64) {
	a.step()
	a.w.buffer = append(a.w.buffer, store{off, v, 64})
}

func (a *asm) st32(off int, v uint64) {
	a.step()
	a.w.buffer = append(a.w.buffer, store{off, v, 32})
}

// ld sees the thread's own stores first.
func (a *asm) ld(off int) uint64 {
	a.step()
	for i := len(a.w.buffer) - 1; i >= 0; i-- {
		if a.w.buffer[i].off == off {
			return a.w.buffer[i].val
		}
	}
	return a.w.p.u64(off).Load()
}

func (a *asm) drain() {
	for len(a.w.buffer) > 0 {
		a.w.flush()
	}
}

func (a *asm) fence(not bool) {
	if a.step(); !not {
		a.drain()
	}
}

const modelChunk = 32 // bytes

// produce writes numbers from 1 on, two a chunk, of which the first may be carried over from the chunk before.
func (a *asm) produce() {
	if a.slots != 0 {
		a.produceSlots()
		return
	}
	buf := a.w.p.u64(layout.Buf).Load()
	for n := range a.chunks {
		if a.flagFirst {
			a.st(chunkCtl(uint64(n))+layout.ChunkUsed, 16)
		}
		for k := range 2 {
			if !a.carries || n == 0 || k > 0 {
				a.st(int(buf), uint64(2*n+k+1))
			}
			buf += 8
			a.st(layout.Buf, buf)
		}
		if a.carries {
			a.st(int(buf), uint64(2*n+3))
		}
		buf = a.change(buf)
	}
}

// ring has a processing thread that sleeps look.
func (a *asm) ring() {
	a.step()
	if a.w.p.bellWord(layout.ConsumerAsleep).Load() != 0 {
		a.drain()
		a.step()
		a.w.p.bellWord(layout.ConsumerBell).Add(1)
		a.step()
		a.w.wake(a.w.p.bell.word())
	}
}

// await is how a producer waits until there is room.
func (a *asm) await(room func() bool) {
	waited := false
	for !room() {
		waited = true
		a.st(layout.Waits, a.ld(layout.Waits)+1)
		a.st32(layout.Starved, 1)
		a.fence(a.noFenceStarved)
		if a.noRecheck || !room() {
			a.step()
			a.drain()
			if a.w.p.u32(layout.Starved).Load() == 1 {
				a.sleep(a.w.starved())
			}
		}
	}
	if waited {
		a.st32(layout.Starved, 0)
	}
}

// changeNWay is what alleria_switch does in a ring of N-way buffers.
func (a *asm) changeNWay(buf uint64) uint64 {
	head := a.ld(layout.Head)
	used := buf - a.ld(chunkCtl(head)+layout.ChunkBase)
	a.st(layout.Head, head+1)
	if !a.flagFirst {
		a.st(chunkCtl(head)+layout.ChunkUsed, used)
	}
	a.fence(a.noFenceBell)
	a.ring()
	a.await(func() bool { return a.ld(chunkCtl(head+1)+layout.ChunkUsed) == 0 })
	base := a.ld(chunkCtl(head+1) + layout.ChunkBase)
	a.st(layout.Floor, base)
	a.st(layout.Buf, base)
	return base
}

// change is alleria_switch.
func (a *asm) change(buf uint64) uint64 {
	if a.nway {
		return a.changeNWay(buf)
	}
	head := a.ld(layout.Head)
	if a.lossy && head+1-a.ld(layout.Tail) >= a.ld(layout.Chunks) {
		floor := a.ld(layout.Floor)
		a.st(layout.Buf, floor)
		a.st(layout.LostWords, a.ld(layout.LostWords)+(buf-floor)/8)
		return floor
	}
	if a.publishFirst {
		a.st(layout.Head, head+1)
		a.fence(false)
	}
	a.st(chunkCtl(head)+layout.ChunkUsed, buf-a.ld(chunkCtl(head)+layout.ChunkBase))
	if !a.publishFirst {
		a.st(layout.Head, head+1)
	}
	a.fence(a.noFenceBell)
	a.ring()
	a.await(func() bool { return head+1-a.ld(layout.Tail) < a.ld(layout.Chunks) })
	base := a.ld(chunkCtl(head+1) + layout.ChunkBase)
	if !a.keepFloor {
		a.st(layout.Floor, base)
	}
	if a.carries {
		a.st(int(base), a.ld(int(buf)))
	}
	a.st(layout.Buf, base)
	return base
}

// sleep is the kernel's futex: it is woken by wake only.
func (a *actor) sleep(word *uint32) {
	a.futex = word
	a.blocked = func() bool { return a.futex != nil }
	a.yield()
}

func (w *world) wake(word *uint32) {
	for _, a := range w.actors {
		if a.futex == word {
			a.futex = nil
		}
	}
}

// modelConsumer keeps what it got, by chunk and for each reader.
type modelConsumer struct {
	got []map[uint64][]uint64
	err *string
}

func (c *modelConsumer) Consume(tag any, ch Chunk) error {
	got := c.got[tag.(int)]
	if prev, twice := got[ch.Number]; twice && uint64(len(prev)) != ch.First {
		*c.err = fmt.Sprintf("chunk %d from word %d again", ch.Number, ch.First)
	}
	got[ch.Number] = append(got[ch.Number], ch.Words...)
	return nil
}
func (c *modelConsumer) Leave(any) error { return nil }
func (c *modelConsumer) Flush() error    { return nil }

// model says what is checked.
type model struct {
	chunks, start, most, workers, bound int
	quick                               int // the bound in the usual form, if that is another; all: with -every
	lossy, nway                         bool
	slots                               uint64 // layout.BufferSlots or BufferBatched: chunks is then how many records there are
	long                                uint64 // records more in a chunk of a ring with slots
	marks                               bool   // the last record of each of its chunks is a mark
	dies                                int
	readers                             int  // one more than these
	alone, first                        bool // readers that are consumed by one at a time: all, or the first
	settles                             int  // times that memory is taken back
	carries                             bool // a word of each chunk is carried over from the one before
	flaws
}

// once runs the model in one order; choices is what prescribes it.
func (m *model) once(t *testing.T, slot, control []byte, choices []int) *world {
	p := modelRing(slot, control, m)
	w := &world{t: t, choices: choices, widths: make([]int, 0, len(choices)+64), bound: m.bound, p: p}
	pool := &Pool{bell: p.bell}
	p.Split(1 + m.readers)
	if m.alone {
		p.Alone(1 + m.readers)
	}
	if m.first {
		p.Alone(1)
	}
	got := make([]map[uint64][]uint64, 1+m.readers)
	tags := make([]any, len(got))
	for i := range got {
		got[i], tags[i] = make(map[uint64][]uint64), i
	}
	pool.Add(p.Ring, tags...)
	var made *asm
	w.spawn(func(a *actor) {
		made = &asm{actor: a, w: w, flaws: m.flaws, chunks: m.chunks, lossy: m.lossy, nway: m.nway, slots: m.slots, carries: m.carries, dies: m.dies}
		made.produce()
		made.drain()
	})
	for range m.workers {
		w.spawn(func(*actor) {
			wk := &worker{Pool: pool, sink: &modelConsumer{got, &w.failure}, held: make(map[*Reader]*Lease)}
			for len(pool.rings) > 0 {
				bell := p.bell.u32(layout.ConsumerBell).Load()
				if !wk.round(Completed) {
					wk.wait(bell)
				}
			}
		})
	}
	if m.settles > 0 {
		w.spawn(func(*actor) {
			for range m.settles {
				p.lock()
				p.shrink(quietLeast)
				p.mu.Unlock()
			}
		})
	}
	h := &hooks{hasty: m.hasty, early: m.early, at: func() {
		if w.inside && w.last != w.actors[0] { // the producer steps by itself
			w.last.yield()
		}
	}, locked: func(mu *sync.Mutex) {
		for a := w.last; !mu.TryLock(); a.yield() {
			a.blocked = func() bool {
				free := mu.TryLock()
				if free {
					mu.Unlock()
				}
				return !free
			}
		}
	}, waked: w.wake, waits: func(word *uint32, was uint32) {
		if *word == was {
			w.last.sleep(word)
		}
	}}
	p.hooks, p.bell.hooks = h, h
	w.run()
	m.check(w, pool, got)
	p.hooks, p.bell.hooks = nil, nil
	w.stop()
	return w
}

// check looks at what has become of a run in which nobody can go on.
func (m *model) check(w *world, pool *Pool, readers []map[uint64][]uint64) {
	h := w.p.hooks
	w.p.hooks, w.p.bell.hooks = nil, nil
	if w.failure == "" && !w.actors[0].done {
		w.failure = "the producer sleeps for ever"
	}
	// Nobody rings for one that was killed before it did: Remove comes, or the interval is over.
	if w.failure == "" && m.dies == 0 && w.p.u64(layout.Head).Load() != w.p.u64(layout.Tail).Load() {
		w.failure = fmt.Sprintf("%d chunks are complete, %d released, and all sleep", w.p.u64(layout.Head).Load(), w.p.u64(layout.Tail).Load())
	}
	if m.dies != 0 && m.slots != 0 {
		for range 4 { // until there is room, as the engine waits
			if w.p.endSlots() {
				break
			}
			m.goOn(w, h)
		}
	} else if m.dies != 0 {
		// As the engine does, which waits for room for the chunk that was not opened.
		if m.nway && !m.leaveFlag {
			w.p.endFlag()
		}
		if head := w.p.u64(layout.Head).Load(); !w.p.placed(head) {
			m.goOn(w, h)
		}
		w.p.endRing()
	}
	// As Pool.Remove does: what is left is drained.
	w.p.closed.Store(true)
	for range 4 {
		m.goOn(w, h)
	}
	if w.failure == "" && len(pool.rings) > 0 {
		w.failure = "the ring was not drained"
	}
	if w.failure != "" {
		return
	}
	for _, got := range readers {
		if w.failure == "" {
			m.checkWords(w, got)
		}
	}
}

// goOn has the processing threads look again, until all sleep.
func (m *model) goOn(w *world, h *hooks) {
	w.p.hooks, w.p.bell.hooks = h, h
	w.p.bellWord(layout.ConsumerBell).Add(1)
	w.wake(w.p.bell.word())
	w.run()
	w.p.hooks, w.p.bell.hooks = nil, nil
}

// checkWords looks at what a reader has got.
func (m *model) checkWords(w *world, got map[uint64][]uint64) {
	var all []uint64
	for n := range uint64(len(got)) {
		all = append(all, got[n]...)
	}
	last := uint64(0)
	for _, v := range all {
		if v <= last || v != last+1 && !m.lossy {
			w.failure = fmt.Sprintf("words %v", all)
			return
		}
		last = v
	}
	if there := uint64(len(all)) + w.p.u64(layout.LostWords).Load(); m.dies == 0 && there != uint64(2*m.chunks) {
		w.failure = fmt.Sprintf("%d words there or counted as lost, of %d: %v", there, 2*m.chunks, all)
	}
}

// endFlag completes the buffer of an N-way ring whose thread was killed before it could.
func (p *producer) endFlag() {
	head := p.u64(layout.Head).Load()
	if used := p.u64(chunkCtl(head-1) + layout.ChunkUsed); head > p.u64(layout.Tail).Load() && used.Load() == 0 {
		used.Store(p.u64(layout.Buf).Load() - p.base(head-1))
	}
}

// endRing is what the engine does for a thread that was killed.
func (p *producer) endRing() {
	n := p.u64(layout.Head).Load()
	if !p.placed(n) {
		return // there is room when what is complete was consumed: nothing of the open chunk exists
	}
	if buf, base := p.u64(layout.Buf).Load(), p.base(n); buf < base || buf > base+modelChunk {
		p.u64(layout.Buf).Store(base)
	}
}

// all runs the model in every order, and returns the first failure and how many orders there were.
func (m *model) all(t *testing.T) (failure string, runs int) {
	slot, err := unix.Mmap(-1, 0, layout.RingOff+1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(slot)
	var choices []int
	for control := make([]byte, layout.ControlSize); ; {
		w := m.once(t, slot, control, choices)
		runs++
		if w.failure != "" {
			return fmt.Sprintf("%s, in the order %v", w.failure, w.choices), runs
		}
		// The next order: the last choice that has another alternative takes it.
		at := len(w.widths) - 1
		for ; at >= 0 && w.choices[at]+1 >= w.widths[at]; at-- {
		}
		if at < 0 {
			return "", runs
		}
		choices = append(w.choices[:at:at], w.choices[at]+1)
	}
}
