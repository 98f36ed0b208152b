// Package followed is the threads of processes that are followed and not traced: they run their own code, with nothing of
// ours mapped, and stop for what the kernel reports of processes and programs, and where they call ptrace. There is nothing to be answered for them but whether
// what they create or execute is to be traced, which package engine is asked (Host), and who is detached for a tracer among them (asked.go).
//
// A process that is killed within fork tells of no child. Whose such a child is follows from where its stack begins, which is where its creator's did (programs.go); where several
// processes that may have created it have that stack, or the process has several threads, the first thread stops in front of its end too, and is asked for its children there.
//
// In a nutshell: Threads holds them by id. Follow lets a stopped thread run on as one of them, Stop handles a report about one, DetachAll
// detaches all of them as they stop, Release those of one process. The user's own process stays in the list when it is detached (Await): it is our child, whose end is told.
//
// The tracer's goroutine makes all calls. Requests of ptrace are package tracee's, and what /proc says of a child is that of package births, so that
// tests need no process. It keeps no children: those are package births's.
package followed

import (
	"errors"
	"fmt"
	"io"

	"alleria/engine/asking"
	"alleria/engine/births"
	"alleria/engine/tracee"
	"alleria/internal/sys"
)

// Host is who decides about processes.
type Host interface {
	// Exited is called when a process has ended, with the report of that.
	Exited(s sys.Stop)
	// Born is called when a thread of process pid has created something: event says what it is, rather than by which call. Of one that is killed
	// meanwhile it may be called once more. has is what the kernel does for it (FollowBorn).
	Born(pid, id, event int, has Options) error
	// Executed is called when a process stands before the first instruction of a program that it has executed. It is not followed
	// any more. has is as with Born.
	Executed(pid int, has Options) error
	// DetachStopped detaches a process that stands, with a signal, after DetachAll.
	DetachStopped(pid int, sig sys.Signal) error
	// Released is the same after Release, and TracesItself its reason for a process that asks to be traced.
	Released(pid int, sig sys.Signal, why error) error
	TracesItself() error
	// Attached lets the process of a thread go that another one attaches to. Then comes what follows, at once where it is not traced or followed.
	Attached(tid int, then func() error) error
	// CallSites is where a process makes calls that have to be known of, and Memory opens its memory.
	CallSites(pid int) []asking.Site
	Memory(pid int) (Memory, error)
}

// Memory is a process's.
type Memory interface {
	asking.Memory
	io.Closer
}

// Threads is the threads that are followed in a run.
type Threads struct {
	stops    *tracee.Stops
	system   System
	host     Host
	always   bool                // every first thread stops in front of its end
	threads  map[int]thread      // by id
	sets     map[int]*asking.Set // of processes, by id; one for all that share a memory
	leaving  map[int]*leaving    // processes that are detached
	late     map[int]bool        // children in whose creation breakpoints were put into their creators' memory, which have none yet
	killed   births.Remembered[killed]
	quitting bool
}

// System is what a process is looked up by.
type System interface {
	births.System
	// StackStart is where the stack of its program begins, 0: that is not known.
	StackStart(pid int) uint64
}

// Linux is the system.
type Linux struct{ births.Linux }

var _ System = Linux{}

// StackStart is System's.
func (Linux) StackStart(pid int) uint64 { return sys.StackStart(pid) }

// thread is one that is followed.
type thread struct {
	pid     int
	free    bool // it is not even followed: it is the user's own process, whose end is awaited
	several bool // of a first thread: its program has had others
	ending  bool // it stands in front of its end, or is behind that
	options Options
	program *program // of a first thread; nil: not known
}

// New makes an empty list. always: every first thread stops in front of its end.
func New(s *tracee.Stops, system System, h Host, always bool) Threads {
	return Threads{stops: s, system: system, host: h, always: always, threads: make(map[int]thread), sets: make(map[int]*asking.Set), leaving: make(map[int]*leaving),
		late: make(map[int]bool), killed: births.Remember(func(killed) {})}
}

// Follow lets a stopped thread run on, untraced but followed, with a signal.
func (f *Threads) Follow(tid, pid int, sig sys.Signal) error {
	return f.follow(tid, thread{pid: pid}, sig)
}

// follow is Follow for a thread of which more may be known. What it has inherited of options may be right already.
func (f *Threads) follow(tid int, t thread, sig sys.Signal) error {
	bare, want := f.stops.Bare(tid), f.optionsFor(tid, t)
	had := t.options
	t.options = unknown // it may be killed by now
	f.add(tid, t)
	if want != had {
		if err := bare.FollowOptions(want == atEnd); err != nil {
			return err
		}
	}
	f.has(tid, want)
	return bare.Cont(sig)
}

// Add has a thread followed from its next report on, which may be its end.
func (f *Threads) Add(tid, pid int) { f.add(tid, thread{pid: pid}) }

func (f *Threads) add(tid int, t thread) {
	f.threads[tid] = t
	pid := t.pid
	if first, ok := f.threads[pid]; ok && tid != pid {
		first.several = true
		f.threads[pid] = first
	}
}

// Await has the end of the user's own process told, which is detached.
func (f *Threads) Await(pid int) { f.threads[pid] = thread{pid: pid, free: true} }

// ProcessOf is the process of a thread in the list; false if it is in none.
func (f *Threads) ProcessOf(tid int) (pid int, ok bool) {
	t, ok := f.threads[tid]
	return t.pid, ok
}

// Follows tells whether a thread is followed, and not only its end awaited.
func (f *Threads) Follows(tid int) bool {
	t, ok := f.threads[tid]
	return ok && !t.free
}

// Empty tells whether nothing is followed, and no end awaited.
func (f *Threads) Empty() bool { return len(f.threads) == 0 }

// Quitting tells whether nothing is to be followed any more; see DetachAll.
func (f *Threads) Quitting() bool { return f.quitting }

// Stop handles one report about a thread in the list.
func (f *Threads) Stop(s sys.Stop) error {
	tid, t, bare := s.TID, f.threads[s.TID], f.stops.Bare(s.TID)
	switch {
	case s.Status.Exited() || s.Status.Signaled():
		delete(f.threads, tid)
		if tid == t.pid {
			f.bequeath(s, t)
			delete(f.sets, tid)
			f.host.Exited(s)
		}
		return f.left(t.pid)
	case t.free: // it has made us, its parent, its tracer: signals are passed on
		sig := s.Signal()
		if sig == tracee.SIGTRAP {
			sig = 0
		}
		return bare.Cont(sig)
	}
	site, regs, err := f.hit(bare, s, t.pid)
	switch {
	case err != nil:
		return err
	case f.quitting || f.leaving[t.pid] != nil && (s.Event() == 0 || s.Event() == tracee.EventStop):
		sig := sys.Signal(0)
		if s.Event() == 0 && site == nil {
			sig = s.Signal()
		}
		if !f.quitting {
			return f.leave(bare, sig)
		}
		return f.letGo(bare, s, t, sig)
	case site != nil:
		return f.asked(bare, t, site, &regs)
	}
	return f.event(bare, s, t)
}

// letGo detaches a thread that stands, as all are. What it has just created stands or will, and nobody else says whose it is: it is told of first.
func (f *Threads) letGo(bare *tracee.Thread, s sys.Stop, t thread, sig sys.Signal) error {
	var err error
	switch ev := s.Event(); ev {
	case tracee.EventFork, tracee.EventVfork, tracee.EventClone:
		err = f.tell(bare, t, ev)
	}
	f.remove(t.pid)
	delete(f.threads, s.TID)
	if s.TID == t.pid {
		return errors.Join(err, f.host.DetachStopped(s.TID, sig))
	}
	return errors.Join(err, bare.Detach(sig))
}

// event handles what the kernel reports of processes and programs, and passes everything else on.
func (f *Threads) event(bare *tracee.Thread, s sys.Stop, t thread) error {
	switch ev := s.Event(); ev {
	case tracee.EventFork, tracee.EventVfork, tracee.EventClone:
		return f.born(bare, t, ev)
	case tracee.EventExit:
		return f.ending(bare, t)
	case tracee.EventExec:
		if t.several {
			if err := f.untold(t.pid); err != nil {
				return err
			}
		}
		for id, o := range f.threads { // the others have ended, and say nothing of it
			if o.pid == t.pid {
				delete(f.threads, id)
			}
		}
		err := f.left(t.pid)
		delete(f.sets, t.pid)
		options := t.options
		if t.several { // maybe another thread has executed it, and has the first one's id now
			options = unknown
		}
		if xerr := f.host.Executed(t.pid, options); xerr != nil {
			return xerr
		}
		return err
	}
	return bare.PassOn(s)
}

// born takes the event of a thread that has created something, which goes on then.
func (f *Threads) born(parent *tracee.Thread, t thread, kernel int) error {
	if err := f.tell(parent, t, kernel); err != nil {
		return err
	}
	if kernel != tracee.EventVfork { // it creates nothing until the child executes a program, or ends
		if err := f.stopAtEnd(parent, t); err != nil {
			return err
		}
	}
	return parent.Cont(0)
}

// tell says what a thread has created, as its event has it.
func (f *Threads) tell(parent *tracee.Thread, t thread, kernel int) error {
	id, err := f.message(parent, t, kernel)
	if err != nil {
		return err
	}
	pid, event := t.pid, kernel
	process := f.system.Leads(id)
	switch {
	case !process && event != tracee.EventClone && !f.system.Traced(id): // a process that has ended already: it has its number all the same
	case !process: // a thread, or something that has ended already
		event = tracee.EventClone
	case event != tracee.EventVfork && !f.system.SharesMemory(id, pid):
		event = tracee.EventFork
	default:
		event = tracee.EventVfork
	}
	if event != tracee.EventClone {
		f.watchFor(pid, id)
	}
	if event != tracee.EventClone && kernel != tracee.EventVfork && t.program != nil {
		t.program.copied = true
	}
	return f.host.Born(pid, id, event, t.options)
}

// ending takes the first thread of a process that stands in front of its end.
func (f *Threads) ending(bare *tracee.Thread, t thread) error {
	status, err := f.message(bare, t, tracee.EventExit)
	if err != nil {
		return err
	}
	if killed := status&0x7f == int(tracee.SIGKILL); killed || t.several {
		if err := f.untold(t.pid); err != nil {
			return err
		}
	}
	t.ending = true
	f.threads[bare.TID] = t
	if err := bare.Cont(0); err != nil {
		return err
	}
	return f.left(t.pid)
}

// untold tells of the children of a process, which tells of none itself any more. The host knows most of them.
func (f *Threads) untold(pid int) error {
	for _, id := range f.system.Children(pid) {
		event := tracee.EventFork
		if f.system.SharesMemory(id, pid) {
			event = tracee.EventVfork
		}
		if err := f.host.Born(pid, id, event, unknown); err != nil {
			return err
		}
	}
	return nil
}

// DetachAll detaches everything that is followed as soon as it stops, which it is asked for, and follows nothing any more. fail takes errors.
func (f *Threads) DetachAll(fail func(error)) {
	if f.quitting {
		return
	}
	f.quitting = true
	for tid, t := range f.threads {
		if t.free {
			continue
		}
		if err := f.stops.Bare(tid).Interrupt(); !tracee.Passing(err) {
			fail(fmt.Errorf("letting process %d go: %w", t.pid, err))
		}
	}
}
