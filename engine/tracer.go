package engine

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/spin"
	"alleria/internal/sys"
)

// Options is what to run and how.
// The zero value of every switch is the faster way, so that a client need not know
// them.
type Options struct {
	Path   string   // the executable
	Argv   []string // with argv[0]
	Env    []string
	Dir    string // "": the tracer's
	NoASLR bool

	// The rings: Chunks chunks to begin with, two or more, of ChunkBytes each, a
	// power of two; 0: nothing can be recorded. Who consumes them lets them grow.
	ChunkBytes, Chunks int

	// Switches of optimisations, for comparison.
	NoFollow bool // blocks don't continue along direct jumps and calls
	Predict  bool // calls and returns go by the return predictor; slower where it was measured
	Ahead    bool // more is translated than was asked for; slower where it was measured
	NoHuge   bool // code cache and look-up tables in small pages only
	NoSpread bool // blocks count against one word of each budget
	NoToggle bool // code asks at each opening and closing
	// Each return that is awaited is looked at in general.
	NoFastReturn bool
	NoDetach     bool // a process is traced to its end
	NoMemo       bool // each instruction is decoded anew
	NoJumps      bool // native probes are int3s, all of them
	NoSuper      bool // recorded blocks end at every branch
	Sizes        bool // records begin with their size besides the number (layout.Number)
	NoLate       bool // all ways out of recorded blocks are written with them
	NoStartSites bool // a native start stops at all of its system calls
	NoShort      bool // superblocks of large programs are as long as those of small ones
	Short        bool // superblocks of small programs are as short as those of large ones
	NoCallIn     bool // threads in the middle of a block are stepped out of it
	NoBatch      bool // each system call at the start has stops of its own
	NoHandover   bool // who waits for the other side spins, wherever that is
	NoBusy       bool // a process never stays in the cache because native probes are hit often
}

// Client is who the engine works for. All calls come from the goroutine that
// Run was called on, while the thread concerned does not run application code.
//
// "Does not run application code" covers two states: the thread is stopped by the
// kernel, or it waits in the request routine. In both its slot may be written and
// marks appended; nothing may be assumed of the other threads, which run. A call-back
// that takes long holds up every thread that asks for something meanwhile.
type Client interface {
	// Started is called when a program image stands before its first
	// instruction. The client sets the mode and the notify points.
	Started(p *Process) error
	// Notified is called when a thread is about to execute an address that
	// Process.Notify was called with.
	Notified(t *Thread, addr uint64, regs NotifiedRegs)
	// Reached is called when as many arrivals have come at a place as Place.Arm
	// said, with the last in t, which is about to execute addr: the place's, or
	// where a return has led. The client arms the place again.
	Reached(t *Thread, pl *Place, addr uint64)
	// Toggled is called when code has opened and closed the window of
	// Process.SetToggle so many times together; open is how it is now.
	Toggled(t *Thread, open bool, times uint64)
	// Entering is called when a thread, which is stopped or waits, is about to
	// run translated code after something may have changed its mode, or to leave it.
	Entering(t *Thread)
	// BudgetLow is called when a thread, about to execute addr, has too little of
	// its budget left for the block there: maybe nothing (see
	// Process.CountExecuted). The client may raise it.
	BudgetLow(t *Thread, addr uint64)
	// ImagesChanged is called when executable memory was mapped or its
	// protection changed.
	ImagesChanged(p *Process)
	// ThreadStarted and ThreadEnded frame a thread's life.
	ThreadStarted(t *Thread) error
	ThreadEnded(t *Thread)
	// Ended is called when a program image is gone, by exit or execve, before
	// the memory shared with it is released.
	Ended(p *Process)
	// Poll is called now and then; it may change the mode.
	Poll(p *Process)
	// Planner says what recorded blocks record.
	Planner
}

// NotifiedRegs are the registers that a notification comes with.
// SP is as before the instruction: at a function's entry it points to the return
// address. DI is the first argument of a call.
type NotifiedRegs struct{ SP, DI uint64 }

// Tracer runs one target. Its methods are for the goroutine of Run, but for Stop
// and Wake.
//
// A Tracer runs once.
type Tracer struct {
	opts    Options
	client  Client
	proc    *Process
	reports *sys.Waiter // what the kernel reports; nil before the launcher is traced
	hand    handover
	// later holds stops that came while another thread's was waited for.
	later    []sys.Stop
	children map[int]childKind // processes that were born and not seen, or seen and not known
	status   Status
	done     bool
	// the first error of ours; the target is not told
	err error
	// some thread may run otherwise than it should: see switchOthers
	modeChanged bool
	watcher     Watcher   // the client, or one that is deaf
	alarm       time.Time // when Watcher.Alarm is due; zero: never
	postponed   []postponed
	decoder     x86.Decoder // what it remembers holds for every program
	filtered    bool        // the program has installed a filter of system calls; stays so through execve
	began       time.Time
	numbers     numbers
}

// numbers is what an execve leaves of the numbers of a process's threads, which count
// on through it: that of the thread that made it, which is its own further on, and the
// last one given out. Both are 0 in the first program.
type numbers struct{ first, last int }

// Status is how the target ended.
type Status struct {
	Exited bool       // it ended by itself: Code holds
	Code   int        // exit code
	Signal sys.Signal // that killed it, 0 none
	LetGo  int        // child processes that ran untraced
	// LetGoThreads is how many threads ran untraced, because too many lived at a
	// time.
	LetGoThreads int
	// Untraced says why the program that the target executed last ran untraced;
	// nil if it did not.
	Untraced error
	Stats    Stats
	Usage    sys.Usage // of processor time and pages, with the children that it waited for
}

// New prepares a run.
// Nothing is started yet.
func New(o Options, c Client) *Tracer {
	w, ok := c.(Watcher)
	if !ok {
		w = deaf{}
	}
	return &Tracer{opts: o, client: c, watcher: w, children: make(map[int]childKind), began: time.Now(),
		decoder: x86.Decoder{Off: o.NoMemo}, hand: newHandover(o.NoHandover)}
}

// Run executes the target to its end. The error is the tracer's; the target's
// own end is in Status. An ExecError means that nothing was executed.
//
// It locks its goroutine to an OS thread for the duration, as ptrace requests are bound
// to the thread that attached. When Run returns, the target has ended, also one
// that ran
// untraced; children that were let go may live on.
func (tr *Tracer) Run() (Status, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l, err := launchSeized(&tr.opts)
	if err != nil {
		return Status{}, err
	}
	if err := l.proceed(); err != nil {
		return Status{}, err
	}
	if tr.reports, err = sys.StartWaiter(); err != nil {
		return Status{}, err
	}
	defer tr.reports.Close()
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
	if tr.proc != nil {
		tr.status.Stats = tr.proc.stats
		tr.client.Ended(tr.proc)
		tr.setControl(nil)
		tr.proc.close()
	}
	return tr.status, tr.err
}

// setControl says which control area's doorbell the kernel's reports ring; nil none.
func (tr *Tracer) setControl(c *control) {
	tr.hand.ctl, tr.hand.cpu, tr.hand.told, tr.hand.asker = c, spin.Unknown, 0, nil
	if c == nil {
		tr.reports.Bell(nil, nil)
		return
	}
	c.u32(layout.TracerCPU).Store(spin.Unknown)
	tr.reports.Bell(c.word(layout.Doorbell), c.word(layout.TracerAsleep))
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
func (tr *Tracer) firstExec(l *launched) error {
	errno := make(chan error, 1)
	go func() { errno <- l.execErrno() }()
	for {
		s, ok := tr.report()
		if !ok {
			return errors.New("the launcher disappeared")
		}
		if s.TID != l.pid {
			tr.later = append(tr.later, s)
			continue
		}
		switch {
		case s.Status.Signaled(): // somebody has ended it, as they would have the target
			tr.endStatus(s)
			tr.done = true
			return nil
		case s.Status.Exited():
			if err := <-errno; err != nil {
				return &ExecError{tr.opts.Path, err}
			}
			return errors.New("the launcher ended before it executed the target")
		case s.Event() == eventExec:
			return tr.started(s.TID)
		case s.Status.Stopped():
			if err := sys.Cont(s.TID, s.Signal()); err != nil {
				return err
			}
		}
	}
}

// started sets a new program image up and lets it run.
//
// The client sees the process before any of its instructions has executed, and its
// thread before that thread's first.
func (tr *Tracer) started(pid int) error {
	p, err := newProcess(tr, pid)
	if err != nil {
		return err
	}
	tr.proc = p
	tr.setControl(p.ctl)
	t := p.threads[pid]
	if err := tr.client.Started(p); err != nil {
		return err
	}
	if err := tr.client.ThreadStarted(t); err != nil {
		return err
	}
	var regs sys.Regs
	if err := sys.GetRegs(pid, &regs); err != nil {
		return err
	}
	tr.segmentChanged(t, &regs)
	if err := p.watchStart(regs.Rip); err != nil {
		return err
	}
	return tr.enter(t, &regs, 0)
}

// turn does what there is to do, or waits for something to do.
func (tr *Tracer) turn() {
	tr.ringAlarm()
	if tr.work() {
		return
	}
	if !tr.spins() {
		tr.sleep()
	}
	if tr.proc != nil {
		tr.poll()
	}
}

// anyRequest tells whether a thread asks for something.
func (tr *Tracer) anyRequest() bool {
	for _, t := range tr.proc.running() {
		if t.slot.u32(layout.Req).Load() != 0 {
			return true
		}
	}
	return false
}

// work handles one round of requests and stops; false if there was none.
//
// Stops that were put aside come before new ones, in the order in which the kernel
// reported them.
func (tr *Tracer) work() bool {
	did := false
	p := tr.proc
	if tr.modeChanged {
		tr.switchOthers()
	}
	if len(tr.postponed) > 0 {
		tr.sendPostponed()
	}
	if p.leaving {
		if tr.leave(); tr.done {
			return true
		}
	}
	for _, t := range p.running() {
		if req := t.slot.u32(layout.Req).Load(); req != 0 && !t.stopped {
			did = true
			tr.hand.asker = t
			if err := tr.request(t, req); err != nil {
				tr.threadError(t, err)
			}
			if tr.done { // let go
				return true
			}
		}
	}
	for len(tr.later) > 0 {
		s := tr.later[0]
		tr.later = tr.later[1:]
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

// threadError takes an error of an operation on a thread, or on the process if
// t is nil: one that the kernel killed meanwhile is not worth a word, its end
// will be reported. With any other the thread stands still, in a state that
// nobody knows: the process is ended, so that it does not hang.
func (tr *Tracer) threadError(t *Thread, err error) {
	if err == nil || sys.Gone(err) || errors.Is(err, errEnded) || errors.Is(err, errBusy) {
		return
	}
	if t != nil {
		err = fmt.Errorf("thread %d: %w", t.tid, err)
	}
	tr.fail(fmt.Errorf("%w; the program was ended", err))
	if tr.proc != nil {
		sys.Kill(tr.proc.pid)
	}
}

// fail notes the first error of the tracer. The target runs on.
// Errors that follow from it would only hide it.
func (tr *Tracer) fail(err error) {
	if tr.err == nil {
		tr.err = err
	}
}

// waitFor waits for the next stop of a thread; what other threads report
// meanwhile is handled later.
// It blocks: only for stops that are certain to come, because they were asked for.
// One thread never reports again, not even its end: that which executed another
// program and took over the process's id.
func (tr *Tracer) waitFor(t *Thread) (sys.Stop, error) {
	for i, s := range tr.later {
		if s.TID == t.tid {
			tr.later = append(tr.later[:i:i], tr.later[i+1:]...)
			return s, nil
		}
	}
	for {
		s, ok, err := tr.nextStop(t)
		switch {
		case err != nil:
			return s, err
		case !ok:
			return s, errors.New("nothing left to wait for")
		case s.TID == t.tid:
			return s, nil
		}
		tr.later = append(tr.later, s)
		if s.Event() == eventExec {
			if former, err := sys.EventMsg(s.TID); err == nil && int(former) == t.tid {
				return sys.Stop{}, errEnded
			}
		}
	}
}

// Instead of stopping as asked for, a thread ended, or has something else to
// report.
var (
	errEnded = errors.New("the thread ended")
	errBusy  = errors.New("the thread has another stop to report")
)
