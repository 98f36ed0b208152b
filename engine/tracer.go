package engine

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"alleria/engine/births"
	"alleria/engine/codecache"
	"alleria/engine/followed"
	"alleria/engine/handover"
	"alleria/engine/launch"
	"alleria/engine/probe"
	"alleria/engine/reuse"
	"alleria/engine/shm"
	"alleria/engine/tracee"
	"alleria/engine/x86"
	"alleria/internal/capture"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// pollEvery is the least time between two calls of Client.Poll, and pollFollowed that while nothing is in a code cache or being born, so that there is little to look after.
const pollEvery, pollFollowed = time.Millisecond, 10 * time.Millisecond

// Tracer runs one target and what that creates. Its methods are for the goroutine of Run.
//
// A Tracer runs once.
type Tracer struct {
	opts     Options
	client   Client
	procs    []*Process       // that have a code cache; replaced, never changed
	threads  map[int]*Thread  // theirs, by id
	followed followed.Threads // threads of processes that are followed and have none
	root     int              // the id of the process that the user started
	over     bool             // it has ended
	bell     shm.Bell
	reports  *sys.Waiter // what the kernel reports; nil before the launcher is traced
	hand     handover.Waiter
	polled   time.Duration // when the client was last polled
	stops    *tracee.Stops // the same, and what of it was put aside
	newborn
	// processes whose memory a child may still have that nobody has told of: see remember
	remembered births.Remembered[*Process]
	untold     time.Time // until then a child may stand that nobody has told of
	status     Status
	done       bool
	// the first error of ours; the target is not told
	err       error
	decoder   x86.Decoder // what it remembers holds for every program
	history   reuse.History
	templates reuse.Templates
	sharings
	files   []spareFile // that of their code
	began   time.Time
	filters sys.Filters // that the tracer itself is under
}

// sharings are what processes have of each other without knowing of it.
type sharings struct {
	spare codecache.Spare // memory of tables of processes that are gone
	scans probe.Scans     // of images, for jumps that capture
	// runner takes captures by the tracer.
	runner capture.Runner
}

// newborn is where the last program that was executed begins, the children that are being born, and those who want to attach to one, by its id.
type newborn struct {
	start     start // of the program that was executed last
	births    births.Children[told]
	attachers map[int][]leaving
	keepsNone func() bool // the tracer keeps no program from its rights, see sys.TracesAll
}

// Status is how the target ended, which is the process that Run has started.
type Status struct {
	End
	Detached int // processes that ran untraced, or unfollowed
	// DetachedThreads is how many threads ran untraced, because too many lived at a
	// time.
	DetachedThreads int
	// Untraced says why the program that the target executed last ran untraced;
	// nil if it did not.
	Untraced error
	Stats    Stats // of all processes
}

// New prepares a run.
// Nothing is started yet.
func New(o Options, c Client) *Tracer {
	tr := &Tracer{opts: o, client: c, threads: make(map[int]*Thread),
		newborn: newborn{births: births.New[told](births.Linux{}), attachers: make(map[int][]leaving), keepsNone: sync.OnceValue(sys.TracesAll)}, remembered: births.Remember((*Process).close), began: time.Now(),
		decoder: x86.Decoder{Off: o.NoMemo}, history: reuse.History{Off: o.NoPrefetch}, templates: reuse.Templates{Off: o.NoReuse, Few: o.KeepFew, Rarely: o.KeepRarely}, hand: handover.New(o.NoHandover)}
	if o.Kept != nil && !o.NoReuse && !o.NoDiskCache {
		tr.templates.Disk = &reuse.Disk{Dir: o.Kept, Key: tr.opts.codeKey, Log: o.Log, Read: o.KeptRead, NameOf: c.NamesOf, CheckFacts: o.CheckFacts, Asked: o.Asked}
	}
	return tr
}

// Run executes the target to its end, and waits for the end of what is followed. The error is the tracer's; the target's
// own end is in Status. A launch.ExecError means that nothing was executed.
//
// It locks its goroutine to an OS thread for the duration, as ptrace requests are bound
// to the thread that attached. When Run returns, the target has ended, also one
// that ran untraced; children that were detached may live on.
func (tr *Tracer) Run() (Status, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l, err := launch.StartSeized(&tr.opts.Program)
	if err != nil {
		return Status{}, err
	}
	if err := l.Proceed(); err != nil {
		return Status{}, err
	}
	if err := sys.ReserveDescriptors(); err != nil { // the launcher's are closed by now
		return Status{}, err
	}
	tr.beginAhead()
	if tr.filters, err = sys.ReadFilters(0); err != nil {
		return Status{}, err
	}
	if tr.reports, err = sys.StartWaiter(tr.opts.StopSignals); err != nil {
		return Status{}, err
	}
	defer tr.reports.Close()
	tr.stops = tracee.NewStops(tracee.Linux{}, tr.reports, tr.awaitReport, tr.fail)
	tr.followed = followed.New(tr.stops, followed.Linux{}, followHost{tr}, tr.opts.StopAtEnds)
	if tr.bell, err = shm.NewBell(); err != nil {
		return Status{}, err
	}
	defer tr.bell.Close()
	if tr.opts.Ending != nil {
		defer tr.opts.Ending()
	}
	tr.hand.Use(&tr.bell)
	tr.reports.Bell(tr.bell.Word(layout.Doorbell), tr.bell.Word(layout.TracerAsleep))
	defer tr.reports.Bell(nil, nil)
	// Behind the launcher: the target is not to have it.
	if !tr.opts.NoHandover {
		sys.ShortSlices()
	}
	if err := tr.firstExec(l); err != nil {
		return Status{}, err
	}
	for !tr.done {
		tr.turn()
	}
	for _, p := range tr.procs { // of a run that failed
		for _, t := range p.running() {
			t.vfork = false
		}
		tr.dropProcess(p)
	}
	tr.remembered.Close()
	tr.templates.Close()
	for _, f := range tr.files {
		f.file.Close()
	}
	return tr.status, tr.err
}

// beginAhead begins, while the launcher executes the target, what needs no process. Sizes of rings come first: names of what is kept go by them.
func (tr *Tracer) beginAhead() {
	if tr.opts.Rings != nil {
		tr.opts.ChunkBytes, tr.opts.Chunks = tr.opts.Rings()
	}
	tr.templates.Disk.ReadAhead(tr.opts.Program.Path)
}

// report waits for the kernel's next report; false where there is none any more.
func (tr *Tracer) report() (sys.Stop, bool) {
	for {
		if s, ok := tr.reports.Next(); ok {
			return s, true
		}
		if tr.reports.Over() {
			return sys.Stop{}, false
		}
		tr.reports.Wait(0)
	}
}

// firstExec waits for the launcher to execute the target.
// The launcher is single-threaded, and has only the signals to report that somebody
// sends it: they are passed on.
func (tr *Tracer) firstExec(l *launch.Launched) error {
	errno := make(chan error, 1)
	go func() { errno <- l.ExecError() }()
	for {
		s, ok := tr.report()
		if !ok {
			return errors.New("the launcher disappeared")
		}
		if s.TID != l.PID() {
			tr.stops.PutAside(s)
			continue
		}
		tr.root = l.PID()
		switch {
		case s.Status.Signaled(): // somebody has ended it, as they would have the target
			tr.status.End = endOf(s)
			tr.done = true
			return nil
		case s.Status.Exited():
			if err := <-errno; err != nil {
				return &launch.ExecError{Path: tr.opts.Path, Err: err}
			}
			return errors.New("the launcher ended before it executed the target")
		case s.Event() == tracee.EventExec:
			return tr.executed(s.TID, inherited{}, tr.client.Executed(s.TID))
		case s.Status.Stopped():
			if err := tr.stops.Bare(s.TID).Cont(s.Signal()); err != nil {
				return err
			}
		}
	}
}

// begin lets a process that has just been set up go on from regs, which are the application's.
//
// The handler sees the process before any of its instructions has executed, and its
// thread before that thread's first.
func (tr *Tracer) begin(p *Process, t *Thread, regs *sys.Regs) error {
	tr.procs = append(tr.procs[:len(tr.procs):len(tr.procs)], p)
	p.client = tr.client.Traced(p)
	if err := p.client.Started(p); err != nil {
		return err
	}
	if err := p.client.ThreadStarted(t); err != nil {
		return err
	}
	t.segmentChanged(regs)
	return nil
}

// dropProcess forgets a process whose program is gone, or that is not traced any more. Its threads have been
// seen to. Its memory is kept while somebody still needs it: a child that shares the address space goes on in its code
// cache, and one that has been created and not seen yet is cleaned by what is known of it.
func (tr *Tracer) dropProcess(p *Process) {
	if !slices.Contains(tr.procs, p) { // its beginning failed
		return
	}
	for tid, t := range p.threads {
		if t.vfork {
			continue
		}
		if tr.threads[tid] == t {
			delete(tr.threads, tid)
		}
		delete(p.threads, tid)
		tr.stops.Forget(&t.tracee)
	}
	p.list = nil
	if !p.dropped {
		p.dropped = true
		p.measure()
		tr.status.Stats.add(&p.stats)
		p.noteRecords()
		p.client.Ended(p, p.end)
		p.client = deaf{p.client}
		p.failed(p.released()) // there is nothing to detach any more
	}
	if len(p.threads) > 0 {
		return
	}
	tr.procs = slices.DeleteFunc(slices.Clone(tr.procs), func(o *Process) bool { return o == p })
	if slices.Contains(p.shm.Slots, tr.hand.Asker) {
		tr.hand.Asker = nil
	}
	tr.closeDropped(p)
}

// closeDropped gives a process's memory back if nobody needs it any more.
func (tr *Tracer) closeDropped(p *Process) {
	if !p.dropped || len(p.threads) > 0 {
		return
	}
	if tr.births.Any(func(k told) bool { return k.by(p) }) {
		return
	}
	p.keepTemplate()
	if !tr.remember(p) {
		p.leave()
		p.close()
	}
}

// turn does what there is to do, or waits for something to do.
func (tr *Tracer) turn() {
	tr.ringAlarms()
	tr.ringForMute()
	if len(tr.procs) > 0 {
		tr.reports.WaitThere()
	}
	if tr.work() {
		return
	}
	if !tr.spins() {
		tr.sleep()
	}
	tr.poll()
}

// sleep waits for something to do. Where nothing is in a code cache that is the kernel's next report alone, which the tracer's own thread waits for then.
func (tr *Tracer) sleep() {
	if len(tr.procs) > 0 || tr.opts.NoOwnWait || runtime.GOMAXPROCS(0) == 1 || !tr.reports.WaitHere() {
		tr.hand.Sleep(work{tr}, tr.nap)
	}
}

// now is the time since the tracer started.
func (tr *Tracer) now() time.Duration { return time.Since(tr.began) }

// anyDispatch tells whether a thread asks for something.
func (tr *Tracer) anyDispatch() bool {
	for _, p := range tr.procs {
		for _, t := range p.running() {
			if t.slot.U32(layout.Req).Load() != 0 {
				return true
			}
		}
	}
	return false
}

// work handles one round of dispatches and stops; false if there was none.
//
// Stops that were put aside come before new ones, in the order in which the kernel
// reported them.
func (tr *Tracer) work() bool {
	did := false
	tr.stops.SendPostponed()
	for _, t := range tr.stops.Rested() {
		tr.threads[t.TID].failed(t.Interrupt())
	}
	for _, p := range tr.procs {
		did = tr.workFor(p) || did
	}
	for s, ok := tr.stops.Aside(); ok; s, ok = tr.stops.Aside() {
		tr.stop(s)
		did = true
	}
	if s, ok := tr.reports.Next(); ok {
		tr.stop(s)
		return true
	}
	if tr.reports.Over() {
		tr.done = true
		return true
	}
	return did
}

// workFor handles the dispatches of one process, and what its handler has asked for; false if there was nothing.
func (tr *Tracer) workFor(p *Process) bool {
	did := false
	if len(p.leaving) > 0 {
		p.failed(p.tryToLeave())
		return true
	}
	if p.modeChanged {
		p.switchOthers()
	}
	if p.cache.Crowded(tr.opts.mostCode()) {
		tr.renew(p)
	}
	if p.detaching.Wanted() {
		if p.detaching.Try(detachHost{p}); p.detaching.Gone() {
			tr.lookWhetherDone()
			return true
		}
	}
	for _, t := range p.running() {
		if req := t.slot.U32(layout.Req).Load(); req != 0 && !t.tracee.Stopped {
			did = true
			tr.hand.Asker = t.slot
			if err := t.dispatch(req); err != nil {
				t.failed(err)
			}
			if p.detaching.Gone() || len(p.leaving) > 0 {
				return true
			}
		}
	}
	return did
}

// failed takes an error of an operation on a thread: one that the kernel killed meanwhile is not worth a word, its end
// will be reported. With any other the thread stands still, in a state that
// nobody knows: the process is ended, so that it does not hang.
func (t *Thread) failed(err error) {
	if tracee.Passing(err) || t.tracee.Over() || sys.Dying(t.tid) {
		return
	}
	t.p.failed(fmt.Errorf("thread %d: %w", t.tid, err))
}

// failed is Thread.failed for an operation on a process.
func (p *Process) failed(err error) {
	if tracee.Passing(err) || p.dying() {
		return
	}
	p.tr.fail(fmt.Errorf("process %d: %w; the program was ended", p.pid, err))
	sys.Kill(p.pid)
}

// ErrEnded is what is answered to a client that has something done to a process which has ended, or executes another program: its end, or the program, is
// what the client hears of next.
var ErrEnded = fmt.Errorf("the process is going: %w", tracee.ErrEnded)

// orEnded is an error of what was done to the process's memory, or ErrEnded.
func (p *Process) orEnded(err error) error {
	if err != nil && (tracee.Passing(err) || p.dying()) {
		return ErrEnded
	}
	return err
}

// dying tells whether all threads of a process have ended, or are certain to: a window that the last function of a program closes has the
// mode change while the process exits, and its memory is gone before anybody hears of it.
func (p *Process) dying() bool {
	return !slices.ContainsFunc(p.running(), func(t *Thread) bool { return !t.tracee.Over() && !sys.Dying(t.tid) })
}

// fail notes the first error of the tracer. The target runs on.
// Errors that follow from it would only hide it.
func (tr *Tracer) fail(err error) {
	if tr.err == nil {
		tr.err = err
	}
}

// spins waits actively for something to do, and tells whether there is.
func (tr *Tracer) spins() bool {
	most := uint64(handover.NativeTime)
	if len(tr.procs) == 0 { // what is followed asks for nothing, and is waited for by others than us
		return tr.hand.Spin(0, work{tr})
	}
	if tr.anyTranslated() {
		most = handover.SpinTime
	}
	return tr.hand.Spin(most, work{tr})
}

// awaitReport waits for a report of the kernel, at most for tracee.Patience: actively first, as for dispatches.
func (tr *Tracer) awaitReport() {
	tr.reports.WaitThere()
	if !tr.hand.SpinFor(tr.reports.Pending) {
		tr.reports.Wait(tracee.Patience)
	}
}

// work is what the tracer's thread waits for.
type work struct{ tr *Tracer }

// Ready looks at the threads' dispatches in every turn, as at the kernel's reports, and
// at what else there may be now and then.
func (w work) Ready(turn int) bool {
	if turn&15 == 0 {
		w.tr.ringForMute()
	}
	return w.Asked() || turn&15 == 0 && (w.tr.anyWish() || w.tr.stops.AnyPostponed())
}

// Asked tells whether a thread asks for something, or the kernel has something to report.
func (w work) Asked() bool { return w.tr.anyDispatch() || w.tr.reports.Pending() }

// Ahead translates something that a process is likely to ask for, if there is anything.
func (w work) Ahead() bool { return w.tr.opts.Ahead && w.tr.translateAhead() }

// anyTranslated tells whether some thread runs in a code cache.
func (tr *Tracer) anyTranslated() bool {
	for _, p := range tr.procs {
		for _, t := range p.running() {
			if !t.native {
				return true
			}
		}
	}
	return false
}

// anyWish tells whether some handler has asked for something that is still to be done.
func (tr *Tracer) anyWish() bool {
	for _, p := range tr.procs {
		if p.modeChanged || len(p.leaving) > 0 || p.detaching.Wanted() {
			return true
		}
	}
	return false
}

// translateAhead translates something that a process is likely to ask for, if there is anything.
func (tr *Tracer) translateAhead() bool {
	for _, p := range tr.procs {
		if len(p.cache.AheadQueue) > 0 && p.translateAhead() {
			return true
		}
	}
	return false
}

// poll lets the client look after its limits now and then.
func (tr *Tracer) poll() {
	now, every := tr.now(), pollEvery
	if len(tr.procs) == 0 && tr.births.Empty() && !tr.over {
		every = pollFollowed
	}
	if now-tr.polled < every {
		return
	}
	tr.polled = now
	for _, p := range tr.procs {
		p.cool()
		p.guardQuiet()
	}
	tr.strays()
	tr.client.Poll()
}

// SetAlarm asks for Handler.Alarm at a time; the zero time for none.
func (p *Process) SetAlarm(at time.Time) { p.alarm = at }

// ringAlarms calls the processes' handlers whose time has come.
// It is looked at in each turn, and the tracer never sleeps beyond the next one.
func (tr *Tracer) ringAlarms() {
	for _, p := range tr.procs {
		if p.alarm.IsZero() || time.Now().Before(p.alarm) {
			continue
		}
		p.alarm = time.Time{}
		p.syncAll()
		p.client.Alarm(p)
	}
}

// ringForMute wakes processing threads for processes whose code makes no system calls of ours, as a filter could kill for them: its threads ring only. Without it each chunk
// waited for the end of the consumers' interval, a tenth of a second.
func (tr *Tracer) ringForMute() {
	for _, p := range tr.procs {
		if p.mute() {
			tr.bell.WakeConsumers()
			return
		}
	}
}

// mute tells whether the process's code makes no system calls of ours.
func (p *Process) mute() bool { return p.shm.Ctl.U32(layout.NoCalls).Load() != 0 }

// nap is how long the tracer may sleep at most: until the next alarm, and for a moment only
// where a process has threads that do not ring, or there is something to do soon.
func (tr *Tracer) nap() time.Duration {
	nap := 100 * time.Millisecond
	for _, p := range tr.procs {
		if !p.alarm.IsZero() {
			nap = max(min(nap, time.Until(p.alarm)), time.Microsecond)
		}
		if at, ok := p.guardsNext(); ok {
			nap = min(nap, max(at-tr.now(), pollEvery))
		}
		if p.mute() {
			nap = min(nap, tr.muteNap(p))
		}
	}
	if tr.stops.AnyPostponed() {
		nap = min(nap, soon)
	}
	if !tr.births.Empty() || tr.over && tr.empty() && !tr.untold.IsZero() { // see strays
		nap = min(nap, pollEvery)
	}
	return nap
}

// muteNap is how long may be slept where a process's threads may wake nobody: natively, where there are captures alone, which need no answers, for longer while there are none.
func (tr *Tracer) muteNap(p *Process) time.Duration {
	if p.mode == ModeNative && time.Since(tr.bell.Rang()) > quietFor {
		return pollEvery
	}
	return soon
}

// quietFor is for how long nobody has rung who is taken to go on doing so.
const quietFor = 5 * time.Millisecond

const soon = 100 * time.Microsecond
