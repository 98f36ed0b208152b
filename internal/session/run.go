package session

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"alleria/cab"
	"alleria/emit"
	"alleria/engine"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/symbols"
	"alleria/internal/sys"
	"alleria/window"
)

// run is one recording: the engine's client. Its methods run on the goroutine
// of Record.
//
// It outlives program images: an execve makes a new image within the same run, the windows
// staying as they are.
type run struct {
	opts   *Options
	tracer *engine.Tracer
	cache  *symbols.Cache
	// background is what is done while the target runs, and used at the end.
	background sync.WaitGroup
	cpuid      func() []sys.CPUIDLeaf // what the processor says of itself, read by then
	clock      sys.Clock              // started with the run
	emit       *emit.Run              // nil where nothing is emitted (translate, count)
	image      *image                 // the program image that runs now
	images     int
	counts     counts
	notes      []string
	over       atomic.Bool // recording is to end: a limit, a full disk, a signal to us
	why        atomic.Pointer[string]
	failed     atomic.Pointer[error] // of a processing thread
	waits      waits
	costs      costs
	disk       diskWatch
	started    time.Time
	windows    *window.Set // of the process, whatever it executes
	budget     *budget     // so too; nil where no event counts
	facts      reported
	threads    threadPlans
	selected   *selections
	watched    map[uint32]bool // system calls that the engine watches
	pending    []*window.Leaf  // events that the program being executed is
	// exceeded is by how much counts were, while the events that they are fire.
	exceeded map[*window.Leaf]uint64
}

// image is what belongs to one program image: from an execve to the next or to
// the end.
// Everything in it goes with the image; what lasts longer is in run.
type image struct {
	p       *engine.Process
	tables  *tables
	windows *window.Set
	events  *events
	budget  *budget // nil where no event counts instructions
	plans   plans
	writer  *emit.ProcessWriter
	pool    *cab.Pool
	rings   map[*engine.Thread]*cab.Ring
	marked  map[*engine.Thread]uint64 // the set of open windows last marked, plus 1
}

// waits sums up how long application threads waited for room in their rings.
// It is for the log: a target that waited long wants more processing threads.
type waits struct{ times, ticks uint64 }

// Started is engine.Client's: a program image stands before its first
// instruction.
//
// Order matters: the writer first, because tables write into it; events after tables, as
// they need symbols; the mode last, when it is known what there is to watch.
func (r *run) Started(p *engine.Process) error {
	r.images++
	im := &image{p: p, rings: make(map[*engine.Thread]*cab.Ring), marked: make(map[*engine.Thread]uint64)}
	r.image = im
	if err := r.openWriter(im); err != nil {
		return err
	}
	// Without a writer (translate, count) the output is one that drops all: tables
	// are needed for names all the same.
	im.tables = newTables(p.PID(), r.cache, output{im.writer}, askedImages(r.opts.Config))
	if _, _, err := im.tables.update(p.PID()); err != nil {
		return err
	}
	// These two have no windows: they run the whole program in one mode.
	switch r.opts.Only {
	case OnlyTranslate:
		p.SetMode(engine.ModePlain)
		return nil
	case OnlyCount:
		p.SetMode(engine.ModeCount)
		return nil
	}
	// A limit was reached in the program before: of this one nothing is recorded.
	if r.over.Load() {
		return nil
	}
	if recordsFlags(r.opts.Config) {
		p.KeepFlags()
	}
	return r.startWindows(im)
}

// startWindows makes what decides when the image is recorded, and starts it.
//
// Windows and counts belong to the process, as a user understands it: an execve
// keeps them, and only the first program begins with them as they are configured.
func (r *run) startWindows(im *image) error {
	first := r.windows == nil
	if first {
		r.windows = window.New(r.opts.Config)
	}
	im.windows = r.windows
	if r.selected == nil {
		r.selected = newSelections(r.opts.Config)
	}
	r.selected.see(im.tables)
	// Each program image has a profile of its own, so that the definitions are
	// written to each.
	output{im.writer}.windows(windowDefs(r.opts.Config))
	output{im.writer}.switches(im.windows)
	im.events = newEvents(r, im)
	if first {
		r.budget = newBudget(r.windows)
	}
	if im.budget = r.budget; im.budget != nil {
		im.p.CountExecuted(im.budget.metrics()...)
	}
	if first {
		r.facts.started = time.Now()
		r.changed(nil, im.windows.Start(), 0)
	} else {
		r.executed()
	}
	if err := im.events.arm(); err != nil {
		return err
	}
	// What is mapped at the start has been loaded as well: Load events fire for the
	// main executable and its interpreter.
	r.loaded(nil, im.tables.symbols.Images())
	r.setMode()
	r.watch()
	return nil
}

// changed carries out transitions: marks, rows, and what blocks record.
//
// t is the thread that made the change, nil where none did; addr its next instruction. t gets
// its mark at once, others when they next enter code of the new mode: a mark of theirs at
// this very moment could not be placed between their instructions.
func (r *run) changed(t *engine.Thread, changes []window.Change, addr uint64) {
	im := r.image
	if len(changes) == 0 {
		return
	}
	for _, c := range changes {
		im.events.countGone(&c)
		output{im.writer}.event(c, t, addr, im.budget.counted())
		// Before renewed budgets are given out: they are counted from here.
		if c.Opened && im.budget != nil {
			im.budget.windowOpened(c.Index)
		}
	}
	if im.p.Mode() == engine.ModeNative {
		r.warn(r.refresh()) // what was mapped meanwhile was not reported
	}
	r.setMode()
	if im.budget != nil {
		im.p.CountExecuted(im.budget.metrics()...)
		im.p.Rebudget()
	}
	if t != nil {
		r.Entering(t)
	}
	r.watch()
	switch {
	case im.events == nil:
	case im.windows.Done():
		im.events.disarm()
		im.p.LetRun()
	default:
		im.events.count()
	}
	r.countsReached(t, addr)
}

// setMode makes the target run as the open windows ask.
//
// Native is the aim whenever nothing is open and nothing counts: the target then costs
// nothing. Windows that keep reopening stay in the plain variant, since going native and
// coming back costs more than running translated for a while.
func (r *run) setMode() {
	im := r.image
	defer func() { r.costs.clock(im.p.Mode(), time.Now()) }()
	if im.windows.Open() != 0 && im.p.Mode() == engine.ModeNative {
		// What was loaded while nothing was translated may not have been reported.
		// Before the windows are looked at: it may open or close some.
		r.ImagesChanged(im.p)
	}
	open := im.windows.Open()
	switch {
	case r.opts.Only == OnlyTranslate || r.opts.Only == OnlyCount:
	case open != 0:
		r.usePlans(open)
		im.p.SetMode(engine.ModeRecord)
	case im.budget != nil && im.budget.waiting():
		im.p.SetMode(engine.ModePlain)
	case im.windows.Reopens():
		im.p.StayTranslated()
		im.p.SetMode(engine.ModeNative)
	default:
		im.p.SetMode(engine.ModeNative)
	}
}

// Entering is engine.Client's: a thread is about to run in a mode that may be
// new to it.
// The mark is left out if the thread's last one says the same.
func (r *run) Entering(t *engine.Thread) {
	im := r.image
	if im.windows == nil {
		return
	}
	if im.budget != nil {
		im.budget.renew(t)
	}
	if im.pool == nil {
		return
	}
	open := im.windows.Open()
	if im.marked[t] == open+1 {
		return
	}
	im.marked[t] = open + 1
	t.Mark(layout.Mark(layout.MarkWindows, open), sys.TSC())
}

// Notified is engine.Client's: a thread is about to execute a watched address.
// These are addresses that help to find events, not events themselves.
func (r *run) Notified(t *engine.Thread, addr uint64, regs engine.NotifiedRegs) {
	im := r.image
	if im.events == nil {
		return
	}
	im.events.at(addr, regs)
}

// Reached is engine.Client's: events have happened as often as was asked for.
// The counts of all places are set anew afterwards: windows may have changed.
func (r *run) Reached(t *engine.Thread, pl *engine.Place, addr uint64) {
	im := r.image
	r.changed(t, im.windows.Happen(im.events.reached(t, pl)...), addr)
	im.events.count()
}

// Toggled is engine.Client's: code has opened and closed the one window that it
// may.
//
// The window's state follows what code has done already. Its openings and closings are
// marks in the ring, from which the processing threads make the rows.
func (r *run) Toggled(t *engine.Thread, open bool, times uint64) {
	im := r.image
	sw := im.events.toggles
	// No mark is made here: the code that toggled has written it.
	im.windows.Switched(sw, open, times)
	im.events.toggled(sw, open)
	im.marked[t] = im.windows.Open() + 1
	r.setMode()
	im.events.count()
}

// BudgetLow is engine.Client's: a count may be reached. Events fire one at a time:
// the first may open a window that disarms or arms the next.
func (r *run) BudgetLow(t *engine.Thread, addr uint64) {
	im := r.image
	if im.budget == nil {
		// Nobody counts any more; a thread with an old share is not to ask again.
		for m := range engine.NumMetrics {
			t.SetBudget(m, unlimited)
		}
		return
	}
	im.budget.freeze()
	r.exceeded = im.budget.exceeded(t)
	r.countsReached(t, addr)
	r.exceeded = nil
	im.budget.thaw()
	im.budget.renew(t)
}

// countsReached fires the events whose counts a thread that stands before addr has
// reached: for a budget that is low, and wherever a window has opened or closed, since
// a count that is reached already is one more event at the same place.
func (r *run) countsReached(t *engine.Thread, addr uint64) {
	im := r.image
	if im.budget == nil || t == nil {
		return
	}
	for l := im.budget.reached(t); l != nil; l = im.budget.reached(t) {
		// The overshoot belongs to these changes only, and is written with them. There is
		// none of a count that had been reached before its event was armed.
		over := r.exceeded[l]
		delete(r.exceeded, l)
		changes := im.windows.Happen(l)
		for i := range changes {
			changes[i].Overshoot = over
		}
		r.changed(t, changes, addr)
	}
}

// ImagesChanged is engine.Client's.
// Something was mapped, unmapped or protected anew; mostly it is no image.
func (r *run) ImagesChanged(p *engine.Process) {
	r.warn(r.refresh())
}

// Plan is engine.Client's.
// Without a planner nothing is to be recorded, and the answer is not used.
func (r *run) Plan(_ *engine.Process, plan int, ins []x86.Insn, want []engine.Want) uint32 {
	im := r.image
	if !im.plans.any() {
		return 0
	}
	return r.planner(plan).plan(ins, want)
}

// ThreadStarted is engine.Client's.
//
// The ring is handed to the pool last: its first words, the thread's and the windows'
// marks, must be there before anybody consumes it.
func (r *run) ThreadStarted(t *engine.Thread) error {
	im := r.image
	// Before the first block is translated for it.
	t.SetPlan(r.planOf(t))
	if im.pool != nil {
		ring := cab.NewRing(t.SlotMemory(), r.ringMost()/r.chunk(), im.p.Blocks().Settled)
		im.rings[t] = ring
		t.Mark(threadMark(t, 1)...)
		r.Entering(t)
		im.pool.Add(ring, t)
	}
	r.created(t)
	return nil
}

// ThreadEnded is engine.Client's.
// The pool drains the ring before Remove returns, so that the slot may be used
// again.
func (r *run) ThreadEnded(t *engine.Thread) {
	im := r.image
	if r.opts.Only == OnlyCount {
		r.counts.add(im.tables, t)
	}
	if im.budget != nil {
		im.budget.forget(t, r.facts.executing && t.Num() == r.facts.executor)
	}
	ring := im.rings[t]
	if ring == nil {
		return
	}
	t.Mark(threadMark(t, 0)...)
	im.pool.Remove(ring)
	times, ticks := ring.Waits()
	r.waits.times += times
	r.waits.ticks += ticks
	delete(im.rings, t)
	delete(im.marked, t)
}

// Ended is engine.Client's: a program image is gone.
// It comes once an image, also when the target was killed.
func (r *run) Ended(p *engine.Process) {
	im := r.image
	r.costs.clock(p.Mode(), time.Now())
	r.costs.sample(im)
	if im.events != nil {
		im.events.collect()
	}
	if im.windows != nil {
		r.selected.search(im.tables)
		// On an execve windows stay open: the profile gets a row that says why its
		// part ends.
		changes := im.windows.Note(false, "the process executed another program")
		if !r.facts.executing {
			changes = im.windows.Finish()
		}
		for _, c := range changes {
			im.events.countGone(&c)
			output{im.writer}.event(c, nil, 0, im.budget.counted())
		}
	}
	r.closeWriter(im)
}

// Poll is engine.Client's: limits are looked at.
// The engine calls it every now and then, whatever the target does.
func (r *run) Poll(p *engine.Process) {
	im := r.image
	now := time.Now()
	r.costs.clock(p.Mode(), now)
	r.costs.memory(im, now)
	r.limits(im)
	// The flag may have been set by any goroutine; what follows from it is done
	// here, on the one that may change the windows.
	if r.over.Load() && im.windows != nil && !im.windows.Done() {
		r.changed(nil, im.windows.Finish(), 0)
		im.events.disarm()
		r.watch()
		p.SetMode(engine.ModeNative)
		p.LetRun()
	}
}

// warn notes something that the user has to be told when the run is over.
func (r *run) warn(err error) {
	if err != nil {
		r.note(err.Error())
	}
}

// note keeps a sentence for the end of the run, once.
func (r *run) note(text string) {
	for _, n := range r.notes {
		if n == text {
			return
		}
	}
	r.notes = append(r.notes, text)
	if r.emit != nil {
		r.emit.Note(text)
	}
}

// memoryOf opens the memory of a process for reading, nil if that is not
// possible.
// It must be opened while the process may still be read: a program that makes
// itself undumpable closes it to latecomers.
func memoryOf(pid int) *os.File {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return nil
	}
	return f
}
