// Package handover is how the tracer's thread waits for the target's next dispatch: it spins where
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
//
// The engine's loop calls it, on the goroutine that is locked to the tracer's thread: with what there may be to do behind an interface (Work), and nothing else. What it writes
// for the target are words of the bell page, by atomics; it answers no dispatch.
package handover

import (
	"runtime"
	"time"

	"alleria/engine/shm"
	"alleria/internal/layout"
	"alleria/internal/spin"
	"alleria/internal/sys"
)

// Work is what is waited for.
type Work interface {
	// Ready tells whether there is something to do. turn counts the looks: not everything has to be looked at in each.
	Ready(turn int) bool
	// Ahead does something that may be of use later, and tells whether it has.
	Ahead() bool
	// Asked tells whether there is something that a sleeping tracer is rung for.
	Asked() bool
}

// Waiter waits for the target.
type Waiter struct {
	Asker *shm.Slot // whose dispatch was answered last; nil: nobody asked
	bell  *shm.Bell
	cpu   uint32 // the processor that the target was told of
	told  uint32 // layout.Crowded
	// Ticks a microsecond: a guess until the counter has run for a while since the first pause.
	rate       uint64
	calibrated bool
	from       time.Time
	fromTicks  uint64
	single     bool // there is one processor for both
	anywhere   bool // Options.NoHandover
}

// New is for the goroutine that will wait. A thread of another processor may be
// waited for actively, one of the only processor never. anywhere: who waits spins, wherever the other is.
func New(anywhere bool) Waiter {
	return Waiter{cpu: spin.Unknown, anywhere: anywhere, single: runtime.NumCPU() == 1, rate: guessedRate}
}

// Use says which bell is rung.
func (h *Waiter) Use(b *shm.Bell) { h.bell = b }

const (
	pauses = 4 // between two looks: with two threads of a core, the target's may be the other one
	// SpinTime is for how long the tracer waits for a dispatch before it sleeps, NativeTime
	// the same while every thread runs its own code: all that can come are the kernel's
	// reports, and the processor may be wanted for what the client does meanwhile.
	SpinTime   = 100 // microseconds
	NativeTime = 10
	// StopTime is for how long it waits so for a stop that it has asked for.
	StopTime = 50
	// guessedRate is the counter's rate until it has been measured.
	guessedRate = 3000
)

// pause pauses, and says when that was; the target is told where.
func (h *Waiter) pause() (ticks uint64) {
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
func (h *Waiter) calibrate(ticks uint64) {
	if d := time.Since(h.from).Microseconds(); !h.calibrated && d > 500 {
		h.rate, h.calibrated = max((ticks-h.fromTicks)/uint64(d), 1), true
	}
}

// Beside tells whether the thread that asked last was on the tracer's own processor.
func (h *Waiter) Beside() bool {
	if h.anywhere {
		return false
	}
	return h.single || h.Asker != nil && h.Asker.U32(layout.ReqCPU).Load() == h.cpu
}

// tellCrowd lets the target know whether the scheduler has put the two on one processor: it does
// so where the others are busy, and will do it again.
func (h *Waiter) tellCrowd(v uint32) {
	if h.bell != nil && h.told != v {
		h.told = v
		h.bell.U32(layout.Crowded).Store(v)
	}
}

// Spin waits actively for something to do, for so many microseconds at most, and tells whether there is. It returns early
// where waiting actively makes no sense.
func (h *Waiter) Spin(most uint64, w Work) bool {
	start := h.pause()
	if h.Beside() {
		h.tellCrowd(1)
		return false
	}
	h.tellCrowd(0)
	for n := 1; ; n++ {
		if w.Ready(n) {
			return true
		}
		if w.Ahead() {
			continue
		}
		if h.pause()-start > most*h.rate {
			return false
		}
	}
}

// SpinFor waits actively until come says that something has come, for StopTime at most; false if it has not.
func (h *Waiter) SpinFor(come func() bool) bool {
	start := h.pause()
	for !h.Beside() && h.pause()-start < StopTime*h.rate {
		if come() {
			return true
		}
	}
	return false
}

// Sleep waits on the doorbell, at most for as long as nap says. It announces it first and looks again then: a thread writes
// its dispatch before it looks at the announcement.
func (h *Waiter) Sleep(w Work, nap func() time.Duration) {
	asleep, cpu := h.bell.U32(layout.TracerAsleep), h.bell.U32(layout.TracerCPU)
	bell := h.bell.U32(layout.Doorbell).Load()
	h.cpu = spin.Unknown
	cpu.Store(spin.Unknown)
	asleep.Store(1)
	if !w.Asked() {
		sys.FutexWait(h.bell.Word(layout.Doorbell), bell, nap())
	}
	asleep.Store(0)
	h.calibrate(h.pause())
}
