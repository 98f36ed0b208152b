package engine

import (
	"fmt"
	"time"

	"alleria/engine/tracee"
	"alleria/internal/sys"
)

// stop handles one report of the kernel.
//
// Errors end up in Thread.failed: a thread that cannot be brought on would hang the target.
func (tr *Tracer) stop(s sys.Stop) {
	if !tr.stops.Handles(s) {
		if t := tr.threads[s.TID]; t != nil {
			t.tracee.Ending = true
		}
		return
	}
	if pid, ok := tr.followed.ProcessOf(s.TID); ok {
		if err := tr.followed.Stop(s); !tracee.Passing(err) && !sys.Dying(s.TID) { // it stands, and would for good
			tr.fail(fmt.Errorf("process %d: %w; it was ended", pid, err))
			sys.Kill(pid)
		}
		tr.lookWhetherDone()
		return
	}
	t := tr.threads[s.TID]
	if t == nil {
		tr.stopUnknown(s)
		return
	}
	p := t.p
	if s.Status.Exited() || s.Status.Signaled() {
		tr.ended(t, s)
		tr.lookWhetherDone()
		return
	}
	t.tracee.Stopped = true
	p.stats.Stops++
	t.sync()
	err := t.tracee.UnshelterAt(s)
	if err == nil {
		err = tr.stopped(t, s)
	}
	t.failed(err)
}

// stopped handles what a thread has stopped for.
func (tr *Tracer) stopped(t *Thread, s sys.Stop) (err error) {
	switch ev := s.Event(); ev {
	case 0:
		if s.Signal() == tracee.CallStop && !t.callStops { // it was sheltered until then
			err = t.run(0)
		} else if s.Signal() == tracee.CallStop {
			err = t.callStop()
		} else {
			err = t.signal(s.Signal())
		}
	case tracee.EventExec:
		err = tr.exec(t)
	case tracee.EventFork, tracee.EventVfork, tracee.EventClone:
		err = tr.born(t, ev)
	case tracee.EventExit:
		err = t.endingStop()
	case tracee.EventStop:
		err = t.groupStop(s)
	case tracee.EventVforkDone:
		t.vforking = false
		if t.modeDiffers() && !t.calls.Awaits() {
			err = t.switchStopped()
			break
		}
		err = t.run(0)
	}
	return err
}

// stopUnknown is stop for a process that is not one of the threads. An error about one that is dying is not worth a word.
func (tr *Tracer) stopUnknown(s sys.Stop) {
	if err := tr.unknown(s); !tracee.Passing(err) && !sys.Dying(s.TID) {
		tr.fail(err)
	}
	tr.lookWhetherDone()
}

// groupStop leaves a thread in a stop that job control asked for; other stops of
// the kind are the tracer's own and over: where a thread that was to be stopped (tracee.Thread.Halt) had something else to report, what the caller
// wanted is done here.
// The difference is in the signal: SIGTRAP for PTRACE_INTERRUPT's own stop, the
// stopping signal for job control's (ptrace(2), group-stop).
func (t *Thread) groupStop(s sys.Stop) error {
	switch s.Signal() {
	case tracee.SIGSTOP, tracee.SIGTSTP, tracee.SIGTTIN, tracee.SIGTTOU:
		t.tracee.GroupStopped = true
		return t.run(0)
	}
	if t.tracee.FaultWaits() { // the signal's own stop comes next
		return t.run(0)
	}
	// It was to be stopped for that, and something else came first; or it was, and is about to
	// make a system call by now, behind which callStop takes it over.
	if t.modeDiffers() && !t.calls.Awaits() {
		return t.switchStopped()
	}
	return t.run(0)
}

// lookWhetherDone ends the run with the last process that is traced or followed, and with the last that may stand without anybody having told of it.
func (tr *Tracer) lookWhetherDone() {
	tr.done = tr.done || tr.over && tr.empty() && (time.Now().After(tr.untold) || !sys.AnyTracee())
}

// empty tells whether no process is traced, followed or being born.
func (tr *Tracer) empty() bool {
	return len(tr.procs) == 0 && tr.followed.Empty() && tr.births.Empty()
}

// ended takes the end of a thread.
// The first thread may end before others: the process's status comes with its
// leader's.
func (tr *Tracer) ended(t *Thread, s sys.Stop) {
	tr.forget(t)
	switch {
	case t.vfork && t.fate != Detach:
		tr.exited(t.tid, endOf(s))
	case !t.vfork && t.tid == t.p.pid:
		end := endOf(s)
		t.p.end = &end
	}
	tr.finished(t.p)
}

// finished takes the end of a process when nothing of it is left but children that share its address space.
func (tr *Tracer) finished(p *Process) {
	for _, t := range p.threads {
		if !t.vfork {
			return
		}
	}
	tr.dropProcess(p)
	if end := p.end; end != nil {
		p.end = nil
		tr.exited(p.pid, *end)
	}
}

// forget removes a thread that is no more.
// Its ring is drained by then, so that the slot may be given to the next thread.
func (tr *Tracer) forget(t *Thread) {
	p := t.p
	t.ending()
	delete(p.threads, t.tid)
	delete(tr.threads, t.tid)
	p.list = nil
	tr.stops.Forget(&t.tracee)
	if !t.vfork {
		t.p.points.AbandonReturns(t.slot)
		t.endRing()
		t.p.client.ThreadEnded(t)
	}
	p.shm.GiveBack(t.slot)
}

// run lets a stopped thread run on from where it is, or, if job control
// stopped it, once that lets it.
func (t *Thread) run(sig sys.Signal) error {
	t.unseen = t.unseen || t.native
	t.callStops = t.calls.Stops()
	return t.tracee.Resume(sig, t.callStops, t.stopsAtEnd())
}

// step executes one instruction of a stopped thread and waits for it. Signals
// that arrive instead are held until the thread is at a safe point.
//
// That the program ignores SIGTRAP the kernel would forget with the step's trap; that is looked after where the program
// was started so, or has been seen to do it.
func (t *Thread) step() error {
	t.unseen = t.unseen || t.native
	ignored := t.p.trap.Ignores() && t.slot != nil
	if ignored {
		sets, err := sys.ReadSignalSets(t.tid)
		ignored = err == nil && sets.Ignored>>(tracee.SIGTRAP-1)&1 != 0
	}
	err := t.tracee.Step(t.givesBack)
	if ignored && err == nil {
		err = t.ignoreTrap()
	}
	return err
}

// newThread makes a thread of p that is stopped; p is nil where it has none yet.
func (tr *Tracer) newThread(p *Process, tid int) *Thread {
	t, pid := &Thread{p: p, tid: tid}, 0
	if p != nil {
		pid = p.pid
	}
	t.tracee.Init(tr.stops, threadHost{t}, tid, pid, true)
	if p != nil {
		t.calls.Init(&p.calls, threadHost{t}, &t.tracee)
	}
	return t
}

// watches is what of a process's signals and ends the handler hears.
type watches struct {
	hearSignals bool // the handler is told of signals
	hearEnds    bool // threads stop where they begin to end
}

// The end of a thread. The kernel reports it when the thread has gone: by then its
// clear_child_tid has been written and whoever joined it runs on. For a client that
// has to know before, the thread stops at the beginning of its end
// (PTRACE_EVENT_EXIT), for as long as that client asks for it: the option is each
// thread's own and can be changed while the thread is stopped.
//
// Refused: the stop for all threads at all times. It holds up exit_group by a round
// trip a thread, and a killed program's end by a tracer that is slow to answer.
//
// Of the first thread that ends before others the kernel reports nothing until these
// have ended, too. It cannot be stopped any more; waiting for it would hang the others.

// WatchEnds asks for Handler.Ending while the thread can still hold up others, or no
// longer. Threads that run are stopped once for it; to be rid of it nobody is.
func (p *Process) WatchEnds(on bool) {
	if p.hearEnds == on {
		return
	}
	p.hearEnds = on
	if on {
		p.modeChanged = true
	}
}

// stopsAtEnd tells whether the kernel is to report the thread's end. Of the first thread of a program that has had others it is, as one of these may
// take its id (tracee.Thread.GoToEnd).
func (t *Thread) stopsAtEnd() bool {
	return !t.vfork && (t.p.hearEnds || t.tid == t.p.pid && t.p.lastNum > t.num)
}

// endingStop takes a thread that stands at the beginning of its end. It executes
// nothing any more. The others are taken over to what follows from its end before it
// goes on.
func (t *Thread) endingStop() error {
	t.tracee.Ending = true
	return t.tracee.AtEnd(func() {
		if t.p.hearEnds {
			t.ending()
		}
		if t.p.modeChanged {
			t.p.switchOthers()
		}
		t.tracee.Stopped = false
	})
}

// ending tells the client once that a thread ends or has ended.
func (t *Thread) ending() {
	t.tracee.Ending = true
	if t.vfork || t.endTold {
		return
	}
	t.endTold = true
	t.p.client.Ending(t)
}

// Ended tells whether a thread executes nothing any more.
func (t *Thread) Ended() bool { return t.tracee.Ending }
