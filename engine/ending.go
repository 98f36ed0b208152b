package engine

import (
	"fmt"
	"time"

	"alleria/internal/sys"
)

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

// setOptions makes the kernel report the end of a stopped thread, or no longer, as
// the client wants it. What a new thread has inherited from its parent, or a program
// from the one before, is not known: theirs are set once in any case.
func (t *Thread) setOptions() error {
	want := t.p.hearEnds && !t.vfork
	if t.optionsSet && t.stopsAtEnd == want {
		return nil
	}
	t.optionsSet, t.stopsAtEnd = true, want
	return sys.SetOptions(t.tid, want)
}

// endingStop takes a thread that stands at the beginning of its end. It executes
// nothing any more. The others are taken over to what follows from its end before it
// goes on.
func (tr *Tracer) endingStop(t *Thread) error {
	tr.ending(t)
	if t.p.modeChanged {
		tr.switchOthers(t.p)
	}
	t.stopped = false
	return sys.Cont(t.tid, 0)
}

// ending tells the client once that a thread ends or has ended.
func (tr *Tracer) ending(t *Thread) {
	t.ending = true
	if t.vfork || t.endTold {
		return
	}
	t.endTold = true
	t.p.client.Ending(t)
}

// Ended tells whether a thread executes nothing any more.
func (t *Thread) Ended() bool { return t.ending }

// interrupt asks a thread to stop, which will report something. errEnded: it does not,
// as its end is all that there is to come, maybe long after.
func (t *Thread) interrupt() error {
	if t.ending {
		return errEnded
	}
	return sys.Interrupt(t.tid)
}

// endedFirst finds out whether t is the first thread and has ended while others live.
// It is asked when a stop fails to come: beforehand it would cost each of them a look
// into /proc.
func (t *Thread) endedFirst() bool {
	if t.p == nil || t.tid != t.p.pid || len(t.p.threads) < 2 || !sys.Zombie(t.tid) {
		return false
	}
	t.ending = true
	return true
}

// A stop that was asked for may take so long until it is looked at whether the thread
// can still stop, and so many times as long until others are resumed for it.
const (
	patience  = 2 * time.Millisecond
	patiences = 10
)

// nextStop is the next report of the kernel while t's is waited for. Two things could
// keep t from reporting anything: it is the first thread and has just ended, or it
// waits in the kernel, within an execve or for a core dump to be written, until
// others have ended that stand at the beginning of their end because nobody has
// looked at them yet. Those are resumed then; that they have ended is heard of later.
func (tr *Tracer) nextStop(t *Thread) (s sys.Stop, ok bool, err error) {
	n, since := 0, time.Time{}
	for {
		if s, ok = tr.reports.Next(); ok || tr.reports.Over() {
			return s, ok, nil
		}
		if since.IsZero() {
			since = time.Now()
		}
		if tr.awaitReport(); tr.reports.Pending() || time.Since(since) < patience {
			continue
		}
		n, since = n+1, time.Now()
		if t.endedFirst() {
			return s, false, errEnded
		}
		if n >= patiences {
			tr.resumeEnding()
		}
	}
}

// resumeEnding lets the threads go on that stand at the beginning of their end and
// were put aside for later.
func (tr *Tracer) resumeEnding() {
	kept := tr.later[:0]
	for _, s := range tr.later {
		if s.Event() == eventExit {
			if err := sys.Cont(s.TID, 0); !passing(err) {
				tr.fail(fmt.Errorf("thread %d at its end: %w", s.TID, err))
			}
			continue
		}
		kept = append(kept, s)
	}
	tr.later = kept
}
