package session

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// How much garbage there may be before it is collected: a share of what is alive, since
// the facts of translated code stay and letting them double would waste as much again, but
// not less than some megabytes: twice as many before the first collection. A fixed share alone collects a heap that begins small every
// few hundred kilobytes, while the target waits for its first code: that took a tenth of the time of a
// compiler's run and a fifth of that of /bin/true.
const (
	gcPercent = 8
	gcSlack   = 5 << 20
	gcFirst   = 16 << 20
	heapStart = 4 << 20 // what the runtime's first collection waits for, at 100 percent
)

// collectSeldom sets the collector's pace accordingly, anew after each collection, until
// restore is called.
//
// A finalizer of an object that nobody has is how the runtime tells that a collection was
// made. A timer was refused: what it wakes for takes a processor from the target.
func collectSeldom() (restore func()) {
	old := debug.SetGCPercent(100 * gcFirst / heapStart)
	var done atomic.Bool
	type witness struct{ _ [16]byte }
	var collected func(*witness)
	collected = func(w *witness) {
		if done.Load() {
			return
		}
		debug.SetGCPercent(pace(liveHeap()))
		runtime.SetFinalizer(w, collected)
	}
	runtime.SetFinalizer(new(witness), collected)
	return func() {
		done.Store(true)
		debug.SetGCPercent(old)
	}
}

// pace is the percentage for a heap of so many bytes that are alive.
func pace(live uint64) int {
	if live == 0 {
		return 100 * gcFirst / heapStart
	}
	return max(gcPercent, int(min(100*gcSlack/live, 100*gcFirst/heapStart)))
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
