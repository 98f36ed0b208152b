package session

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"alleria/cab"
	"alleria/cab/topology"
	"alleria/internal/sys"
)

// placing keeps the processing threads on processors that share a cache with the program's threads, where the machine leaves a choice. It has a
// goroutine of its own, as tuning has, and none where there is nothing to choose. Threads of the program are left alone.
type placing struct {
	run     *run
	allowed []int
	pool    interface {
		Place(cpus []int) (bound int, err error)
		Measure(tsc uint64) cab.Measures
	}
	runOn func(pid, most int) []int
	live  atomic.Pointer[[]int] // processes of the tree
	now   []int                 // what was chosen last; nil: anywhere
	stop  chan struct{}
	done  sync.WaitGroup

	mu   sync.Mutex
	text string // guarded by mu
}

const (
	// placePeriod is how often it is looked where the program's threads run. The scheduler moves those that compute seldom farther than within a cache.
	placePeriod = 250 * time.Millisecond
	// placeProcesses and placeThreads of each are looked at.
	placeProcesses, placeThreads = 16, 32
)

// machineCPUs reads what the kernel says of the processors.
func machineCPUs() topology.Machine {
	const dir = "/sys/devices/system/cpu"
	return topology.Read(processorFiles{os.DirFS(dir), dir})
}

// processorFiles is a folder of short files that the kernel makes as they are read.
type processorFiles struct {
	fs.FS
	dir string
}

// ReadFile is fs.ReadFile's.
func (f processorFiles) ReadFile(name string) ([]byte, error) {
	return sys.ReadProc(filepath.Join(f.dir, name))
}

// startPlacing begins with it.
func (r *run) startPlacing() *placing {
	pl := &placing{run: r, allowed: sys.Allowed(), pool: r.proc.pool, runOn: sys.RunOn, stop: make(chan struct{})}
	if r.opts.NoAffinity {
		pl.say("anywhere: that was asked for")
		return pl
	}
	if yes, why := r.processors().Chooses(pl.allowed); !yes {
		pl.say("anywhere: " + why)
		return pl
	}
	pl.say("anywhere: nothing has run yet")
	pl.done.Add(1)
	go pl.loop()
	return pl
}

func (pl *placing) loop() {
	defer pl.done.Done()
	timer := time.NewTicker(placePeriod)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			pl.tick()
		case <-pl.stop:
			return
		}
	}
}

// tick looks where the program runs and follows it.
func (pl *placing) tick() {
	var producers []int
	if pids := pl.live.Load(); pids != nil {
		for _, pid := range (*pids)[:min(len(*pids), placeProcesses)] {
			producers = append(producers, pl.runOn(pid, placeThreads)...)
		}
	}
	if len(producers) == 0 { // they will go on where they were, as a rule
		return
	}
	c := pl.run.processors().Choose(topology.Facts{Allowed: pl.allowed, Producers: producers, Threads: pl.pool.Measure(sys.TSC()).Working})
	if slices.Equal(c.CPUs, pl.now) && (c.CPUs != nil || pl.now == nil) {
		if c.CPUs == nil {
			pl.say("anywhere: " + c.Why)
		}
		return
	}
	pl.now = c.CPUs
	where, text := c.CPUs, "on processors "+topology.FormatList(c.CPUs)
	if where == nil {
		where, text = pl.allowed, "anywhere"
	}
	if _, err := pl.pool.Place(where); err != nil {
		pl.say("anywhere: " + err.Error())
		return
	}
	pl.say(text + ": " + c.Why)
}

// say keeps where they are, and why, and has a change in the log.
func (pl *placing) say(text string) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if text != pl.text && pl.run.opts.Log != nil {
		fmt.Fprintf(pl.run.opts.Log, "processing threads %s\n", text)
	}
	pl.text = text
}

// publish is told which processes there are; pl may be nil.
func (pl *placing) publish(live []*process) {
	if pl == nil {
		return
	}
	pids := make([]int, 0, len(live))
	for _, ps := range live {
		pids = append(pids, ps.pid)
	}
	pl.live.Store(&pids)
}

// close ends it.
func (pl *placing) close() {
	if pl != nil {
		close(pl.stop)
		pl.done.Wait()
	}
}

// where is what run.json says; pl may be nil.
func (pl *placing) where() string {
	if pl == nil {
		return ""
	}
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return pl.text
}

// moreProcs has the runtime run one goroutine more at a time than there are processors, where entries are consumed and the start is over. It is called again and again.
//
// The tracer's goroutine sleeps in the kernel most of the time and keeps what it needs to run meanwhile, as the runtime's monitor seldom looks (internal/monitor). On two
// processors all else took turns: two processing threads, an analysis that has two goroutines, the collector. A user's GOMAXPROCS stays what it is, and so does one processor.
// From the beginning on it made starts of 10 ms 1.03 times as long.
func (r *run) moreProcs(now time.Time) {
	if r.costs.procs != 0 || now.Sub(r.started) < startOver {
		return
	}
	r.costs.procs = runtime.GOMAXPROCS(0)
	if o := r.opts; r.costs.procs > 1 && os.Getenv("GOMAXPROCS") == "" && o.Only != OnlyTranslate && o.Only != OnlyCount && !slices.Contains(o.Engine, fewerProcs) {
		runtime.GOMAXPROCS(r.costs.procs + 1)
	}
}

// procsAgain takes that back.
func (r *run) procsAgain() {
	if n := r.costs.procs; n != 0 && n != runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(n)
	}
}
