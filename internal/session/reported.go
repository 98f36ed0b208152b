package session

import (
	"fmt"
	"time"

	"alleria/abp"
	"alleria/config"
	"alleria/config/vocab"
	"alleria/emit"
	"alleria/engine"
	"alleria/internal/symbols"
	"alleria/internal/sys"
	"alleria/window"
)

// reported is what is kept of the facts that the kernel reports, through all
// programs that the process executes.
// Counts are of the process that the user started.
type reported struct {
	started   time.Time // of the process's first instruction
	forks     uint64
	execs     uint64
	unseen    uint64 // of these, those of before it had an image: it shared its creator's memory (vfork), or was followed
	live      uint64 // threads
	executing bool   // from an execve to the new program's start
	executor  int    // the number of the thread that made the last one
}

// happened fires the armed events of a kind that an occurrence in a thread is; t
// may be nil where it is in none.
//
// match compares what only this kind of event has. It goes over all leaves: they
// are few, and each report has cost a stop of the target already.
func (ps *process) happened(t thread, addr uint64, kind config.EventKind, match func(*config.Event) bool) {
	im := ps.image
	// Between two programs, or in a mode without windows.
	if im == nil || im.windows == nil {
		return
	}
	var leaves []*window.Leaf
	for _, l := range ps.leaves() {
		e := l.Event
		if e.Kind == kind && (e.Thread == 0 || t != nil && e.Thread == t.Num()) && match(e) {
			leaves = append(leaves, l)
		}
	}
	if len(leaves) > 0 {
		ps.fire(t, addr, leaves...)
	}
}

// watch asks for what armed events need to be told of, and for nothing else:
// what is not armed, or can never fire again, costs nothing.
//
// A call whose event is not armed is turned off: a native thread stops at every
// call while any is watched.
func (ps *process) watch() {
	im := ps.image
	w := wants{calls: make(map[uint32]bool)}
	if im.plans.any() && im.windows.Open() != 0 && ps.opts.Only == OnlyAll {
		// Signals and calls are recorded for threads that ask for it: one that does
		// is enough to be told of them.
		for kind := range len(ps.threads.nums) + 1 {
			if m := ps.planner(im.plans.first(ps.threads) + kind).Thread(); m != nil {
				w.signals, w.returns = w.signals || m.Signals, w.returns || m.Syscalls
			}
		}
	}
	for _, l := range ps.leaves() {
		if want := findingOf(l.Event.Kind).want; want != nil {
			want(ps, l, &w)
		}
	}
	// What is watched and wanted no more first, then what is wanted: repeating what
	// holds costs nothing.
	for nr := range ps.watched {
		im.p.WatchCall(nr, w.calls[nr])
	}
	for nr, on := range w.calls {
		im.p.WatchCall(nr, on)
	}
	ps.watched = w.calls
	im.p.WatchSignals(w.signals)
	im.p.WatchReturns(w.returns)
	im.p.WatchEnds(w.ends || ps.rest != nil)
	// The zero time takes the alarm back.
	if r := ps.rest; r != nil && r.resting && r.open && (w.alarm.IsZero() || r.at.Before(w.alarm)) {
		w.alarm = r.at
	}
	im.p.SetAlarm(w.alarm)
}

// callNumber is the number of an event's system call; false if there is no call
// of that name, which prepare has refused.
func callNumber(e *config.Event) (uint32, bool) {
	if e.HasNumber {
		return uint32(e.Number), e.Number < 1<<16
	}
	return abp.SyscallNumber(e.Name)
}

// unknownCalls finds the events that name a system call which there is not.
// Every such event is reported, not only the first.
func unknownCalls(c *config.Config) []config.Error {
	var errs []config.Error
	look := func(e *config.Event) {
		if e.Kind != config.EventSyscall {
			return
		}
		if _, ok := callNumber(e); ok {
			return
		}
		what := fmt.Sprintf("there is no system call %q", e.Name)
		if e.HasNumber {
			what = fmt.Sprintf("there is no system call %d", e.Number)
		}
		right := "give the kernel's name, such as openat, or its number"
		if near := vocab.Nearest(e.Name, abp.SyscallNames()); near != "" && !e.HasNumber {
			right = fmt.Sprintf("the nearest is %q", near)
		}
		errs = append(errs, config.Error{Pos: e.Pos, What: what, Right: right})
	}
	for _, w := range c.Windows {
		w.On.Walk(look)
		w.Till.Walk(look)
	}
	return errs
}

// CallEntered is engine.Handler's.
func (ps *process) CallEntered(t thread, c *engine.Call) {
	ps.happened(t, c.Next, config.EventSyscall, func(e *config.Event) bool {
		nr, ok := callNumber(e)
		return ok && nr == c.Number
	})
}

// CallReturned is engine.Handler's.
func (ps *process) CallReturned(t thread, c *engine.Call) {
	if m := ps.matcherOf(t); m == nil || !m.Syscalls {
		return
	}
	row := abp.Syscall{Number: c.Number, TSC: c.TSC, Args: c.Args}
	// A call that never came back (exit, a thread killed in it) has no end and no
	// result.
	if c.Returned {
		row.EndTSC, row.Result = c.EndTSC, c.Result
	}
	// The kernel's own test (IS_ERR_VALUE): what lies below is an address.
	if c.Result < 0 && c.Result > -maxErrno {
		row.Errno = int32(-c.Result)
	}
	t.Mark(emit.SyscallNote(row, c.Recorded)...)
}

// maxErrno is one more than the highest error number that the kernel returns.
const maxErrno = 4096

// matcherOf is what the open windows record of a thread, nil if nothing.
func (ps *process) matcherOf(t thread) *config.ThreadMatcher {
	if im := ps.image; im.plans.any() && im.windows.Open() != 0 && im.writer != nil {
		return ps.planner(ps.planOf(t)).Thread()
	}
	return nil
}

// Signalled is engine.Handler's.
func (ps *process) Signalled(t thread, info *sys.Siginfo, sig sys.Signal, ip uint64) {
	if m := ps.matcherOf(t); m != nil && m.Signals {
		row := abp.Signal{Number: uint32(sig), TSC: sys.TSC(), Code: info.Code(), IP: ip}
		// A siginfo has either: si_pid and si_addr share their bytes.
		if info.Sent() {
			row.Sender = uint32(info.Sender())
		} else {
			row.Addr = info.Addr()
		}
		t.Mark(emit.SignalNote(row)...)
	}
	ps.happened(t, ip, config.EventSignal, func(e *config.Event) bool { return e.Number == 0 || e.Number == uint64(sig) })
}

// Forked is engine.Handler's.
func (ps *process) Forked(t thread) {
	ps.facts.forks++
	ps.happened(t, 0, config.EventFork, func(e *config.Event) bool { return e.Number == 0 || e.Number == ps.facts.forks })
}

// Executing is engine.Handler's: windows that the event closes end with the old
// program, those that it opens begin with the new one's first instruction.
func (ps *process) Executing(t thread) {
	ps.facts.execs++
	ps.facts.executing, ps.facts.executor = true, t.Num()
	if ps.windows != nil {
		// Opening events are collected before closing ones fire, since those may
		// re-arm them.
		ps.pending = ps.execLeaves(false)
		ps.fire(t, 0, ps.execLeaves(true)...)
	}
}

// execLeaves are the armed Exec events that this execve is.
// An execve that fails does not get this far: the event is the kernel's report of
// success.
func (ps *process) execLeaves(till bool) []*window.Leaf {
	var out []*window.Leaf
	for _, l := range ps.leaves() {
		e := l.Event
		if e.Kind == config.EventExec && l.Till == till && l.Armed() && (e.Number == 0 || e.Number == ps.facts.execs) {
			out = append(out, l)
		}
	}
	return out
}

// executed is called when the new program stands before its first instruction.
// Threads are one again, whatever the process had: execve ends the others.
func (ps *process) executed() {
	ps.facts.executing, ps.facts.live = false, 0
	for _, c := range ps.windows.Note(true, "open since before the program was executed") {
		output{ps.image.writer}.event(c, nil, 0, 0, ps.image.budget.counted())
	}
	ps.fire(nil, 0, ps.pending...)
	ps.pending = nil
}

// executedUnseen fires the Exec events of the program that a process's first image is of, which it has executed while it shared its creator's memory or was
// followed. What they close ends before its first instruction.
func (ps *process) executedUnseen() {
	if ps.facts.unseen == 0 {
		return
	}
	opens := ps.execLeaves(false)
	ps.fire(nil, 0, ps.execLeaves(true)...)
	ps.fire(nil, 0, opens...)
}

// created is called when a thread stands before its first instruction.
// The number of threads counts the one that is being created.
func (ps *process) created(t thread) {
	ps.facts.live++
	if ps.facts.live == 1 && ps.facts.execs > ps.facts.unseen { // the thread that executed the program
		return
	}
	ps.happened(t, 0, config.EventCreation, func(*config.Event) bool { return true })
	ps.countThreads(t)
	if ps.image.windows != nil {
		ps.watch() // a Time event may name it
	}
}

// Ending is engine.Handler's: a thread executes nothing any more. Those that are let
// go, or that end with their program, have not ended for the user.
func (ps *process) Ending(t thread) {
	ps.restEnds(t)
	ps.facts.live--
	ps.happened(t, 0, config.EventTermination, func(*config.Event) bool { return true })
	ps.countThreads(t)
}

// countThreads checks the bounds on the number of threads.
func (ps *process) countThreads(t thread) {
	n := ps.facts.live
	ps.happened(t, 0, config.EventThreads, func(e *config.Event) bool {
		return (e.SmallerEqual == 0 || n <= e.SmallerEqual) && (e.LargerEqual == 0 || n >= e.LargerEqual)
	})
}

// threadLives tells whether the thread that an event names lives; 0 is any.
// A Time event that names a thread waits until there is one.
func (ps *process) threadLives(num int) bool {
	if num == 0 {
		return true
	}
	for _, t := range ps.image.p.Threads() {
		if t.Num() == num && !t.Ended() {
			return true
		}
	}
	return false
}

// Alarm is engine.Handler's.
// Time is wall-clock time since the process's first instruction, through all its
// programs.
func (ps *process) Alarm() {
	ps.restAlarm()
	now := time.Since(ps.facts.started)
	ps.happenedIn(func(e *config.Event) bool {
		return e.Kind == config.EventTime && e.After <= now && ps.threadLives(e.Thread)
	})
	ps.watch()
}

// happenedIn fires the events that a test picks, in no thread.
func (ps *process) happenedIn(test func(*config.Event) bool) {
	var leaves []*window.Leaf
	for _, l := range ps.leaves() {
		if test(l.Event) {
			leaves = append(leaves, l)
		}
	}
	ps.fire(nil, 0, leaves...)
}

// Unmapped is engine.Handler's.
func (ps *process) Unmapped(start, end uint64) {
	for _, l := range ps.image.tables.Symbols.Images() {
		if l.Start < end && l.End > start {
			ps.warn(ps.refresh())
			return
		}
	}
}

// refresh reads which images the process has and fires what that means. An
// address space that is gone has none.
//
// The maps are only read when something says that images may have changed.
func (ps *process) refresh() error {
	im := ps.image
	loaded, unloaded, err := im.tables.Update()
	ps.keepTranslated(loaded)
	// An error means that the process is gone or dying: its end will be reported.
	if err != nil || im.events == nil || len(loaded)+len(unloaded) == 0 {
		return nil
	}
	// New functions are watched before Load events fire: these may open a window
	// that a Call is to close.
	if len(loaded) > 0 {
		ps.selected.see(im.tables)
		err = im.events.arm()
	}
	for _, l := range unloaded {
		im.p.Gone(l.Start, l.End)
		im.events.unloaded(l)
		im.capture.unloaded(l)
	}
	if len(loaded) > 0 {
		im.capture.look()
		ps.prepareNames(loaded)
	}
	ps.loaded(unloaded, loaded)
	return err
}

// prepareNames has the functions of images read of which something is recorded. The first block of an image needs them: by then they
// are there, or nearly so.
func (ps *process) prepareNames(came []*symbols.Loaded) {
	plans := &ps.image.plans
	if !plans.any() {
		return
	}
	p := ps.planner(plans.first(ps.threads))
	for _, l := range came {
		if p.Selects(l) {
			l.Image.Prepare()
		}
	}
}

// loaded fires the events on images that came and went.
// Unload events fire first: an image that is mapped elsewhere at once is gone and
// then there.
func (ps *process) loaded(gone, came []*symbols.Loaded) {
	for _, l := range gone {
		ps.happened(nil, 0, config.EventUnload, func(e *config.Event) bool { return e.MatchesImage(ps.image.tables.Key(l)) })
	}
	for _, l := range came {
		ps.happened(nil, 0, config.EventLoad, func(e *config.Event) bool { return e.MatchesImage(ps.image.tables.Key(l)) })
	}
}
