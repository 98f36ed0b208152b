package session

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"alleria/cab"
	"alleria/cab/topology"
	"alleria/config"
	"alleria/emit"
	"alleria/engine"
	"alleria/engine/x86"
	"alleria/internal/records"
	"alleria/internal/session/executables"
	"alleria/internal/session/plan"
	"alleria/internal/session/stacks"
	"alleria/internal/symbols"
	"alleria/internal/sys"
	"alleria/proctree"
	"alleria/window"
)

// run is one recording: what the engine's client does. Its methods run on the goroutine
// of Record.
type run struct {
	opts   *Options
	tracer interface { // *engine.Tracer
		DetachAll()
		Started(pid int) (sys.Start, error)
	}
	cache *symbols.Cache
	// background is what is done while the target runs, and used at the end.
	background sync.WaitGroup
	machine
	emit    *emit.Run // nil where nothing is emitted (translate, count)
	proc    processing
	matcher *config.Matcher  // of all windows
	byPID   map[int]*process // that are followed
	killed  []*process       // some that were, in the order in which they were killed
	crossings
	tree      *proctree.Tree // numbers the processes, and has all that there were
	debuggers debuggers
	began     bool // some program image was traced
	messages
	outcome
	counted []*process // whose instructions were counted
	shared
	missed   missed
	waits    waits
	lost     loss // of lossy rings
	costs    costs
	disk     diskWatch
	started  time.Time
	selected *selections
}

// machine is what is asked of the machine once a run.
type machine struct {
	cpuid      func() []sys.CPUIDLeaf // what the processor says of itself
	systemDirs func() []string        // where the system keeps its libraries
	exe        func(pid int) string   // what a process executes, "" if that cannot be read
	files      executables.Files      // that were executed, for those that exe need not be asked for
	maps       func(pid int) ([]byte, error)
	clock      sys.Clock // started with the run
	processors func() topology.Machine
	garbage    *collector // nil: the runtime's own pace, in tests
}

// messages is what the user is told.
type messages struct {
	analysed   []analysed
	notes      []string
	told       []string // of these, what was said as the program began
	lacking    []string // of these, what says that something is not in the recording
	unrecorded unrecorded
}

// outcome is how the recording ends. Any goroutine may set it.
type outcome struct {
	armed  armings
	over   atomic.Bool            // it is to end: a limit, a full disk, a signal to us
	why    atomic.Pointer[string] // the first reason
	failed atomic.Pointer[error]  // of a processing thread
}

// image is what belongs to one program image: from an execve to the next or to
// the end.
// Everything in it goes with the image; what lasts longer is in run.
type image struct {
	p       target
	tables  *plan.Tables
	windows *window.Set
	events  *events
	budget  *budget     // nil where no event counts instructions
	capture *intercepts // nil where no calls are captured
	plans   plans
	writer  *emit.ProcessWriter
	beside  *beside // analyses; nil: records are written
	rings   map[thread]*cab.Ring
	marked  map[thread]uint64 // the set of open windows last marked, plus 1
	sampled time.Time         // when rows of sampling were written last
	entry   funcEntry         // the one that is being told of
	space   *addressSpace     // nil: nobody asks for it
	stacks  *stacks.Stacks    // nil: nobody has asked yet
	took    *plan.Names       // what numbers mean that were taken over; nil: none were
	opened  *plan.Names       // the same, once its images are opened ahead
}

// funcEntry is a thread about to execute an address that is watched, with its stack pointer.
type funcEntry struct {
	t        thread
	addr, sp uint64
}

// caller is where the function returns to whose call made a change, 0 for other events. The stack is read here and not at each
// entry: most change nothing.
func (im *image) caller(c window.Change, t thread, addr uint64) uint64 {
	a := im.entry
	if t == nil || a.t != t || a.addr != addr || c.Cause == nil || c.Cause.Kind != config.EventCall {
		return 0
	}
	if l, _ := im.tables.Symbols.ByAddr(addr); l != nil && l.Image.Entry != 0 && l.Image.Entry == addr-l.Bias {
		return 0 // it is come to from the kernel: the number of arguments lies there
	}
	var b [8]byte
	if n, _ := im.p.ReadAt(b[:], int64(a.sp)); n < len(b) { // jumped to with anything for a stack
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

// waits sums up how long application threads waited for room in their rings.
// It is for the log: a target that waited long wants more processing threads.
type waits struct{ times, ticks uint64 }

// Started is engine.Handler's: a program image stands before its first
// instruction.
//
// Order matters: the writer first, because tables write into it; events after tables, as
// they need symbols; the mode last, when it is known what there is to watch.
func (ps *process) Started(p target) error {
	im := &image{p: p, rings: make(map[thread]*cab.Ring), marked: make(map[thread]uint64)}
	ps.image = im
	if err := ps.openWriter(im); err != nil { // a full disk, say: the program is none the worse for it
		ps.writingFailed(err)
	}
	im.space = newAddressSpace(ps.opts, im)
	o := plan.Options{PID: p.PID(), Exe: ps.exe(p.PID()), Maps: im.space.reads(ps.maps), Cache: ps.cache, Writer: im.writer}
	if ps.opts.Only == OnlyTranslate { // nobody asks for names, nor what images there are: their list stays empty
		im.tables = plan.NewTables(o)
		p.SetMode(engine.ModePlain)
		return nil
	}
	// Without a writer (count) tables write nothing: they are needed for names all the same.
	o.SystemDirs, o.Asked = ps.systemDirs(), plan.Asked(ps.opts.Config)
	o.ByTypes = slices.ContainsFunc(ps.opts.Config.Windows, func(w *config.Window) bool { return w.Profile.SelectsTypes() })
	im.tables = plan.NewTables(o)
	loaded, _, err := im.tables.Update()
	if err != nil {
		return err
	}
	ps.keepTranslated(loaded) // one that the program was linked with
	// Neither this nor translation has windows: they run the whole program in one mode.
	if ps.opts.Only == OnlyCount {
		ps.counts.begun++
		if ps.opts.CountCalls {
			ps.counts.countCalls(p, im.tables, ps.opts.CountEdges)
		}
		p.SetMode(engine.ModeCount)
		return nil
	}
	// A limit was reached in the program before: of this one nothing is recorded.
	if ps.over.Load() {
		return nil
	}
	if plan.RecordsFlags(ps.opts.Config) {
		p.KeepFlags()
	}
	return ps.startWindows(im)
}

// startWindows makes what decides when the image is recorded, and starts it.
//
// Windows and counts belong to the process, as a user understands it: an execve
// keeps them, and only the first program begins with them as they are configured.
func (ps *process) startWindows(im *image) error {
	first := ps.windows == nil
	if first {
		ps.newWindows()
	}
	im.windows = ps.windows
	ps.selected.see(im.tables)
	// Each program image has a profile of its own, so that the definitions are
	// written to each.
	output{im.writer}.windows(windowDefs(ps.opts.Config))
	im.events = newEvents(ps, im)
	im.capture = newIntercepts(ps, im, first)
	if first {
		ps.budget = ps.newBudget()
		ps.rest = ps.newRester()
	}
	output{im.writer}.switches(im.windows, ps.budget == nil)
	if im.budget = ps.budget; im.budget != nil {
		im.p.CountExecuted(im.budget.toCount()...)
	}
	if first {
		ps.facts.started = time.Now()
		ps.changed(nil, ps.begin(), 0)
		ps.executedUnseen()
	} else {
		ps.executed()
	}
	if err := im.events.arm(); err != nil {
		return err
	}
	if ps.number == 1 { // what others lack, somebody else may have
		ps.tell(im.events.missingAtStart())
	}
	// What is mapped at the start has been loaded as well: Load events fire for the
	// main executable and its interpreter.
	ps.loaded(nil, im.tables.Symbols.Images())
	im.capture.look()
	ps.prepareNames(im.tables.Symbols.Images())
	ps.setMode()
	ps.watch()
	if first {
		ps.offer()
	}
	if first && ps.done() { // others' events had closed its windows before it began
		im.events.disarm()
		im.p.LetRun(ps.fateWhenDone())
	}
	return nil
}

// changed carries out transitions: marks, rows, and what blocks record.
//
// t is the thread that made the change, nil where none did; addr its next instruction. t gets
// its mark at once, others when they next enter code of the new mode: a mark of theirs at
// this very moment could not be placed between their instructions.
func (ps *process) changed(t thread, changes []window.Change, addr uint64) {
	im := ps.image
	if len(changes) == 0 || im == nil { // between two programs: what is open is said where the next one starts
		return
	}
	for _, c := range changes {
		im.events.countGone(&c)
		output{im.writer}.event(c, t, addr, im.caller(c, t, addr), im.budget.counted())
		// Before renewed budgets are given out: they are counted from here.
		if c.Opened {
			ps.windowOpened(c.Index)
		}
	}
	if im.p.Mode() == engine.ModeNative {
		ps.warn(ps.refresh()) // what was mapped meanwhile was not reported
	}
	im.capture.apply()
	ps.restLook()
	ps.setMode()
	if im.budget != nil {
		im.p.CountExecuted(im.budget.toCount()...)
		im.p.Rebudget()
	}
	if t != nil {
		ps.Entering(t)
	}
	ps.watch()
	switch {
	case im.events == nil:
	case ps.done():
		im.events.disarm()
		im.p.LetRun(ps.fateWhenDone())
	default:
		im.events.count()
	}
	ps.tellOthers()
	ps.countsReached(t, addr)
}

// windowOpened has those who count for the window's events do so from here, where they are to.
func (ps *process) windowOpened(index int) {
	if !ps.crossing {
		if ps.budget != nil {
			ps.budget.windowOpened(ps.windows, index)
		}
		return
	}
	ps.countFrom(ps.windows, index)
}

// setMode makes the target run as the open windows ask.
//
// Native is the aim whenever nothing is open and nothing counts: the target then costs
// nothing. Windows that keep reopening stay in the plain variant, since going native and
// coming back costs more than running translated for a while.
func (ps *process) setMode() {
	im := ps.image
	defer func() { ps.modes.look(im.p.Mode(), time.Now()) }()
	if im.windows != nil && im.windows.Open() != 0 {
		ps.tree.SetState(ps.number, proctree.WindowOpen)
	} else {
		ps.tree.SetState(ps.number, proctree.WindowClosed)
	}
	if im.windows.Open() != 0 && im.p.Mode() == engine.ModeNative && !ps.knowsImages() {
		// What was loaded while nothing was translated may not have been reported.
		// Before the windows are looked at: it may open or close some.
		ps.ImagesChanged()
		im.space.look("a window opens")
	}
	open := im.windows.Open()
	switch {
	case ps.opts.Only == OnlyTranslate || ps.opts.Only == OnlyCount:
	case open != 0 && im.capture != nil && !ps.recordsInstructions(open) && (im.budget == nil || !im.budget.waiting()):
		im.p.SetMode(engine.ModeNative)
	case open != 0 && ps.rests():
		ps.usePlans(open)
		im.p.SetMode(engine.ModeNative)
	case open != 0:
		ps.usePlans(open)
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

// Entering is engine.Handler's: a thread is about to run in a mode that may be
// new to it.
// The mark is left out if the thread's last one says the same.
func (ps *process) Entering(t thread) {
	im := ps.image
	ps.openAhead()
	if im.windows == nil {
		return
	}
	ps.restEntering(t)
	if im.budget != nil {
		im.budget.renew(t)
	}
	if im.writer == nil {
		return
	}
	open := im.windows.Open()
	if im.marked[t] == open+1 {
		return
	}
	im.marked[t] = open + 1
	t.Mark(records.Mark(records.MarkWindows, open), sys.TSC())
}

// Notified is engine.Handler's: a thread is about to execute a watched address.
// These are addresses that help to find events, not events themselves.
func (ps *process) Notified(t thread, addr uint64, regs engine.NotifiedRegs) {
	im := ps.image
	if im.events == nil {
		return
	}
	im.events.at(addr, regs)
}

// Reached is engine.Handler's: events have happened as often as was asked for.
// The counts of all places are set anew afterwards: windows may have changed.
func (ps *process) Reached(t thread, pl counter, addr, sp uint64) {
	im := ps.image
	im.entry = funcEntry{t, addr, sp}
	fired := im.events.reached(t, pl)
	if ps.opts.Replay.isWithin(sp) {
		fired = nil
	}
	ps.fire(t, addr, fired...)
	im.entry = funcEntry{}
	im.events.count()
}

// Toggled is engine.Handler's: code has opened and closed the one window that it
// may.
//
// The window's state follows what code has done already. Its openings and closings are
// marks in the ring, from which the processing threads make the rows.
func (ps *process) Toggled(t thread, open bool, times uint64) {
	im := ps.image
	sw := im.events.toggles
	// No mark is made here: the code that toggled has written it.
	im.windows.Switched(sw, open, times)
	im.events.toggled(sw, open)
	im.capture.apply()
	im.marked[t] = im.windows.Open() + 1
	ps.setMode()
	im.events.count()
}

// BudgetLow is engine.Handler's: a count may be reached. Events fire one at a time:
// the first may open a window that disarms or arms the next.
func (ps *process) BudgetLow(t thread, addr uint64) {
	im := ps.image
	if im.budget == nil {
		// Nobody counts any more; a thread with an old share is not to ask again.
		for m := range engine.NumMetrics {
			t.SetBudget(m, unlimited)
		}
		return
	}
	ps.sample(t, addr)
	im.budget.freeze()
	ps.exceeded = im.budget.exceeded(t)
	ps.countsReached(t, addr)
	ps.exceeded = nil
	im.budget.thaw()
	im.budget.renew(t)
}

// countsReached fires the events whose counts a thread that stands before addr has
// reached: for a budget that is low, and wherever a window has opened or closed, since
// a count that is reached already is one more event at the same place.
func (ps *process) countsReached(t thread, addr uint64) {
	im := ps.image
	if im.budget == nil || t == nil {
		return
	}
	for l := im.budget.reached(t); l != nil; l = im.budget.reached(t) {
		if l.Set() != ps.windows {
			ps.fire(t, addr, l)
			continue
		}
		// The overshoot belongs to these changes only, and is written with them. There is
		// none of a count that had been reached before its event was armed.
		over := ps.exceeded[l]
		delete(ps.exceeded, l)
		changes := im.windows.Happen(l)
		for i := range changes {
			changes[i].Overshoot = over
		}
		ps.changed(t, changes, addr)
	}
}

// ImagesChanged is engine.Handler's.
// Something was mapped, unmapped or protected anew; mostly it is no image.
func (ps *process) ImagesChanged() {
	if ps.opts.Only == OnlyTranslate {
		return
	}
	ps.warn(ps.refresh())
}

// Plan is engine.Handler's.
// Without a planner nothing is to be recorded, and the answer is not used.
func (ps *process) Plan(plan int, ins []x86.Insn, want []engine.Want) uint32 {
	im := ps.image
	if !im.plans.any() {
		return 0
	}
	number := ps.planner(plan).Plan(ins, want)
	ps.leaveOut(want)
	return number
}

// ThreadStarted is engine.Handler's.
//
// The ring is handed to the pool last: its first words, the thread's and the windows'
// marks, must be there before anybody consumes it.
func (ps *process) ThreadStarted(t thread) error {
	im := ps.image
	// Before the first block is translated for it.
	t.SetPlan(ps.planOf(t))
	if im.budget != nil {
		im.budget.sampled(t).begins(ps, t)
	}
	if im.writer != nil {
		ring := cab.NewRing(t.SlotMemory(), ps.ringMost()/ps.chunk(), im.p.Blocks().Committed)
		ring.FindRecords(im.p.Blocks().Filled)
		im.rings[t] = ring
		t.Mark(threadMark(t, 1)...)
		ps.Entering(t)
		ps.proc.pool.Add(ring, im.tags(t, ring)...)
		ps.proc.tuned.threadBegan()
	}
	ps.created(t)
	return nil
}

// ThreadEnded is engine.Handler's.
// The pool drains the ring before Remove returns, so that the slot may be used
// again.
func (ps *process) ThreadEnded(t thread) {
	im := ps.image
	if ps.opts.Only == OnlyCount {
		ps.count(im.tables, t)
	}
	sampling := ps.sampleEnd(t)
	if im.budget != nil {
		im.budget.forget(t, ps.facts.executing && t.Num() == ps.facts.executor)
	}
	ring := im.rings[t]
	if ring == nil {
		return
	}
	t.Mark(threadMark(t, 0)...)
	ps.proc.pool.Remove(ring)
	if im.beside != nil && ps.opts.sampledLines(ps.samples()) > 0 {
		im.beside.leftOut(t, im.p.Blocks())
	}
	im.beside.ended(t, sampling, ring)
	times, ticks := ring.Waits()
	ps.waits.times += times
	ps.waits.ticks += ticks
	delete(im.rings, t)
	delete(im.marked, t)
}

// Ended is engine.Handler's: a program image is gone.
// It comes once an image, also when the target was killed.
func (ps *process) Ended(end *engine.End) {
	im := ps.image
	ps.modes.look(im.p.Mode(), time.Now())
	ps.costs.sample(ps.live())
	ps.costs.modes.take(&ps.modes)
	ps.image = nil
	ps.tellOtherCode(im)
	if im.events != nil {
		im.events.collect()
	}
	im.capture.end()
	if im.windows != nil {
		ps.selected.search(im.tables)
		// On an execve windows stay open: the profile gets a row that says why its
		// part ends.
		changes := im.windows.Note(false, "the process executed another program")
		if !ps.facts.executing {
			changes = im.windows.Finish()
		}
		for _, c := range changes {
			im.events.countGone(&c)
			output{im.writer}.event(c, nil, 0, 0, im.budget.counted())
		}
		ps.missed.see(im.events)
	}
	if end != nil && im.writer != nil {
		im.writer.AddFamily(ps.family(end))
	}
	ps.closeWriter(im)
}

// warn notes something that has failed, so that it is not in the recording.
func (r *run) warn(err error) {
	if err != nil && !errors.Is(err, engine.ErrEnded) { // of a process whose end comes next
		r.lack(err.Error())
	}
}

// lack notes that something is not in the recording that should be. It is told at the end even with -q: who only sees the program's own output and status takes
// the recording for a whole one.
func (r *run) lack(text string) {
	r.note(text)
	r.lacking = append(r.lacking, text)
}

// tell says at once what is known before the program executes anything: whoever waits for a window
// that cannot open should not wait for the program's end. It is noted at the end, if it still holds.
func (r *run) tell(all []string) {
	for _, text := range all {
		if slices.Contains(r.told, text) {
			continue
		}
		r.told = append(r.told, text)
		if w := r.opts.Messages; w != nil {
			fmt.Fprintf(w, "alleria: %s (unless it executes another program that has it)\n", text)
		}
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
