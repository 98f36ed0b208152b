package session

import (
	"time"

	"alleria/abp"
	"alleria/engine"
	"alleria/internal/sys"
)

// costs is what a run takes: where the target's time went, and the tracer's
// memory. All of it is on the goroutine of Record.
type costs struct {
	mode    engine.Mode // since the last look
	since   time.Time   // of the last look; zero: no image runs
	native  time.Duration
	cached  time.Duration
	looked  time.Time
	private uint64 // peaks, in bytes
	shared  uint64
	rings   uint64
}

// costsEvery is how often memory is looked at: it costs some 50 µs.
const costsEvery = 250 * time.Millisecond

// clock accounts for the time since the last look to the mode that was in force,
// and takes over the one that is now.
func (c *costs) clock(mode engine.Mode, now time.Time) {
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

// memory notes the peaks.
func (c *costs) memory(im *image, now time.Time) {
	if now.Sub(c.looked) < costsEvery {
		return
	}
	c.looked = now
	c.sample(im)
}

// sample is memory at once.
func (c *costs) sample(im *image) {
	private, shared := sys.OwnMemory()
	c.private, c.shared = max(c.private, private), max(c.shared, shared)
	var rings uint64
	for _, r := range im.rings {
		rings += r.Touched()
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
	return abp.Costs{
		NativeSeconds: c.native.Seconds(), CacheSeconds: c.cached.Seconds(),
		RingWaits: r.waits.times, RingWaitSeconds: float64(r.waits.ticks) / float64(max(r.clock.TSCFrequency(), 1)),
		Requests: uint64(st.Stats.Requests), RequestSeconds: st.Stats.RequestTime.Seconds(),
		TargetUserSeconds: st.Usage.User.Seconds(), TargetSystemSeconds: st.Usage.System.Seconds(), TargetFaults: st.Usage.Faults,
		TracerMemory: c.private, CacheMemory: cache, RingMemory: c.rings,
	}
}
