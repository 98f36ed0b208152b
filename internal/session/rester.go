package session

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"alleria/config"
	"alleria/engine"
	"alleria/internal/sys"
)

// rester has a process run its own code natively between bursts, which begin by processor time: when so much of it has passed,
// all threads are taken to the cache, where each is recorded, until the first is through with its burst and
// sends all of them back.
//
// What is executed natively nobody counts. A burst stands for the processor time that its thread has used since its burst
// before, an instruction a nanosecond: counts are then shares of time. Refused: the speed of a stretch of counted code in front
// of each burst, for an estimate of instructions. It came out at half of the native one, by factors that differ from function to
// function (caches and predictors that have just been left cold, indirect branches that cost more).
//
// It belongs to Record's goroutine.
type rester struct {
	resting bool          // threads run natively, or are on their way
	looked  bool          // the windows that are open have had a burst: the engine tells what of the code has changed since
	open    bool          // windows were, when that was looked at last
	used    time.Duration // processor time of the process as of then, or of when it was sent away
	gap     time.Duration // of it until the next burst
	tail    time.Duration // what of the period lies behind that burst
	at      time.Time     // when that is looked at
	entered bool          // a thread has begun with the burst
	blocks  uint32        // that had been made by then
	shorter int           // how often bursts have been halved
	period  time.Duration // of processor time, from one burst to the next, on average
	begun   int           // bursts with that period
	even    bool          // it is not to grow any more (from the start: Options.Engine, no-long-bursts)
	flooded bool          // a burst has overwritten what it had recorded
	bound   bool          // the part of the time that bursts take is (Options.Engine, unbound-bursts)
	spent   spending
}

// restedThread is what is known of a thread that runs natively between bursts.
type restedThread struct {
	native time.Duration // that it has run while windows were open, since its last burst
	since  time.Duration // its processor time when that was looked at last
	away   bool          // it does not record
}

const (
	// restPeriod is what the time from one burst to the next begins with, on average. Behind each restBursts of them it is doubled, up to restMost, and
	// bursts are so much longer: to come and go, and to find the caches cold twice, costs the program as much as half a million instructions recorded.
	restPeriod = 12 * time.Millisecond
	restMost   = 4 * restPeriod
	restBursts = 64
	// One part in spendPart of the process's time may go into bursts, without what they translate. spendAtOnce of it may be taken at once: by the many bursts of
	// short programs, and by code that comes once. No more than spendAhead is made up for: a burst during which the tracer had no processor does not put
	// the next one off for seconds. burstBehind is what a burst takes behind it, caches being cold.
	spendPart   = 16
	spendAtOnce = 80 * time.Millisecond
	spendAhead  = 4 * restMost / spendPart
	burstBehind = 500 * time.Microsecond
	// restSpeed is how many instructions a nanosecond has, about, for the length of bursts: they need not be of the rate exactly.
	restSpeed = 2.5
	mostBy    = 4_000_000 // instructions of a burst
	// restNearly is which part of a burst may be left when it ends. Where its budget lies in several words, each of them asks when it is
	// empty, and counts go by what was recorded: another question would cost more than what is recorded for it is worth.
	restNearly = 4
	// perBlock is what a block of recording code costs, with its part of the dispatch; one part in so many of the time may go into them.
	perBlock    = 6 * time.Microsecond
	translating = 16
	// manyBlocks is from how many new ones on the next burst is half as long, but for restShortest times.
	manyBlocks   = 256
	restShortest = 4
)

// Ways of laying out bursts.
const (
	SampleByInstructions = ""     // by what threads execute, counted; they never run natively
	SampleByTime         = "time" // by processor time, natively in between
)

// newRester returns nil where threads are counted between bursts.
func (ps *process) newRester() *rester {
	if ps.opts.SampleBy != SampleByTime || !ps.samples() {
		return nil
	}
	r := &rester{resting: true, shorter: restShortest, period: restPeriod, even: slices.Contains(ps.opts.Engine, noLongBursts), bound: !slices.Contains(ps.opts.Engine, unboundBursts)}
	r.spent.left = spendAtOnce
	ps.budget.sampler.away = true
	r.next(ps.budget.sampler)
	return r
}

// oneWord tells whether blocks count their instructions against one word. Natively nothing is counted, and of a budget in several words a burst asks
// two or three times, a tracer that has gone to sleep meanwhile; subtracting from one word is lost in what recording takes.
func (r *run) oneWord() bool {
	return r.opts.SampleBy == SampleByTime && !slices.Contains(r.opts.Engine, spreadBursts)
}

// restRefused says why threads cannot run natively between bursts; nil: they can.
func (r *run) restRefused() error {
	c := r.opts.Config
	switch {
	case r.opts.SampleBy != SampleByTime:
		return nil
	case !r.samples():
		return errors.New("bursts by time need to know which part of the execution to record: give a rate (--sample-rate)")
	case c.SampleRate().Auto:
		return errors.New("bursts by time need a rate, not auto")
	}
	if anyEvent(c, func(e *config.Event) bool { return len(bounds(e)) > 0 }) {
		return errors.New("between bursts by time nothing is counted, but an event waits for a number of instructions or accesses")
	}
	if hasIntercepts(c) || listens(c) {
		return errors.New("between bursts by time threads run natively, where system calls, signals and captured calls are not recorded")
	}
	return nil
}

// listens tells whether system calls or signals of some thread are recorded.
func listens(c *config.Config) bool {
	for _, w := range c.Windows {
		if w.Profile == nil {
			continue
		}
		for _, p := range w.Profile.Processes {
			for _, t := range p.Threads {
				if t.Syscalls || t.Signals {
					return true
				}
			}
		}
	}
	return false
}

// restCheck is restRefused as bad usage.
func (r *run) restCheck() error {
	if err := r.restRefused(); err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	return nil
}

// next lays the next period out: a burst somewhere in it. What of it lies behind the burst is part of the gap to the next one. Where bursts have taken
// more than they may, the period is as long as it takes to make up for that.
func (r *rester) next(s *sampler) {
	period := r.period
	if r.bound {
		period = max(period, -r.spent.left*spendPart)
	}
	before := time.Duration(s.rng.Int64N(int64(period)))
	r.gap += r.tail + before
	r.tail = period - before
}

// grow is called behind a burst. It doubles the period behind so many of them, or where they are dear, but for rates whose bursts would be longer than any may be. Where a burst has overwritten what it had
// recorded, the ring being too small for it, it goes back to the half for good. Rows of SAMPLING have bursts of one length, which count for the time that
// they stand for: no part of the program weighs more than another by that.
func (r *rester) grow(s *sampler) {
	r.begun++
	switch {
	case r.flooded:
		r.flooded, r.even, r.period = false, true, max(r.period/2, restPeriod)
	case (r.begun >= restBursts || r.dear()) && !r.even && r.period < restMost && s.rate*restSpeed*float64(2*r.period) <= mostBy:
		r.period, r.begun = 2*r.period, 0
	}
}

// passed counts what of the process's time has passed natively.
func (r *rester) passed(now time.Duration) {
	d := now - r.used
	r.gap -= d
	r.used = now
	r.spent.left = min(r.spent.left+max(d, 0)/spendPart, spendAtOnce)
}

// dear tells whether bursts take so much that they may not come within twice the period: longer ones know more for it, as half of what a burst takes is to come and go.
func (r *rester) dear() bool {
	return r.bound && r.spent.left < 0 && r.spent.burst*spendPart >= 2*r.period
}

// wait has the next burst come later, and be shorter, where one has come upon code that was never recorded before: translating takes no more than its
// part of the time. A burst of a sixteenth meets a quarter of the new code, and it is their number that counts are as good as.
// It goes by the number of blocks, whose cost is known: what they took is no measure on a machine that others use. A burst's length is settled
// before it begins, whatever it will meet.
func (r *rester) wait(made uint32) {
	r.gap += max(time.Duration(made)*perBlock*translating-r.period, 0)
	switch {
	case made > manyBlocks:
		r.shorter = min(r.shorter+1, restShortest)
	case made < manyBlocks/4:
		r.shorter = max(r.shorter-1, 0)
	}
}

// made is how many blocks the burst has made.
func (r *rester) made(p target) uint32 {
	if !r.entered {
		return 0
	}
	return p.Blocks().Last() - r.blocks
}

// length is how long the next burst is.
func (r *rester) length(s *sampler) int64 {
	return int64(min(max(s.rate*restSpeed*float64(r.period), leastWarm), mostBy)) >> r.shorter
}

// knowsImages tells whether the engine says by itself what has been loaded and unloaded natively: it compares the code that translations were made
// from, at each burst but the first. Reading all mappings once more, and looking for files that are none any more, took half a millisecond a burst.
func (ps *process) knowsImages() bool { return ps.rest != nil && ps.rest.looked }

// rests tells whether threads are to run natively though windows are open.
func (ps *process) rests() bool { return ps.rest != nil && ps.rest.resting }

// restLook follows windows: what is executed while none is open is nobody's.
func (ps *process) restLook() {
	r, im := ps.rest, ps.image
	if r == nil || r.open == (im.windows.Open() != 0) {
		return
	}
	now := ps.processorTime(r.used)
	if r.open {
		r.passed(now)
	}
	r.open, r.used, r.looked = !r.open, now, false
	r.at = time.Now().Add(r.gap)
	for t, d := range im.budget.sampler.threads {
		if r.open {
			d.rested.since = ps.threadTime(t, d.rested.since)
		} else {
			ps.restCount(t, d)
		}
	}
}

// restCount adds what a thread has run since it was looked at last.
func (ps *process) restCount(t thread, d *sampled) {
	now := ps.threadTime(t, d.rested.since)
	if d.rested.away {
		d.rested.native += max(now-d.rested.since, 0)
	}
	d.rested.since = now
}

// restAlarm looks whether it is time for a burst. One that finds less than a quarter of a ring free is left out.
func (ps *process) restAlarm() {
	r, im := ps.rest, ps.image
	if r == nil || !r.resting || !r.open || time.Now().Before(r.at) {
		return
	}
	r.passed(ps.processorTime(r.used))
	if r.gap > 50*time.Microsecond { // it has slept, or waited for a processor
		r.at = time.Now().Add(max(r.gap, time.Millisecond))
		return
	}
	for _, ring := range im.rings {
		if ring.Crowded() {
			r.next(im.budget.sampler)
			r.at = time.Now().Add(r.gap)
			return
		}
	}
	r.resting, r.entered = false, false
	ps.setMode()
	im.p.TakeOver() // threads are stopped behind this
	if ps.wantsCallers() && ps.makeStacks() {
		im.stacks.Prepare()
	}
	ps.spendFrom()
	r.looked = true
}

// restEntering is about a thread that is about to leave the cache, or has come there.
func (ps *process) restEntering(t thread) {
	im := ps.image
	if ps.rest == nil || im.budget == nil {
		return
	}
	d := im.budget.sampled(t)
	switch recording := im.p.Mode() == engine.ModeRecord && ps.rest.open; {
	case recording && d.rested.away:
		if ps.rest.open {
			ps.restCount(t, d)
		}
		ps.restPassed(d)
		d.rested.away, d.recording = false, true
		if r := ps.rest; !r.entered { // what was taken over from an earlier process is there by now, and costs next to nothing
			r.entered, r.blocks = true, im.p.Blocks().Last()
		}
		d.burst = ps.rest.length(im.budget.sampler)
		d.left = d.burst
		d.row.Bursts++
		ps.sampleCallers(t, 0)
	case !recording && !d.rested.away:
		ps.restAway(t, d)
	}
}

// restAway is about a thread that is not recorded from here on.
func (ps *process) restAway(t thread, d *sampled) {
	d.rested.away, d.recording = true, false
	d.rested.since = ps.threadTime(t, d.rested.since)
	if ring := ps.image.rings[t]; ring != nil {
		times, _ := ring.Lost()
		ps.rest.flooded = ps.rest.flooded || times > d.times
		d.times = times
	}
	ps.sampleBurst(t, d)
	ps.spend()
	ps.rest.spent.began = time.Time{} // others may be away much later, behind a system call
}

// restSample ends the bursts of all threads if that of one is over.
func (ps *process) restSample(t thread, d *sampled) {
	if !d.recording || d.left > d.burst/restNearly || ps.rest.resting {
		return
	}
	r := ps.rest
	r.resting = true
	r.used = ps.processorTime(r.used)
	ps.spend()
	r.grow(ps.image.budget.sampler)
	r.next(ps.image.budget.sampler)
	r.wait(r.made(ps.image.p))
	r.at = time.Now().Add(max(r.gap, 0))
	ps.setMode()
	ps.watch()
}

// restEnds is about a thread that executes nothing any more.
func (ps *process) restEnds(t thread) {
	im := ps.image
	if ps.rest == nil || im == nil || im.budget == nil {
		return
	}
	if d := im.budget.sampler.threads[t]; d != nil && ps.rest.open {
		ps.restCount(t, d)
	}
}

// restPassed adds what a thread has run natively to what was passed over.
func (ps *process) restPassed(d *sampled) {
	n := uint64(d.rested.native)
	d.row.Passed += n
	d.row.ByTime += n
	d.rested.native = 0
}

// processorTime is how much a process has used; otherwise if that cannot be read any more.
func (ps *process) processorTime(otherwise time.Duration) time.Duration {
	if c, err := sys.ProcessClock(ps.image.p.PID()); err == nil {
		return c
	}
	return otherwise
}

// threadTime is the same of a thread.
func (ps *process) threadTime(t thread, otherwise time.Duration) time.Duration {
	if c, err := sys.ThreadUsed(ps.image.p.PID(), t.TID()); err == nil {
		return c
	}
	return otherwise
}

// begins is about a thread that has executed nothing yet of this program.
func (d *sampled) begins(ps *process, t thread) {
	if d != nil && ps.rest != nil {
		d.rested.since = ps.threadTime(t, 0)
	}
}

// spending is what bursts have taken of the process's time, beside what they may.
type spending struct {
	left time.Duration // may still be taken; below zero: too much was
	// As of the burst's beginning: the time, and processor time of the process and of the tracer's thread.
	began           time.Time // zero: there is none, or it has been counted
	process, tracer time.Duration
	burst           time.Duration // counted of this burst
}

// spendFrom begins with a burst, in front of its first stop.
func (ps *process) spendFrom() {
	s := &ps.rest.spent
	s.began, s.burst = time.Now(), burstBehind
	s.left -= burstBehind
	s.process, s.tracer = ps.processorTime(ps.rest.used), sys.ThreadTime()
}

// spend counts what the burst has taken up to now: elapsed time of each thread, as they wait for the tracer where they do not record themselves, but no more than the
// processor time of both sides, since what others take on a busy machine is not the burst's. Translating has a part of the time for itself (wait): first runs would have
// half as many bursts, and later ones have what these have translated.
func (ps *process) spend() {
	s := &ps.rest.spent
	if s.began.IsZero() {
		return
	}
	used := sys.ThreadTime() - s.tracer + max(ps.processorTime(s.process)-s.process, 0)
	took := min(time.Since(s.began)*time.Duration(len(ps.image.p.Threads())), used)
	took = burstBehind + max(took-time.Duration(ps.rest.made(ps.image.p))*perBlock, 0)
	s.left = max(s.left-max(took-s.burst, 0), -spendAhead)
	s.burst = max(took, s.burst)
}
