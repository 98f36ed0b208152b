package session

import (
	"os"
	"time"

	"alleria/abp"
	"alleria/engine"
	"alleria/internal/sys"
)

// modeClock is how long a process ran its own code and how long translated code.
type modeClock struct {
	mode   engine.Mode // since the last look
	since  time.Time   // of the last look; zero: nothing of it runs
	native time.Duration
	cached time.Duration
}

// look accounts for the time since the last look to the mode that was in force,
// and takes over the one that is now.
func (c *modeClock) look(mode engine.Mode, now time.Time) {
	if !c.since.IsZero() {
		d := now.Sub(c.since)
		if c.mode == engine.ModeNative {
			c.native += d
		} else {
			c.cached += d
		}
	}
	c.mode, c.since = mode, now
}

// take adds what another has counted, which begins anew.
func (c *modeClock) take(o *modeClock) {
	c.native += o.native
	c.cached += o.cached
	*o = modeClock{}
}

// costs is what a run takes: where the targets' time went, and the tracer's
// memory. All of it is on the goroutine of Record.
type costs struct {
	modes   modeClock // of processes that have ended
	looked  time.Time
	private uint64 // peaks, in bytes
	shared  uint64
	rings   uint64
	forgot  bool // see forgetStart
	procs   int  // the runtime's before moreProcs; 0: that is to come
}

// costsEvery is how often memory is looked at: it costs some 50 µs.
const costsEvery = 250 * time.Millisecond

// memory notes the peaks.
func (c *costs) memory(live []*process, now time.Time) {
	if now.Sub(c.looked) < costsEvery {
		return
	}
	c.looked = now
	c.sample(live)
}

// sample is memory at once.
func (c *costs) sample(live []*process) {
	m := sys.MemoryOf(os.Getpid())
	c.private, c.shared = max(c.private, m.Private), max(c.shared, m.Shared)
	var rings uint64
	for _, ps := range live {
		for _, r := range ps.image.rings {
			rings += r.Touched()
		}
	}
	c.rings = max(c.rings, rings)
}

// sum is what run.json says.
func (r *run) costsSum(st engine.Status) abp.Costs {
	c := &r.costs
	cache := uint64(0)
	if c.shared > c.rings {
		cache = c.shared - c.rings
	}
	processing := 0.0
	if r.proc.pool != nil {
		processing = r.proc.pool.Used().Seconds()
	}
	return abp.Costs{
		ProcessingSeconds: processing, ProcessingPlaced: r.proc.placed.where(),
		NativeSeconds: c.modes.native.Seconds(), CacheSeconds: c.modes.cached.Seconds(),
		RingWaits: r.waits.times, RingWaitSeconds: float64(r.waits.ticks) / float64(max(r.clock.TSCFrequency(), 1)),
		Requests: uint64(st.Stats.Dispatches), RequestSeconds: st.Stats.DispatchTime.Seconds(),
		TargetUserSeconds: st.Usage.User.Seconds(), TargetSystemSeconds: st.Usage.System.Seconds(), TargetFaults: st.Usage.Faults,
		TracerMemory: c.private, CacheMemory: cache, RingMemory: c.rings,
	}
}
