package engine

import (
	"time"

	"alleria/internal/layout"
)

// watches is what of a process's signals and ends the handler hears.
type watches struct {
	hearSignals bool // the handler is told of signals
	hearEnds    bool // threads stop where they begin to end
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

// nap is how long the tracer may sleep at most: until the next alarm, and for a moment only
// where a process has threads that do not ring, or there is something to do soon.
func (tr *Tracer) nap() time.Duration {
	nap := 100 * time.Millisecond
	for _, p := range tr.procs {
		if !p.alarm.IsZero() {
			nap = max(min(nap, time.Until(p.alarm)), time.Microsecond)
		}
		if p.shm.Ctl.U32(layout.NoCalls).Load() != 0 {
			nap = min(nap, soon)
		}
	}
	if tr.stops.AnyPostponed() {
		nap = min(nap, soon)
	}
	return nap
}

const soon = 100 * time.Microsecond

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

// stopsAtEnd tells whether the kernel is to report the thread's end.
func (t *Thread) stopsAtEnd() bool { return t.p.hearEnds && !t.vfork }

// endingStop takes a thread that stands at the beginning of its end. It executes
// nothing any more. The others are taken over to what follows from its end before it
// goes on.
func (t *Thread) endingStop() error {
	t.ending()
	if t.p.modeChanged {
		t.p.switchOthers()
	}
	t.tracee.Stopped = false
	return t.tracee.Cont(0)
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
