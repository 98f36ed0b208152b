// Package residency decides whether a process that is to run natively stays in the code cache.
//
// A native probe is a stop: 50 µs and more. A process that hits probes one after
// the other goes on in the cache, where the same is counted in nanoseconds, and
// runs natively again once little has been counted for a while.
//
// The engine tells it of hits, and asks now and then with the sum of what was counted, which
// translated code changes by itself, so that no thread has to be stopped for it. Times are what the caller says; nothing here
// looks at a clock, stops a thread, or changes a mode.
package residency

import "time"

// They are times of people and not of processors: within a tenth of a second nobody can
// tell the difference, and going over costs far less than that.
const (
	hotHits  = 16                    // so many hits,
	hotPause = 2 * time.Millisecond  // with no longer than this between them, are too many
	coolHits = 2                     // so few entries
	coolLook = 90 * time.Millisecond // between two looks
	coolTime = 1 * time.Second       // for so long let it run natively
)

// Process is why a process stays in the cache.
type Process struct {
	busy    bool          // a native probe was hit often
	always  bool          // for good
	armed   bool          // for as long as something may be reached: natively its code would have probes in it
	lastUse time.Duration // when something was last counted often
	looked  time.Duration // when that was last looked at
	seen    uint64        // what the counts added up to then
	hits    int           // of native probes, shortly after each other
	lastHit time.Duration
}

// Stays tells whether the process stays in the cache.
func (p *Process) Stays() bool { return p.busy }

// Stay has it stay in the cache until it has been quiet, from now on; Keep for good.
func (p *Process) Stay(now time.Duration) { p.busy, p.lastUse = true, now }
func (p *Process) Keep()                  { p.always, p.busy = true, true }

// KeepArmed has it stay in the cache for as long as something may be reached.
func (p *Process) KeepArmed() { p.armed, p.busy = true, true }

// Used says that something has been reached, wherever the process runs.
func (p *Process) Used(now time.Duration) { p.lastUse = now }

// Settle says that nothing will be reached any more.
func (p *Process) Settle() { p.armed, p.busy = false, p.always }

// Hit notes that a thread ran into a native probe, and tells whether these are too many.
// The hits that count are in a row; a pause begins anew.
func (p *Process) Hit(now time.Duration) (tooMany bool) {
	if now-p.lastHit > hotPause {
		p.hits = 0
	}
	p.lastHit = now
	p.hits++
	return p.hits >= hotHits && !p.busy
}

// Quiet tells whether the process, which stays for being busy, has been quiet for long enough. counts adds up what was counted at its places; it is asked
// for now and then only.
func (p *Process) Quiet(now time.Duration, counts func() uint64) bool {
	if !p.busy || p.always || p.armed || now-p.looked < coolLook {
		return false
	}
	p.looked = now
	sum := counts()
	if d := int64(sum - p.seen); d > coolHits || d < -coolHits {
		p.seen, p.lastUse = sum, now
	}
	return now-p.lastUse >= coolTime
}

// Leave has it run natively again.
func (p *Process) Leave() { p.busy, p.hits = false, 0 }
