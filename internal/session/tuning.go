package session

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"alleria/abp"
	"alleria/cab"
	"alleria/cab/tuner"
	"alleria/internal/sys"
)

// defaultPeriod is how often it is decided. Programs that run for a second or two are to gain by it as well; a decision takes some
// ten microseconds.
const defaultPeriod = 100 * time.Millisecond

// tuning measures, has the tuner decide, carries out, and keeps the log. It has a goroutine of its own: that of Record waits
// for the target.
type tuning struct {
	run    *run
	tuner  *tuner.Tuner
	period time.Duration
	most   int
	events chan string
	done   sync.WaitGroup
	stop   chan struct{}
	began  atomic.Int64               // application threads that did; the goroutine of Record adds
	live   atomic.Pointer[[]int]      // processes of the tree; of the goroutine of Record
	was    reading                    // when it was measured last
	idle   int                        // periods without a record
	last   abp.Adaptation             // line of the log
	apps   map[int]applicationReading // by process
}

// reading is what is measured, from the beginning.
type reading struct {
	at      time.Time
	tsc     uint64
	pool    cab.Measures
	busy    time.Duration
	own     time.Duration
	app     time.Duration
	disk    uint64
	written int64
	began   int64
	loadAt  time.Time // when busy, own, app and disk were read
}

// applicationReading is of one process.
type applicationReading struct {
	time time.Duration
	disk uint64
}

// startTuning begins to adapt the pool, which has so many processing threads, to the load.
func (r *run) startTuning(threads, most int) *tuning {
	th := r.opts.Thresholds.orDefaults()
	t := &tuning{run: r, tuner: tuner.New(th), period: r.opts.TunerPeriod, most: most, events: make(chan string, 4), stop: make(chan struct{}),
		apps: make(map[int]applicationReading)}
	if t.period <= 0 {
		t.period = defaultPeriod
	}
	t.was = t.measurePool()
	t.measureLoad(&t.was)
	t.write(&abp.Adaptation{Event: abp.EventStart, Phase: string(tuner.RampUp), Next: string(tuner.RampUp), Threads: threads, Limit: most, Load: abp.Load{Processors: sys.Processors()},
		Settings: &abp.AdaptiveSettings{Period: t.period.Seconds(), TP: th.TP, TAY1: th.TAY1, TAY2: th.TAY2, TAZ: th.TAZ, Most: most}})
	t.done.Add(1)
	go t.loop()
	return t
}

// loop decides once a period.
func (t *tuning) loop() {
	defer t.done.Done()
	timer := time.NewTicker(t.period)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			t.tick(abp.EventTimer)
		case e := <-t.events:
			t.tick(e)
		case <-t.stop:
			t.tick(abp.EventEnd)
			return
		}
	}
}

// close ends it, with a last line in the log.
func (t *tuning) close() {
	close(t.stop)
	t.done.Wait()
	t.run.warn(t.run.emit.CloseAdapted())
}

// tell reports an event of another goroutine's. One that finds others waiting is in their measures.
func (t *tuning) tell(event string) {
	select {
	case t.events <- event:
	default:
	}
}

// threadBegan is told of each application thread whose ring was added, which brings its buffers with it; t may be nil.
func (t *tuning) threadBegan() {
	if t != nil {
		t.began.Add(1)
	}
}

// publish is told which processes there are; t may be nil.
func (t *tuning) publish(live []*process) {
	if t == nil {
		return
	}
	pids := make([]int, 0, len(live))
	for _, ps := range live {
		pids = append(pids, ps.pid)
	}
	t.live.Store(&pids)
}

// tick decides, carries out and writes a line.
func (t *tuning) tick(event string) {
	now := t.measurePool()
	if event == abp.EventTimer && t.quiet(&now) {
		t.was.at, t.was.tsc, t.was.pool, t.was.written = now.at, now.tsc, now.pool, now.written
		return
	}
	t.measureLoad(&now)
	f, a := t.since(&now)
	a.Event = event
	t.was = now
	pool := t.run.proc.pool
	if event == abp.EventTimer {
		d := t.tuner.Tick(f)
		a.Phase, a.Next, a.Why, a.Limit = string(d.Phase), string(d.Next), d.Why, d.Limit
		switch d.Action {
		case tuner.Add:
			switch created, ok := pool.Resume(); {
			case created:
				a.Action, a.Threads = abp.ActionCreate, a.Threads+1
			case ok:
				a.Action, a.Threads, a.Suspended = abp.ActionResume, a.Threads+1, a.Suspended-1
			}
		case tuner.Suspend:
			if pool.Suspend() {
				a.Action, a.Threads, a.Suspended = abp.ActionSuspend, a.Threads-1, a.Suspended+1
			}
		}
		if d.Buffers > 0 && t.run.opts.Buffers == 0 {
			a.Added = pool.Widen(d.Buffers * t.run.bufferChunks())
			a.Buffers += a.Added
		}
	} else {
		p := string(t.tuner.Phase())
		a.Phase, a.Next, a.Limit = p, p, f.Limit()
	}
	t.write(a)
}

// quiet tells whether nothing has been recorded for so long that there is nothing to decide: then a period costs some microseconds, which
// programs notice that run natively until a window opens.
func (t *tuning) quiet(now *reading) bool {
	if now.pool.Chunks != t.was.pool.Chunks || now.pool.Ticks != t.was.pool.Ticks || now.began != t.was.began {
		t.idle = 0
		return false
	}
	t.idle++
	return t.idle > idlePeriods && t.tuner.Phase() == tuner.Stable
}

// idlePeriods is more than the tuner looks back.
const idlePeriods = 20

// bufferChunks is how many chunks of a ring are a buffer of the paper's: a quarter of what a ring begins with.
func (r *run) bufferChunks() int { return max(r.firstChunks()/tuner.FirstBuffers, 1) }

// since is what has happened since the last measurement.
func (t *tuning) since(now *reading) (tuner.Facts, *abp.Adaptation) {
	was := &t.was
	period := now.at.Sub(was.at)
	seconds := max(period.Seconds(), 1e-9)
	processors := sys.Processors()
	// Ticks of the time-stamp counter by themselves: its frequency need not be known.
	atwt := time.Duration(float64(now.pool.Ticks-min(was.pool.Ticks, now.pool.Ticks)) / float64(max(now.tsc-was.tsc, 1)) * float64(period))
	atwt += t.overwritten(now, period)
	own, app := now.own-was.own, max(now.app-was.app, 0)
	loaded := max(now.loadAt.Sub(was.loadAt).Seconds(), 1e-9)
	rate := func(d time.Duration) float64 { return max(d.Seconds()/loaded, 0) }
	round := func(v float64) float64 { return math.Round(v*1e5) / 1e5 }
	f := tuner.Facts{Period: period, PTIT: max(now.pool.Idle-was.pool.Idle, 0), ATWT: atwt, Working: now.pool.Working, Most: t.most,
		Processors: processors, Application: rate(app), Others: rate(now.busy - was.busy - own - app)}
	return f, &abp.Adaptation{Time: round(now.at.Sub(t.run.started).Seconds()), Period: round(period.Seconds()),
		Threads: now.pool.Working, Suspended: now.pool.Suspended, Broken: now.pool.Broken,
		Rings: now.pool.Rings, Buffers: now.pool.Buffers, Full: now.pool.Full, Began: int(now.began - was.began),
		PTIT: round(f.PTIT.Seconds()), ATWT: round(f.ATWT.Seconds()), Chunks: now.pool.Chunks - min(was.pool.Chunks, now.pool.Chunks),
		Load: abp.Load{Processors: processors, AppCPU: round(f.Application), OwnCPU: round(rate(own)), OtherCPU: round(f.Others),
			AppDisk: math.Round(float64(now.disk-min(was.disk, now.disk)) / loaded), Written: math.Round(float64(now.written-was.written) / seconds)}}
}

// overwritten is what a lossy ring's producers would have waited: they overwrite instead.
func (t *tuning) overwritten(now *reading, period time.Duration) time.Duration {
	lost := float64(now.pool.Lost - min(t.was.pool.Lost, now.pool.Lost))
	if lost == 0 {
		return 0
	}
	kept := float64(now.pool.Chunks-min(t.was.pool.Chunks, now.pool.Chunks)) * float64(t.run.chunk()/8)
	return time.Duration(lost / (lost + kept) * float64(period) * float64(max(now.pool.Rings, 1)))
}

// mostRead is of how many processes the times are read: each takes some ten microseconds. Those of others belong to "others".
const mostRead = 64

// measurePool reads what takes no system call.
func (t *tuning) measurePool() reading {
	m := reading{at: time.Now(), tsc: sys.TSC(), began: t.began.Load()}
	m.pool = t.run.proc.pool.Measure(m.tsc)
	if t.run.emit != nil {
		m.written = t.run.emit.Written()
	}
	return m
}

// measureLoad reads what the processors and disks did.
func (t *tuning) measureLoad(m *reading) {
	m.loadAt, m.own = time.Now(), sys.OwnTime()
	if busy, err := sys.BusyTime(); err == nil {
		m.busy = busy
	} else {
		m.busy = t.was.busy
	}
	if pids := t.live.Load(); pids != nil {
		for _, pid := range (*pids)[:min(len(*pids), mostRead)] {
			a := t.apps[pid]
			if d, err := sys.ProcessTime(pid); err == nil { // else it has ended: what it had is kept
				a.time = max(d, a.time)
			}
			if n, err := sys.ProcessDisk(pid); err == nil {
				a.disk = max(n, a.disk)
			}
			t.apps[pid] = a
		}
	}
	for _, a := range t.apps {
		m.app += a.time
		m.disk += a.disk
	}
}

// write writes a line, but for those of a time in which nothing happened.
func (t *tuning) write(a *abp.Adaptation) {
	same := a.Event == abp.EventTimer && a.Action == "" && a.Phase == a.Next && a.Chunks == 0 && a.Began == 0 && a.ATWT == 0 && a.AppDisk == 0 &&
		t.last.Chunks == 0 && t.last.Event == abp.EventTimer
	if same && a.Time-t.last.Time < 1 {
		return
	}
	t.last = *a
	if t.run.emit == nil {
		return
	}
	if err := t.run.emit.Adapted(a); err != nil && t.run.opts.Log != nil {
		fmt.Fprintln(t.run.opts.Log, err) // a disk that is full fails the profile as well, which is told of
	}
}
