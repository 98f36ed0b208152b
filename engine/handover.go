package engine

import (
	"time"

	"alleria/internal/layout"
	"alleria/internal/spin"
	"alleria/internal/sys"
)

// handover is how the tracer's thread waits for the target's next request: it spins where
// the answer to one can be had sooner by that, and sleeps where spinning would only keep
// the target, or somebody else, from the processor.
//
// The target does the same on its side (alleria_request): each tells the other which
// processor it is on, in the control area and in its slot. On the same one whoever waits
// sleeps at once, so that a request takes two switches of threads; on two, the spin ends
// when something takes more time than an answer does. That a third one wants the tracer's
// processor shows in a gap between two pauses: the tracer then sleeps between requests for
// a while, since the scheduler lets who has slept run sooner than who has spun.
//
// Refused: a fixed number of turns on both sides, which on one processor is two of them for
// each request; futexes alone, which take three times as long as spinning where two
// processors are free; and asking the kernel who else runs, which is a system call a request.
type handover struct {
	asker *Thread // whose request was answered last; nil: nobody asked
	ctl   *control
	cpu   uint32 // the processor that the target was told of
	last  uint64 // ticks behind the latest pause
	// Until then the processor is taken to be wanted by others, and for how long it will be
	// the next time that it shows.
	crowded, span uint64
	// ticks a microsecond, measured since the first pause
	rate      uint64
	taken     int64 // sys.TimesTaken when it was looked at last
	from      time.Time
	fromTicks uint64
	polled    time.Duration // when the client was last polled
	anywhere  bool          // Options.NoHandover
}

const (
	pauses = 4 // between two looks: with two threads of a core, the target's may be the other one
	// spinTime is for how long the tracer waits for a request before it sleeps, nativeTime
	// the same while every thread runs its own code: all that can come are the kernel's
	// reports, and the processor may be wanted for what the client does meanwhile.
	spinTime   = 100 // microseconds
	nativeTime = 10
	// stopTime is for how long it waits so for a stop that it has asked for.
	stopTime = 50
	// A pause that took longer than gap was one in which somebody else ran. For crowdLeast
	// to crowdMost the processor is taken to be shared then.
	gap        = 40
	crowdLeast = 1000
	crowdMost  = 16000
	// pollEvery is the least time between two calls of Client.Poll.
	pollEvery = time.Millisecond
)

// pause pauses, and notes what it shows. It tells whether nobody else had the processor.
func (h *handover) pause() (ticks uint64, alone bool) {
	ticks, cpu := spin.Pause(pauses)
	if h.rate == 0 {
		h.rate = 3000 // until it can be told
		h.from, h.fromTicks = time.Now(), ticks
	}
	alone = h.last == 0 || ticks-h.last < gap*h.rate
	h.last = ticks
	if cpu != h.cpu && h.ctl != nil && !h.anywhere {
		h.cpu = cpu
		h.ctl.u32(layout.TracerCPU).Store(cpu)
	}
	return ticks, alone
}

// calibrate measures the counter's rate when the time it has run for allows it.
func (h *handover) calibrate(ticks uint64) {
	if d := time.Since(h.from).Microseconds(); d > 500 {
		h.rate = max((ticks-h.fromTicks)/uint64(d), 1)
	}
}

// beside tells whether the thread that asked last was on the tracer's own processor.
func (h *handover) beside() bool {
	return h.asker != nil && h.asker.slot.u32(layout.ReqCPU).Load() == h.cpu
}

// noteCrowd notes that somebody else had the processor while the tracer spun.
func (h *handover) noteCrowd(ticks uint64) {
	least := crowdLeast * h.rate
	if ticks < h.crowded+2*h.span { // again, soon after the last time
		h.span = min(2*h.span, crowdMost*h.rate)
	} else {
		h.span = least
	}
	h.crowded = ticks + h.span
}

// spins waits actively for something to do, and tells whether there is. It returns early
// where waiting actively makes no sense.
func (tr *Tracer) spins() bool {
	p, h := tr.proc, &tr.hand
	most := uint64(nativeTime)
	for _, t := range p.running() {
		if !t.native {
			most = spinTime
			break
		}
	}
	h.last = 0
	start, _ := h.pause()
	if !h.anywhere && (start < h.crowded || h.beside()) {
		return false
	}
	for n := 1; ; n++ {
		if tr.somethingToDo(n) {
			return true
		}
		if len(p.aheadQueue) > 0 && p.translateAhead() {
			h.last = 0
			continue
		}
		now, alone := h.pause()
		if !alone && h.shared(now) || now-start > most*h.rate {
			return false
		}
	}
}

// shared tells whether the processor was taken away since it was asked last, and notes it. An
// interrupt, and a virtual machine's host, make gaps as well: they are nobody that
// sleeping would help.
func (h *handover) shared(ticks uint64) bool {
	taken := sys.TimesTaken()
	before := h.taken
	h.taken = taken
	if taken == before || h.anywhere {
		return false
	}
	h.noteCrowd(ticks)
	return true
}

// awaitReport waits for a report of the kernel, at most for patience: actively first, as for requests.
func (tr *Tracer) awaitReport() {
	h := &tr.hand
	h.last = 0
	start, _ := h.pause()
	for start >= h.crowded {
		if tr.reports.Pending() {
			return
		}
		now, alone := h.pause()
		if !alone && h.shared(now) || now-start > stopTime*h.rate {
			break
		}
	}
	tr.reports.Wait(patience)
}

// somethingToDo looks at the threads' requests in every turn, as at the kernel's reports, and
// at what else there may be now and then.
func (tr *Tracer) somethingToDo(turn int) bool {
	return tr.anyRequest() || tr.reports.Pending() || tr.modeChanged || turn&15 == 0 && (tr.proc.leaving || tr.anyPostponed())
}

// sleep waits on the doorbell. It announces it first and looks again then: a thread writes
// its request before it looks at the announcement.
func (tr *Tracer) sleep() {
	p, h := tr.proc, &tr.hand
	asleep, cpu := p.ctl.u32(layout.TracerAsleep), p.ctl.u32(layout.TracerCPU)
	bell := p.ctl.u32(layout.Doorbell).Load()
	h.cpu = spin.Unknown
	cpu.Store(spin.Unknown)
	asleep.Store(1)
	if !tr.anyRequest() && !tr.reports.Pending() {
		nap := tr.nap()
		if p.ctl.u32(layout.NoCalls).Load() != 0 || tr.anyPostponed() {
			nap = 100 * time.Microsecond // nobody rings, or there is something to do soon
		}
		sys.FutexWait(p.ctl.word(layout.Doorbell), bell, nap)
	}
	asleep.Store(0)
	h.last = 0
	ticks, _ := h.pause()
	if h.rate == 3000 {
		h.calibrate(ticks)
	}
}

// poll lets the client look after its limits now and then.
func (tr *Tracer) poll() {
	now := tr.now()
	if now-tr.hand.polled < pollEvery {
		return
	}
	tr.hand.polled = now
	tr.cool(tr.proc)
	tr.client.Poll(tr.proc)
}
