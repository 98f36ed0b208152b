package session

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"alleria/internal/sys"
)

// How much garbage there may be before it is collected: a share of what is alive, since
// the facts of translated code stay and letting them double would waste as much again, but
// not less than some megabytes, and nothing is collected at all before the heap has gcHeap. A fixed share alone collects a
// heap that begins small every few hundred kilobytes, while the target waits for its first code: that took a tenth of the
// time of a compiler's run and a fifth of that of /bin/true. With 21 MiB before the first collection and 5 between the
// others, a run of twenty compilers one after the other, whose memory is garbage as they end, spent 22 percent of its
// processor time on collecting. A run that collects again and again, as one of hundreds of processes does, may have more
// garbage each time (gcStep), up to gcMost: what one collection finds alive changes little then, and looking at it was a tenth of a build's time.
const (
	gcPercent = 8
	gcSlack   = 5 << 20
	gcStep    = 512 << 10
	gcMost    = 16 << 20
	gcHeap    = 40 << 20
	heapStart = 4 << 20 // what the runtime's first collection waits for, at 100 percent
	firstPace = 100 * gcHeap / heapStart
	// growPercent is the least while the heap is known to grow.
	growPercent = 100
)

// collector is the collector's pace during a run. What is read of kept translations (read) stays for as long as the program's processes, so that the heap may be
// larger by it before something is collected, twice as large at most: a compiler's 25 MB had a later start of it collect three times, a fifteenth of its
// processor time, and find nothing.
type collector struct {
	mu        sync.Mutex
	kept      uint64 // guarded by mu
	collected int    // how often; guarded by mu
	done      bool   // guarded by mu
	growing   bool   // guarded by mu; see grow
}

// collectSeldom sets the collector's pace accordingly, anew after each collection, until
// restore is called.
//
// A finalizer of an object that nobody has is how the runtime tells that a collection was
// made. A timer was refused: what it wakes for takes a processor from the target.
func collectSeldom() (c *collector, restore func()) {
	c = new(collector)
	old := debug.SetGCPercent(firstPace)
	type witness struct{ _ [16]byte }
	var collected func(*witness)
	collected = func(w *witness) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.done {
			return
		}
		c.collected++
		debug.SetGCPercent(c.pace())
		runtime.SetFinalizer(w, collected)
	}
	runtime.SetFinalizer(new(witness), collected)
	return c, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.done = true
		debug.SetGCPercent(old)
	}
}

// startOver is when a run has begun for so long that it is not a start only: half of what is forgotten is asked for again, a twenty-fifth of what a short program takes.
const startOver = 250 * time.Millisecond

// forgetStart takes the pages of our own binary out of what the process holds, which only its start has needed. It is called again and again.
func (r *run) forgetStart(now time.Time) {
	if r.costs.forgot || now.Sub(r.started) < startOver || slices.Contains(r.opts.Engine, wholeBinary) {
		return
	}
	r.costs.forgot = true
	if err := sys.ForgetOwnCode(); err != nil {
		r.logf("pages of the start: %v", err) // they cost memory and nothing else
	}
}

// read says that so many bytes of kept translations were read.
func (c *collector) read(bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = min(c.kept+uint64(bytes), gcHeap)
	if c.collected == 0 && !c.done { // else the next collection is soon enough
		debug.SetGCPercent(int(100 * (gcHeap + c.kept) / heapStart))
	}
}

// grow has the heap double between two collections while f runs, at least, since f makes much that stays. To arm
// 50,000 functions with debug information made 113 collections, two
// thirds of the tracer's processor time, all of them of a heap that nearly everything in was alive.
func (c *collector) grow(f func()) {
	if c == nil {
		f()
		return
	}
	set := func(growing bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.growing = growing; c.collected > 0 && !c.done {
			debug.SetGCPercent(c.pace())
		}
	}
	set(true)
	defer set(false)
	f()
}

// pace is the percentage from now on. mu is held.
func (c *collector) pace() int {
	p := pace(liveHeap(), c.kept, c.collected)
	if c.growing {
		p = max(p, growPercent)
	}
	return p
}

// pace is the percentage for a heap of so many bytes that are alive, so many of them read of what is kept, that has been collected so often.
func pace(live, kept uint64, collected int) int {
	if live == 0 {
		return firstPace
	}
	slack := max(gcSlack, min(uint64(collected)*gcStep, gcMost))
	if most := gcHeap + kept; live < most {
		slack = max(slack, most-live)
	}
	return max(gcPercent, int(min(100*slack/live, firstPace)))
}

// liveHeap is how much the last collection found alive.
func liveHeap() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return s[0].Value.Uint64()
}
