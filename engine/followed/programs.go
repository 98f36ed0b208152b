package followed

import (
	"time"

	"alleria/engine/asking"
	"alleria/engine/tracee"
	"alleria/internal/sys"
)

// A thread that is killed within fork has created a child and says nothing of it: the kernel reports no event of who has a deadly signal
// pending. What is killed creates none any more: fork looks for deadly signals where the child is made known.
//
// The child has a copy of its creator's memory, whose stack begins where its creator's does, and nobody else's but that of who executes a copy of the same program. As long as no other process does that
// its creator is known when the child is found, though it is gone: one that was killed, with this stack. So most processes end without a stop, which is one of five, and holds up whoever waits for them.
//
// A first thread stops in front of its end, where the process still has its children, where there may be several that have been killed: in a process that has created another one with a
// copy of its memory, in that, and in one of several threads, of which one may end the others within fork. A creator by vfork waits for its child, which takes its place in this: until it executes another
// program it is the only one of the two to create something.
//
// Refused: the stop for all threads, which would hold up exit_group by a round trip each; to go by the
// first look at the child, whose creator has mostly, not always, not got to its end by then.

// Options is what the kernel does for a thread besides what it does for all that are followed. A new thread has its creator's.
type Options int8

const (
	unknown Options = iota // or it is not known to be followed
	plain                  // nothing
	atEnd                  // it stops in front of its end
)

// program is one that a process executes, and processes with copies of its memory, which have its stack where it began.
type program struct {
	stack  uint64
	copied bool // there is, or was, such a copy
}

// killed is a process that was killed, and may have left a child of which it has not told.
type killed struct {
	pid   int
	stack uint64
	set   *asking.Set
}

// FollowProgram is Follow for a process that stands in front of the first instruction of a program; stack is where its stack begins, 0: that is not known.
func (f *Threads) FollowProgram(pid int, stack uint64, has Options) error {
	t := thread{pid: pid, options: has}
	if stack != 0 {
		t.program = &program{stack: stack}
	}
	return f.follow(pid, t, 0)
}

// FollowBorn is Follow for a new thread, or process, of which Born has told: creator is the process that has created it.
func (f *Threads) FollowBorn(tid, pid, creator int, has Options) error {
	t := thread{pid: pid, options: has}
	if tid == pid {
		t.program = f.threads[creator].program
	}
	return f.follow(tid, t, 0)
}

// optionsFor is what a thread is to have.
func (f *Threads) optionsFor(tid int, t thread) Options {
	switch {
	case tid != t.pid: // who would hold up exit_group
		return plain
	case f.always || t.several || t.program == nil || t.program.copied:
		return atEnd
	}
	return plain
}

// has notes what a thread has.
func (f *Threads) has(tid int, o Options) {
	t := f.threads[tid]
	t.options = o
	f.threads[tid] = t
}

// stopAtEnd has a process stop in front of its end whose thread, which stands, has created a thread or a copy of its memory. Of several threads the first one does already.
func (f *Threads) stopAtEnd(creator *tracee.Thread, t thread) error {
	if creator.TID != t.pid || t.options != plain {
		return nil
	}
	if err := creator.FollowOptions(true); err != nil {
		return err
	}
	f.has(creator.TID, atEnd)
	return nil
}

// message is tracee.Thread.Message. Who does not stop in front of its end, or stands there, and has no other thread to execute a program, has no other event to stand in: it need not be asked which it is.
func (f *Threads) message(bare *tracee.Thread, t thread, event int) (int, error) {
	if (t.options == plain || event == tracee.EventExit) && bare.TID == t.pid && !t.several {
		return bare.OnlyMessage()
	}
	return bare.Message(event)
}

// bequeath keeps what a child is known by that a process may have created when it was killed.
func (f *Threads) bequeath(s sys.Stop, t thread) {
	if s.Status.Signaled() && s.Status.Signal() == tracee.SIGKILL && t.program != nil && t.options != atEnd {
		f.killed.Keep(killed{t.pid, t.program.stack, f.sets[t.pid]}, time.Now())
	}
}

// Orphaned tells whether a process that nobody has told of was created by one that has been killed, and by which: the last one, where there are several. It has what its creator had of breakpoints then.
func (f *Threads) Orphaned(pid int) (creator int, ok bool) {
	if f.killed.Empty() {
		return 0, false
	}
	f.killed.Expire(time.Now())
	stack := f.system.StackStart(pid)
	if stack == 0 {
		return 0, false
	}
	var set *asking.Set
	for k := range f.killed.All() {
		if k.stack == stack {
			creator, set, ok = k.pid, k.set, true
		}
	}
	if set != nil {
		f.sets[pid] = set.Copy(true)
	}
	return creator, ok
}
