package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"alleria/engine/asking"
	"alleria/engine/followed"
	"alleria/engine/mapping"
	"alleria/engine/syscalls"
	"alleria/engine/tracee"
	"alleria/internal/sys"
)

// Programs that are executed, and processes that are followed or detached: those that have no code cache.

// start is where the stack of a program begins that a process has executed.
type start struct {
	pid   int
	stack uint64
}

// of is that of the program that a process executes, 0 if it is another one's.
func (s start) of(pid int) uint64 {
	if s.pid != pid {
		return 0
	}
	return s.stack
}

// Started is what the program of a process was started with: for Client.Executed. An error: it has to be asked for elsewhere (sys.Started).
func (tr *Tracer) Started(pid int) (sys.Start, error) {
	s, err := sys.Started(pid)
	tr.start = start{pid, s.Stack}
	return s, err
}

// exec handles a thread that executed another program.
//
// The kernel has ended the other threads and unmapped everything of ours by then. Records
// that the old image wrote are still in the shared file, which is why its end is reported
// before the file is closed.
func (tr *Tracer) exec(t *Thread) error {
	p := t.p
	if t.vfork { // a child by vfork: it leaves the address space that it has shared
		fate := t.fate
		if fate != Detach {
			fate = tr.client.Executed(t.tid)
		}
		tr.forget(t)
		tr.finished(p)
		return tr.executed(t.tid, inherited{filtered: p.calls.Filtered, widened: p.calls.Widened}, fate)
	}
	by := t
	// A thread that is not the first takes over the process's id with the first one's place.
	if former, err := t.tracee.Message(tracee.EventExec); err == nil && p.threads[former] != nil {
		by = p.threads[former]
	}
	by.calls.Leaves()
	p.client.Executing(by)
	from := inherited{first: by.num, last: p.lastNum, filtered: p.calls.Filtered, widened: p.calls.Widened}
	// The other threads ended without being heard of by themselves. What shares the address space lives on.
	for _, o := range p.running() {
		if o.vfork {
			continue
		}
		p.points.AbandonReturns(o.slot)
		o.endRing()
		p.client.ThreadEnded(o)
	}
	tr.dropProcess(p)
	return tr.executed(t.tid, from, tr.client.Executed(t.tid))
}

// executed lets a process that stands before the first instruction of a program that it has executed go on as its fate
// says.
//
// One that is killed meanwhile is no error, and has to be known from here on: its end is still to come, and nobody else
// looks for it.
func (tr *Tracer) executed(pid int, from inherited, fate Fate) error {
	err := tr.beginExecuted(pid, from, fate)
	if err == nil || !tracee.Passing(err) && !sys.Dying(pid) {
		return err
	}
	if _, known := tr.followed.ProcessOf(pid); !known && tr.threads[pid] == nil && fate != Detach {
		tr.followed.Add(pid, pid)
	}
	return nil
}

// beginExecuted is executed.
func (tr *Tracer) beginExecuted(pid int, from inherited, fate Fate) error {
	if fate != Trace {
		syscalls.Narrow(pid, from.widened)
	}
	if done, err := tr.giveRights(pid, from, fate); done || err != nil {
		return err
	}
	switch fate {
	case Detach:
		return tr.detach(pid, 0, nil)
	case Follow:
		if tr.followed.Quitting() {
			return tr.detach(pid, 0, nil)
		}
		return tr.followed.FollowProgram(pid, tr.start.of(pid), from.options)
	}
	p, err := newProcess(tr, pid, from, mapping.Executing)
	if err != nil {
		syscalls.Narrow(pid, from.widened)
		return tr.untraced(pid, 0, err)
	}
	t := p.threads[pid]
	var regs sys.Regs
	if err := t.tracee.GetRegs(&regs); err != nil {
		delete(tr.threads, pid) // no client knows of it
		p.close()
		return err
	}
	err = tr.begin(p, t, &regs)
	if err == nil {
		err = p.watchStart(regs.Rip)
	}
	if err == nil {
		err = t.enter(&regs, 0)
	}
	if err == nil || tracee.Passing(err) || sys.Dying(pid) {
		return err
	}
	p.failed(err) // whoever asked knows the program before alone, which is gone
	return nil
}

// RightsError is why a process is not traced whose program has rights of its own, which the kernel gives nobody whom a tracer without rights traces.
type RightsError struct{ Which string }

func (e *RightsError) Error() string { return "its program has rights of its own: " + e.Which }

// errUnreadable is why a process is not traced whose program's file may not be read.
var errUnreadable = errors.New("its file may not be read; rights of its own (set-user-ID) it has not got, if it has any")

// giveRights lets a process go that has executed a program with rights of its own, which it has not got: it executes the program once more, which is the kernel's to see to
// then. False: there is nothing to give.
//
// That is known behind the call alone: natively nobody sees it come, and what it executes in the end, behind scripts and on which file system, is the kernel's knowledge.
func (tr *Tracer) giveRights(pid int, from inherited, fate Fate) (done bool, err error) {
	if tr.keepsNone() {
		return false, nil
	}
	which, err := sys.LostRights(pid)
	closed := errors.Is(err, fs.ErrPermission)
	if which == "" && (!closed || fate == Detach) {
		return false, nil
	}
	if fate == Trace {
		syscalls.Narrow(pid, from.widened)
	}
	if closed { // nor can its memory be written to
		return true, tr.untraced(pid, 0, errUnreadable)
	}
	why := error(&RightsError{which})
	err = sys.ExecuteAgain(pid)
	switch {
	case fate == Detach:
		return true, tr.detach(pid, 0, nil)
	case err != nil:
		return true, tr.untraced(pid, 0, fmt.Errorf("%w, and they could not be given: %w", why, err))
	}
	tr.client.Untraced(pid, why)
	return true, tr.detach(pid, 0, why)
}

// untraced lets a program that cannot be traced run to its
// end, with a signal that it is about to take. It is followed; the exit status is still the target's.
func (tr *Tracer) untraced(pid int, sig sys.Signal, why error) error {
	if !tracee.Passing(why) && !sys.Dying(pid) {
		if pid == tr.root {
			tr.status.Untraced = why
		}
		tr.client.Untraced(pid, why)
	}
	return tr.follow(pid, pid, sig)
}

// follow lets a stopped thread run on, untraced but followed, with a signal.
func (tr *Tracer) follow(tid, pid int, sig sys.Signal) error {
	if tr.followed.Quitting() {
		return tr.detach(pid, sig, nil)
	}
	return tr.followed.Follow(tid, pid, sig)
}

// follow lets a stopped thread of a process run on, untraced but followed, with the signals that are held for it.
func (t *Thread) follow(pid int) error {
	sig, err := t.tracee.ToDetach()
	if err != nil {
		return err
	}
	return t.p.tr.follow(t.tid, pid, sig)
}

// detach detaches a stopped process of one thread for good, with a signal that it is about to take. The end of the user's own is still told: it is our
// child.
func (tr *Tracer) detach(pid int, sig sys.Signal, why error) error {
	if pid == tr.root {
		tr.followed.Await(pid)
		tr.status.Untraced = why
	} else {
		tr.client.Exited(pid, End{})
	}
	// Threads that were detached just before may end the process meanwhile.
	if err := tr.stops.Bare(pid).Detach(sig); !tracee.Passing(err) {
		return err
	}
	return nil
}

// followHost is a run as what it follows sees it.
type followHost struct{ tr *Tracer }

var _ followed.Host = followHost{}

// Exited takes the end of a process that was followed.
func (h followHost) Exited(s sys.Stop) {
	if s.Status.Signaled() {
		h.tr.untold = time.Now().Add(untoldFor)
	}
	h.tr.exited(s.TID, endOf(s))
}

// DetachStopped detaches a process that stands. Why it was not traced stays as it is.
func (h followHost) DetachStopped(pid int, sig sys.Signal) error {
	return h.tr.detach(pid, sig, h.tr.status.Untraced)
}

// Released detaches a process since it is traced by another one.
func (h followHost) Released(pid int, sig sys.Signal, why error) error {
	h.tr.client.Untraced(pid, why)
	return h.tr.detach(pid, sig, why)
}

// TracesItself is why one is that asks for it.
func (h followHost) TracesItself() error { return errTracesItself }

// Attached lets the process of a thread go that another one attaches to.
func (h followHost) Attached(tid int, then func() error) error {
	return h.tr.letGo(tid, leaving{why: errAttached, then: then})
}

// CallSites is where a process makes calls that have to be known of, and Memory opens its memory.
func (h followHost) CallSites(pid int) []asking.Site         { return h.tr.client.FollowedSites(pid) }
func (h followHost) Memory(pid int) (followed.Memory, error) { return mapping.OpenBriefly(pid) }

// Executed decides about a program that a process has executed.
func (h followHost) Executed(pid int, has followed.Options) error {
	return h.tr.executed(pid, inherited{options: has}, h.tr.client.Executed(pid))
}

// Born takes what a process has created.
func (h followHost) Born(pid, id, event int, has followed.Options) error {
	if h.tr.knows(id) {
		return nil
	}
	k := told{follower: pid, has: has}
	if event != tracee.EventClone {
		k.fate = h.tr.client.Born(pid, id)
	}
	if h.tr.bornAs(id, event, k) {
		return h.tr.adopt(id)
	}
	return nil
}

// exited takes the end of a process that was followed.
func (tr *Tracer) exited(pid int, end End) {
	if pid == tr.root {
		tr.status.End, tr.over = end, true
	}
	tr.client.Exited(pid, end)
}

// endOf is how a process ended.
func endOf(s sys.Stop) End {
	e := End{Exited: s.Status.Exited(), Code: s.Status.ExitStatus()}
	if s.Status.Signaled() {
		e.Signal = s.Status.Signal()
	}
	if s.Usage != nil {
		e.Usage = *s.Usage
	}
	return e
}

// DetachAll lets everything that is followed go as soon as it stops, which it is asked for, and follows nothing any more.
// Traced processes go on as they are: Process.LetRun.
func (tr *Tracer) DetachAll() { tr.followed.DetachAll(tr.fail) }
