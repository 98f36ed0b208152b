package engine

import (
	"time"

	"alleria/internal/layout"
)

// residency is why a process that is to run natively stays in the cache.
type residency struct {
	busy    bool          // a native probe was hit often
	always  bool          // see KeepTranslated
	lastUse time.Duration // when something was last counted often
	looked  time.Duration // when that was last looked at
	seen    uint64        // what the counts added up to then
	hits    int           // of native probes, shortly after each other
	lastHit time.Duration
}

// A native probe is a stop: 50 µs and more. A process that hits probes one after
// the other goes on in the cache, where the same is counted in nanoseconds, and
// runs natively again once little has been counted for a while.
// They are times of people and not of processors: within a tenth of a second nobody can
// tell the difference, and going over costs far less than that.
const (
	hotHits  = 16                    // so many hits,
	hotPause = 2 * time.Millisecond  // with no longer than this between them, are too many
	coolHits = 2                     // so few entries
	coolLook = 90 * time.Millisecond // between two looks
	coolTime = 1 * time.Second       // for so long let it run natively
)

// StayTranslated says that what is watched has just been reached and may well be
// reached again soon: a process that is to run natively stays in the cache until it
// has been quiet.
func (p *Process) StayTranslated() {
	if p.tr.opts.NoBusy {
		return
	}
	p.busy, p.lastUse = true, p.tr.now()
}

// KeepTranslated has the process stay in the cache where it would run natively, for good.
func (p *Process) KeepTranslated() {
	p.always, p.busy = true, true
	p.SetMode(p.asked)
}

// stayInsideFunction keeps a process in the cache for as long as a thread may be in a function that
// natively could be taken for entered each time that it jumps to its start.
func (p *Process) stayInsideFunction() {
	p.busy, p.lastUse = true, p.tr.now()
	p.SetMode(p.asked)
}

// Settle says that nothing will be reached any more.
func (p *Process) Settle() { p.busy = p.always }

// now is the time since the tracer started.
func (tr *Tracer) now() time.Duration { return time.Since(tr.began) }

// probeHit notes that a thread ran into a native probe.
// The hits that count are in a row; a pause begins anew.
func (tr *Tracer) probeHit(p *Process) {
	now := tr.now()
	if now-p.lastHit > hotPause {
		p.hits = 0
	}
	p.lastHit = now
	if p.hits++; p.hits >= hotHits && !p.busy {
		p.StayTranslated()
		p.SetMode(p.asked)
	}
}

// cool looks now and then whether a process that would run natively were it not for
// its watched places has been quiet.
//
// What was counted shows in the places' words, which translated code changes by itself: they
// are added up and compared with the last sum, so that no thread has to be stopped for it.
func (tr *Tracer) cool(p *Process) {
	tr.syncAll(p)
	if !p.busy || p.always || p.asked != ModeNative {
		return
	}
	now := tr.now()
	if now-p.looked < coolLook {
		return
	}
	p.looked = now
	sum := p.points.Counts()
	if d := int64(sum - p.seen); d > coolHits || d < -coolHits {
		p.seen, p.lastUse = sum, now
	}
	if now-p.lastUse < coolTime {
		return
	}
	p.stopToggling()
	for _, t := range p.running() { // it may have opened the window just before
		if p.toggle != nil && t.slot.Get(layout.Inside) != 0 {
			return
		}
	}
	p.busy, p.hits = false, 0
	p.SetMode(p.asked)
}
