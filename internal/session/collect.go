package session

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// How much garbage there may be before it is collected: a share of what is alive, since
// the facts of translated code stay and letting them double would waste as much again, but
// not less than some megabytes, and nothing is collected at all before the heap has gcHeap. A fixed share alone collects a
// heap that begins small every few hundred kilobytes, while the target waits for its first code: that took a tenth of the
// time of a compiler's run and a fifth of that of /bin/true. With 21 MiB before the first collection and 5 between the
// others, a run of twenty compilers one after the other, whose memory is garbage as they end, spent 22 percent of its
// processor time on collecting.
const (
	gcPercent = 8
	gcSlack   = 5 << 20
	gcHeap    = 40 << 20
	heapStart = 4 << 20 // what the runtime's first collection waits for, at 100 percent
	firstPace = 100 * gcHeap / heapStart
)

// collectSeldom sets the collector's pace accordingly, anew after each collection, until
// restore is called.
//
// A finalizer of an object that nobody has is how the runtime tells that a collection was
// made. A timer was refused: what it wakes for takes a processor from the target.
func collectSeldom() (restore func()) {
	old := debug.SetGCPercent(firstPace)
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
		return firstPace
	}
	slack := uint64(gcSlack)
	if live < gcHeap {
		slack = max(slack, gcHeap-live)
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
