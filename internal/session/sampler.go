package session

import (
	"math/rand/v2"
	"slices"
	"time"

	"alleria/abp"
	"alleria/analysis/live"
	"alleria/cab"
	"alleria/config"
	"alleria/internal/records"
	"alleria/internal/session/stacks"
)

// sampler has threads record bursts of their instructions only, and run without recording in between.
//
// A thread's instructions, while windows are open, come in periods. Each has one burst, somewhere at random,
// that is so much shorter than the period as the rate says. Blocks count instructions in either variant, so that how many
// were passed over is known exactly, in each thread: a burst stands for its period, and what was recorded
// times periods by bursts is an estimate without bias of all that was executed. A thread changes between the two
// by a request of its own; no other thread is stopped.
//
// Bursts begin short and grow with what was recorded of the thread: a short program has some hundred as well, and a long one
// does not spend its time on switching, which takes some requests a burst.
//
// Refused: recording all the time and having the consumer pick (CAB paper, section 3.2), since recording is what takes the
// time here, not the choice. Bursts by time, natively in between, are cheaper and take code by how
// long it runs and not by its instructions, with nothing to correct that by where the processor counts none: rester has them for
// who asks for that.
//
// Threads wait where a ring has no room, but where the rate is auto (overwrites): there is no room where code is recorded that makes many
// words or is dear to analyse, or where nothing else has had the processor, so that bursts that are left out then are not any bursts.
//
// It belongs to Record's goroutine.
type sampler struct {
	rate    float64 // of new threads
	adapts  bool
	warm    bool // what caches hold matters
	leaves  bool // bursts out, where a ring has no room for them (run.overwrites)
	away    bool // threads run natively between bursts
	rng     *rand.Rand
	threads map[thread]*sampled
}

// sampled is a thread of which bursts are recorded.
type sampled struct {
	at        int64 // instructions executed when it was looked at last
	left      int64 // instructions until the next change
	tail      int64 // of the period, behind the burst that runs
	burst     int64 // length of the one that runs or comes next
	total     int64 // executed in all, while windows were open
	rate      float64
	open      bool // windows were, when it was looked at last
	recording bool
	lost      loss   // of the ring, as of the row's start
	times     uint64 // of that, as of the last burst
	skipped   int    // bursts since the last one that was not
	calm      int    // bursts since its ring was nearly full
	rested    restedThread
	row       abp.Sampling
	before    abp.Sampling // sums of earlier rows
}

// loss is what a ring's producer has overwritten.
type loss struct{ times, words uint64 }

const (
	autoRate   = 1.0 / 32 // what automatic rates begin with
	leastRate  = 1.0 / (1 << 14)
	leastBurst = 1_000   // instructions
	mostBurst  = 200_000 // some chunks of a ring
	perBurst   = 2_000   // what is recorded of what a thread has executed, by the length of its next burst
	// Where caches are simulated a burst has to be long beside them, and does not get shorter with the rate.
	leastWarm  = 2_000
	perWarm    = 20_000 // what a thread has executed
	calmBursts = 16     // at one rate, before it is raised
	mostRate   = 1.0 / 2
	// A row and a frame are about so many bursts and instructions in them, at least: few, since errors are told by what frames differ in. Where bursts are left
	// out or overwritten, which is made up for by what the thread did about that time, it takes more of them to say what that was.
	rowBursts    = 2
	rowRecorded  = 20_000
	leftBursts   = 4
	leftRecorded = 200_000
	// beginsNearly is which part of its length a burst may begin too early, and endsNearly end.
	beginsNearly = 16
	endsNearly   = 16
)

// newSampler returns nil if everything is to be recorded.
func (r *run) newSampler(c config.Rate) *sampler {
	if c.All() {
		return nil
	}
	rate := c.Part
	if c.Auto {
		rate = autoRate
	}
	return &sampler{rate: rate, adapts: c.Auto, warm: r.warms(), leaves: r.overwrites(), rng: rand.New(rand.NewPCG(1, 2+r.opts.SampleSeed)), threads: make(map[thread]*sampled)}
}

// started begins with a thread, before it has executed anything; executed is what it counts from.
func (s *sampler) started(t thread, executed int64) *sampled {
	d := &sampled{at: executed, rate: s.rate, row: abp.Sampling{Thread: uint32(t.Num())}}
	s.threads[t] = d
	if s.away {
		d.rested.away = true
		return d
	}
	s.period(d)
	t.Rest(true)
	return d
}

// length is how long a thread's next burst is. By what was recorded, so that there are as many at each rate: it is their number that shares are as good as.
func (s *sampler) length(d *sampled) int64 {
	if s.warm {
		return min(max(d.total/perWarm, leastWarm), mostBurst)
	}
	return min(max(int64(float64(d.total)*d.rate/perBurst), leastBurst), mostBurst)
}

// period lays a period out.
//
// What was left of the last one when it was asked about is part of the next.
func (s *sampler) period(d *sampled) {
	d.burst = s.length(d)
	rest := max(int64(float64(d.burst)/d.rate)-d.burst, 0)
	before := s.rng.Int64N(rest + 1)
	d.left += d.tail + before
	d.tail = rest - before
}

// look counts what a thread has executed since it was looked at last.
func (d *sampled) look(executed int64, open bool) {
	n := executed - d.at
	d.at = executed
	if d.open {
		d.left -= n
		d.total += n
		if d.recording {
			d.row.Recorded += uint64(n)
		} else if !d.rested.away {
			d.row.Passed += uint64(max(n, 0))
		}
	}
	d.open = open
}

// change ends or begins a burst of a thread that waits, if it has executed what it had to until then, or nearly: its place
// needs no exactness, which the last few requests would be for. It tells whether one has ended.
//
// Where threads overwrite their records, a burst that finds less than a quarter of the ring free is left out: what is passed
// over is counted in instructions, where of what is overwritten only the words are known.
func (s *sampler) change(t thread, d *sampled, ring *cab.Ring) (ended bool) {
	// A burst ends where it is to, as recorded code counts in one word: one that ended early where code takes a word dry would take less of that code.
	if near := d.burst / beginsNearly; !d.open || d.left > near || d.recording && d.left > d.burst/endsNearly {
		return false
	}
	if !d.recording && s.leaves && ring != nil && ring.Crowded() {
		d.left += d.burst
		s.period(d)
		d.skipped++
		return false
	}
	if d.recording = !d.recording; d.recording {
		// All bursts are as long, however early they begin: how early is the code's to say.
		d.tail += d.left
		d.left = d.burst
		d.row.Bursts++
		t.Rest(false)
		return false
	}
	t.Rest(true)
	s.period(d)
	return true
}

// adapt follows what a thread's ring says behind a burst, and tells whether the rate has changed: it halves where
// words were overwritten or half the ring waits to be consumed, and doubles where for some bursts next to nothing has waited.
func (s *sampler) adapt(d *sampled, ring *cab.Ring) bool {
	times, _ := ring.Lost()
	waiting, of := ring.Waiting()
	behind := times > d.times || d.skipped > 0 || 2*waiting >= of
	d.times, d.skipped = times, 0
	if d.calm++; 8*waiting > of {
		d.calm = 0
	}
	switch {
	case behind && d.rate > leastRate:
		d.rate /= 2
	case d.calm >= calmBursts && d.rate < mostRate:
		d.rate *= 2
	default:
		return false
	}
	d.calm = 0
	return true
}

// sample has a thread that waits begin or end a burst if it is time to, brings its counts up to date in any case, and
// hands what a burst has recorded to the processing threads. It stands before addr.
func (ps *process) sample(t thread, addr uint64) {
	im := ps.image
	d := im.budget.sampled(t)
	if d != nil && ps.rest != nil {
		ps.restSample(t, d)
		return
	}
	if d == nil {
		return
	}
	before := d.recording
	ended := im.budget.sampler.change(t, d, im.rings[t])
	if d.recording && !before {
		ps.sampleCallers(t, addr)
	}
	if ended && im.rings[t] != nil {
		ps.sampleBurst(t, d)
	}
}

// sampleCallers notes who had called whom where a burst begins, at addr.
func (ps *process) sampleCallers(t thread, addr uint64) {
	im := ps.image
	if im.rings[t] == nil || !ps.wantsCallers() {
		return
	}
	ps.makeStacks()
	r := t.Registers(addr)
	if words := im.stacks.Words(&r); words != nil {
		t.Mark(records.Callers(nil, words)...)
	}
}

// makeStacks begins to know of callers; false if it has before.
func (ps *process) makeStacks() bool {
	im := ps.image
	if im.stacks != nil {
		return false
	}
	im.stacks = stacks.New(im.tables.Symbols, im.tables, im.p, ps.logf)
	return true
}

// sampleBurst hands what a burst has recorded to the processing threads.
func (ps *process) sampleBurst(t thread, d *sampled) {
	im := ps.image
	if im.rings[t] == nil {
		return
	}
	t.Mark(records.Mark(records.MarkGap, 0))
	// A row begins with a chunk, and with a frame.
	chunk, empty := t.Publish()
	if !empty {
		return
	}
	s := im.budget.sampler
	changed := s.adapts && !s.away && s.adapt(d, im.rings[t])
	// Bursts of a row count by their lengths: those of others are another row's.
	cut := changed || s.away && ps.rest.length(s) != d.burst
	if !cut && !s.rowIsFull(&d.row) {
		return
	}
	sampleRow(im, d, im.rings[t])
	d.before.Recorded += d.row.Recorded
	d.before.Passed += d.row.Passed
	d.before.Bursts += d.row.Bursts
	d.before.ByTime += d.row.ByTime
	d.row = abp.Sampling{Thread: d.row.Thread, Chunk: chunk}
	d.lost.times, d.lost.words = im.rings[t].Lost()
	im.writer.CutFrame(t.Num(), chunk)
	if changed {
		d.left, d.tail = 0, 0
		s.period(d)
	}
}

// rowIsFull tells whether a row is about enough.
func (s *sampler) rowIsFull(r *abp.Sampling) bool {
	if s.leaves {
		return r.Bursts >= leftBursts && r.Recorded >= leftRecorded
	}
	return r.Bursts >= rowBursts && r.Recorded >= rowRecorded
}

// sampleRow writes what is known of a thread's sampling so far. A later row of the same thread and chunk replaces it.
func sampleRow(im *image, d *sampled, ring *cab.Ring) {
	times, words := ring.Lost()
	d.row.Lost, d.row.LostWords = times-d.lost.times, words-d.lost.words
	im.writer.AddSampling(d.row)
}

// sampleRows writes it of all threads every now and then, for whoever reads a recording that was killed.
func sampleRows(im *image, now time.Time) {
	if im.budget == nil || im.budget.sampler == nil || now.Sub(im.sampled) < time.Second {
		return
	}
	im.sampled = now
	for t, ring := range im.rings {
		// As of its last request: what a thread that runs has executed is known to a block only.
		if d := im.budget.sampler.threads[t]; d != nil {
			sampleRow(im, d, ring)
		}
	}
}

// sampleEnd is about a thread that has ended, and returns what was recorded of it in all; nil: everything.
func (ps *process) sampleEnd(t thread) *abp.Sampling {
	im := ps.image
	if im.budget == nil || im.budget.sampler == nil {
		return nil
	}
	d := im.budget.sampled(t)
	if ring := im.rings[t]; ring != nil {
		if ps.rest != nil {
			ps.restEnds(t) // one that has executed another program lives on
			ps.restPassed(d)
		}
		sampleRow(im, d, ring)
		ps.lost.times += d.row.Lost
		ps.lost.words += d.row.LostWords
	}
	delete(im.budget.sampler.threads, t)
	return &abp.Sampling{Recorded: d.before.Recorded + d.row.Recorded, Passed: d.before.Passed + d.row.Passed, Bursts: d.before.Bursts + d.row.Bursts, ByTime: d.before.ByTime + d.row.ByTime}
}

// overwrites tells whether a thread that finds no room in its ring overwrites its latest records and has bursts left out, instead of waiting. That is
// for rates that adapt, which go by it, and for bursts by time, whose threads are to be away soon.
func (r *run) overwrites() bool {
	o := r.opts
	return r.samples() && (o.Config.SampleRate().Auto || o.SampleBy == SampleByTime || slices.Contains(o.Engine, overwriteBursts))
}

// warms tells whether something goes by what caches hold.
func (r *run) warms() bool {
	return slices.Contains(r.opts.Engine, fewBursts) || slices.ContainsFunc(r.opts.Analyses, func(a live.Spec) bool { return a.Kind == "cache" || a.Kind == "reuse" })
}

// wantsCallers tells whether somebody asks who had called whom where bursts begin.
func (r *run) wantsCallers() bool {
	o := r.opts
	if slices.Contains(o.Engine, noCallers) {
		return false
	}
	return len(o.Analyses) == 0 || o.KeepRecords || slices.ContainsFunc(o.Analyses, func(a live.Spec) bool { return a.Kind == live.KindCalls })
}

// samples tells whether only a part is to be recorded.
func (r *run) samples() bool {
	o := r.opts
	return !o.Config.SampleRate().All() && (o.Only == OnlyAll || o.Only == OnlyBlocks)
}
