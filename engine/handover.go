package engine

import (
	"runtime"
	"time"

	"alleria/engine/shm"
	"alleria/engine/tracee"
	"alleria/internal/layout"
	"alleria/internal/spin"
	"alleria/internal/sys"
)

// handover is how the tracer's thread waits for the target's next dispatch: it spins where
// the answer to one can be had sooner by that, and sleeps where spinning would only keep
// the target, or somebody else, from the processor.
//
// The target does the same on its side (alleria_dispatch): each tells the other which
// processor it is on, in the bell page and in its slot. On the same one whoever waits
// sleeps at once, so that a dispatch takes two switches of threads; on two, it spins for
// about as long as waking a processor that idles takes.
//
// Refused: a fixed number of turns on both sides, which on one processor is two of them for
// each dispatch; futexes alone, since waking another processor takes a hundred times as long as an
// answer (see docs/internal/engine/threads.md); sleeping for some milliseconds after the processor was taken away,
// which made a busy machine no faster and a quiet one slower; and asking the kernel who else
// runs, which is a system call a dispatch.
type handover struct {
	dispatcher *Thread // whose dispatch was answered last; nil: nobody asked
	bell       *shm.Control
	cpu        uint32 // the processor that the target was told of
	told       uint32 // layout.Crowded
	// Ticks a microsecond: a guess until the counter has run for a while since the first pause.
	rate       uint64
	calibrated bool
	from       time.Time
	fromTicks  uint64
	polled     time.Duration // when the client was last polled
	single     bool          // there is one processor for both
	anywhere   bool          // Options.NoHandover
}

// newHandover is for the goroutine that will wait. A thread of another processor may be
// waited for actively, one of the only processor never.
func newHandover(anywhere bool) handover {
	return handover{cpu: spin.Unknown, anywhere: anywhere, single: runtime.NumCPU() == 1, rate: guessedRate}
}

const (
	pauses = 4 // between two looks: with two threads of a core, the target's may be the other one
	// spinTime is for how long the tracer waits for a dispatch before it sleeps, nativeTime
	// the same while every thread runs its own code: all that can come are the kernel's
	// reports, and the processor may be wanted for what the client does meanwhile.
	spinTime   = 100 // microseconds
	nativeTime = 10
	// stopTime is for how long it waits so for a stop that it has asked for.
	stopTime = 50
	// guessedRate is the counter's rate until it has been measured.
	guessedRate = 3000
	// pollEvery is the least time between two calls of Client.Poll.
	pollEvery = time.Millisecond
)

// pause pauses, and says when that was; the target is told where.
func (h *handover) pause() (ticks uint64) {
	ticks, cpu := spin.Pause(pauses)
	if h.fromTicks == 0 {
		h.from, h.fromTicks = time.Now(), ticks
	}
	if cpu != h.cpu && h.bell != nil && !h.anywhere {
		h.cpu = cpu
		h.bell.U32(layout.TracerCPU).Store(cpu)
	}
	return ticks
}

// calibrate measures the counter's rate once it has run for long enough.
func (h *handover) calibrate(ticks uint64) {
	if d := time.Since(h.from).Microseconds(); !h.calibrated && d > 500 {
		h.rate, h.calibrated = max((ticks-h.fromTicks)/uint64(d), 1), true
	}
}

// beside tells whether the thread that asked last was on the tracer's own processor.
func (h *handover) beside() bool {
	if h.anywhere {
		return false
	}
	return h.single || h.dispatcher != nil && h.dispatcher.slot.U32(layout.ReqCPU).Load() == h.cpu
}

// tellCrowd lets the target know whether the scheduler has put the two on one processor: it does
// so where the others are busy, and will do it again.
func (h *handover) tellCrowd(v uint32) {
	if h.bell != nil && h.told != v {
		h.told = v
		h.bell.U32(layout.Crowded).Store(v)
	}
}

// spins waits actively for something to do, and tells whether there is. It returns early
// where waiting actively makes no sense.
func (tr *Tracer) spins() bool {
	h := &tr.hand
	most := uint64(nativeTime)
	if tr.anyTranslated() {
		most = spinTime
	}
	start := h.pause()
	if h.beside() {
		h.tellCrowd(1)
		return false
	}
	h.tellCrowd(0)
	for n := 1; ; n++ {
		if tr.somethingToDo(n) {
			return true
		}
		if tr.opts.Ahead && tr.translateAhead() {
			continue
		}
		if h.pause()-start > most*h.rate {
			return false
		}
	}
}

// awaitReport waits for a report of the kernel, at most for tracee.Patience: actively first, as for dispatches.
func (tr *Tracer) awaitReport() {
	h := &tr.hand
	start := h.pause()
	for !h.beside() && h.pause()-start < stopTime*h.rate {
		if tr.reports.Pending() {
			return
		}
	}
	tr.reports.Wait(tracee.Patience)
}

// somethingToDo looks at the threads' dispatches in every turn, as at the kernel's reports, and
// at what else there may be now and then.
func (tr *Tracer) somethingToDo(turn int) bool {
	return tr.anyDispatch() || tr.reports.Pending() || turn&15 == 0 && (tr.anyWish() || tr.stops.AnyPostponed())
}

// anyTranslated tells whether some thread runs in a code cache.
func (tr *Tracer) anyTranslated() bool {
	for _, p := range tr.procs {
		for _, t := range p.running() {
			if !t.native {
				return true
			}
		}
	}
	return false
}

// anyWish tells whether some handler has asked for something that is still to be done.
func (tr *Tracer) anyWish() bool {
	for _, p := range tr.procs {
		if p.modeChanged || p.leaving {
			return true
		}
	}
	return false
}

// translateAhead translates something that a process is likely to ask for, if there is anything.
func (tr *Tracer) translateAhead() bool {
	for _, p := range tr.procs {
		if len(p.cache.AheadQueue) > 0 && p.translateAhead() {
			return true
		}
	}
	return false
}

// sleep waits on the doorbell. It announces it first and looks again then: a thread writes
// its dispatch before it looks at the announcement.
func (tr *Tracer) sleep() {
	h := &tr.hand
	asleep, cpu := tr.bell.U32(layout.TracerAsleep), tr.bell.U32(layout.TracerCPU)
	bell := tr.bell.U32(layout.Doorbell).Load()
	h.cpu = spin.Unknown
	cpu.Store(spin.Unknown)
	asleep.Store(1)
	if !tr.anyDispatch() && !tr.reports.Pending() {
		sys.FutexWait(tr.bell.Word(layout.Doorbell), bell, tr.nap())
	}
	asleep.Store(0)
	h.calibrate(h.pause())
}

// poll lets the client look after its limits now and then.
func (tr *Tracer) poll() {
	now := tr.now()
	if now-tr.hand.polled < pollEvery {
		return
	}
	tr.hand.polled = now
	for _, p := range tr.procs {
		tr.cool(p)
	}
	tr.strays()
	tr.client.Poll()
}
