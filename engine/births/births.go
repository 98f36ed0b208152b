// Package births is a run's register of processes and threads that are being born.
//
// In a nutshell: what is known of a child comes in two reports, in either order: its parent's event, which says what the child is and whose, and the
// child's own first stop. Children holds the one until the other has come. A child whose parent is killed within its call is a
// stray: its event never comes, and nobody says whose it is. The end of one that is killed before it could be adopted is kept for its parent's event. Strays finds those by their creator's memory, of which they have a copy: it is kept a while after the
// creator's end for that (Remembered); or else by how long they have stood and who inherits them. A creator that is followed has no memory of ours: it is asked for its children in front of
// its end (package followed).
//
// Package engine calls it, whose processes and followed threads are the parents. What a parent's event has told is a type of
// the caller's. What /proc says of a child is behind an interface (System), and time is what the caller says, so that tests need no process and do not wait.
//
// Its callers are one goroutine, the tracer's. It makes no requests of ptrace, and decides nothing about what becomes of a child.
package births

import (
	"iter"
	"slices"
	"time"

	"alleria/internal/sys"
)

const (
	// orphanAfter is when it is looked at first whether the creator has ended: most events come sooner.
	orphanAfter = 2 * time.Millisecond
	// unseenAfter is when a child that was told of, and has not stopped, is looked at: on a busy machine it waits for a processor for as long as it takes others to compile something.
	unseenAfter = 20 * time.Millisecond
	// strayAfter is how long a creator's event is awaited that is none of ours any more: the child has
	// been inherited by then. A report that was under way has come.
	strayAfter = 100 * time.Millisecond
	// adoptedAfter is the same where the child's parent is one of ours: its creator, or who inherits children in its place
	// (a subreaper, the first process of a namespace).
	adoptedAfter = 2 * time.Second
)

// System is what a child is looked up by. There is one, Linux; tests have another.
type System interface {
	// Traced tells whether a thread has a tracer: one that has ended, and has been waited for, has none.
	Traced(tid int) bool
	// Leads tells whether a thread is a process's first; false if it has ended as well. Process tells which process is its parent, too, and takes longer.
	Leads(tid int) bool
	Process(tid int) (parent int, ok bool)
	// SharesMemory tells whether two processes have one address space.
	SharesMemory(a, b int) bool
	// Children lists those of a process's children that this process traces.
	Children(pid int) []int
}

// Child is what is known of one that is being born.
type Child[T any] struct {
	// Event is its parent's, tracee.EventFork, EventVfork or EventClone; 0: it has not come.
	Event int
	// Told is what the caller knows from that.
	Told T

	stands bool
	looked bool      // whether the kernel knows it
	gone   bool      // the kernel knows it no more: the report of its end is under way
	since  time.Time // when its stop came, while the parent's event is awaited; or when that came, or it was found gone, while the stop is
}

// Stands tells whether the child has stopped in front of its first instruction. It stays there until somebody lets it go.
func (c *Child[T]) Stands() bool { return c.stands }

// State is what follows from a parent's event.
type State int

// The states.
const (
	Comes  State = iota // its first stop is still to come
	Stands              // it stands already: it can be adopted
	Over                // it has ended before anybody has seen it: TakeEnd has how
)

// Children is those that are being born in a run, by their ids.
type Children[T any] struct {
	system   System
	children map[int]Child[T]
	ends     map[int]end // of those that ended before their parents' events
}

// end is the report of one, and when it came.
type end struct {
	stop sys.Stop
	when time.Time
}

// New makes an empty register.
func New[T any](s System) Children[T] {
	return Children[T]{system: s, children: make(map[int]Child[T]), ends: make(map[int]end)}
}

// Tell notes what a parent's event says of a child.
//
// One that is killed at once is waited for before its parent's event is looked at, and the report of its end comes in front of that event (the kernel looks
// at the youngest first) or behind it. How it ended is worth the wait: its creator's next call is a wait for it, mostly.
func (r *Children[T]) Tell(id, event int, told T, now time.Time) State {
	c := r.children[id]
	if _, ended := r.ends[id]; ended && !c.stands {
		return Over
	}
	c.Event, c.Told = event, told
	if !c.stands { // whether it ever will nobody asks before Missed: mostly it does at once
		c.since = now
	}
	r.children[id] = c
	if c.stands {
		return Stands
	}
	return Comes
}

// End takes the report of the end of one that was never sent on, and returns what is known of it. Where its parent's event has not come (Event is 0) its end is kept for that.
func (r *Children[T]) End(s sys.Stop, now time.Time) Child[T] {
	c := r.Take(s.TID)
	if c.Event == 0 {
		r.ends[s.TID] = end{s, now}
	}
	return c
}

// TakeEnd is how a child has ended of which Tell said that it is over.
func (r *Children[T]) TakeEnd(id int) sys.Stop {
	s := r.ends[id].stop
	delete(r.ends, id)
	return s
}

// Told tells whether it is known whose a child is.
func (r *Children[T]) Told(id int) bool { return r.children[id].Event != 0 }

// Expect notes a child of which nothing is known but whose it is.
func (r *Children[T]) Expect(id int, told T) { r.children[id] = Child[T]{Told: told} }

// Stop notes that a child has stopped in front of its first instruction. It tells whether the parent's event has come as well, so that it can be adopted.
func (r *Children[T]) Stop(id int, now time.Time) (known bool) {
	c := r.children[id]
	if c.Event != 0 {
		return true
	}
	delete(r.ends, id) // another's, with the same id
	c.stands, c.since = true, now
	r.children[id] = c
	return false
}

// Has tells whether a child is in the register.
func (r *Children[T]) Has(id int) bool {
	_, ok := r.children[id]
	return ok
}

// Take takes a child out of the register. One that is not there has no event.
func (r *Children[T]) Take(id int) Child[T] {
	c := r.children[id]
	delete(r.children, id)
	return c
}

// Empty tells whether no child is awaited.
func (r *Children[T]) Empty() bool { return len(r.children) == 0 }

// All goes over the children. The one at hand may be taken out meanwhile.
func (r *Children[T]) All() iter.Seq2[int, Child[T]] {
	return func(yield func(int, Child[T]) bool) {
		for id, c := range r.children {
			if !yield(id, c) {
				return
			}
		}
	}
}

// Any tells whether something holds for what is known of one of the children. What is told of one whose parent's event has not come is T's zero value.
func (r *Children[T]) Any(holds func(told T) bool) bool {
	for _, c := range r.children {
		if holds(c.Told) {
			return true
		}
	}
	return false
}

// Missed takes those out of the register that their parents have told of, that the kernel knew no more a moment later, and whose ends have not been reported since: they were taken
// for strays before. Who is asked at the parent's event is nearly always there, and the question takes the kernel as long as all else about a new process.
func (r *Children[T]) Missed(now time.Time) map[int]Child[T] {
	var missed map[int]Child[T]
	for id, c := range r.children {
		waited := now.Sub(c.since)
		switch {
		case c.Event == 0 || c.stands:
		case c.gone && waited >= strayAfter:
			if missed == nil {
				missed = make(map[int]Child[T])
			}
			missed[id] = r.Take(id)
		case !c.looked && waited >= unseenAfter:
			c.looked, c.gone, c.since = true, !r.system.Traced(id), now
			r.children[id] = c
		}
	}
	for id, e := range r.ends {
		if now.Sub(e.when) >= adoptedAfter {
			delete(r.ends, id)
		}
	}
	return missed
}

// Strays takes the processes out of the register that nobody will say anything of, and returns their ids. ours tells whether a process is traced or followed, and
// orphaned whether a child's creator is known to have ended. A thread is no stray: it ends with its process, or its creator lives.
func (r *Children[T]) Strays(now time.Time, ours, orphaned func(pid int) bool) (ids []int) {
	for id, c := range r.children {
		if c.stands && c.Event == 0 && r.stray(id, now.Sub(c.since), ours, orphaned) {
			delete(r.children, id)
			ids = append(ids, id)
		}
	}
	return ids
}

// stray is Strays for one that stands.
func (r *Children[T]) stray(id int, waited time.Duration, ours, orphaned func(pid int) bool) bool {
	if waited < orphanAfter {
		return false
	}
	parent, process := r.system.Process(id)
	switch {
	case !process:
		return false
	case orphaned(id):
		return true
	case ours(parent):
		return waited >= adoptedAfter && !r.system.SharesMemory(id, parent)
	}
	return waited >= strayAfter
}

// Linux is the system.
type Linux struct{}

var _ System = Linux{}

// Traced is System's.
func (Linux) Traced(tid int) bool { return sys.Traced(tid) }

// Leads is System's.
func (Linux) Leads(tid int) bool { return sys.Leads(tid) }

// Process is System's.
func (Linux) Process(tid int) (parent int, ok bool) {
	if !sys.Leads(tid) {
		return 0, false
	}
	parent, err := sys.Parent(tid)
	return parent, err == nil
}

// SharesMemory is System's.
func (Linux) SharesMemory(a, b int) bool { return sys.SharesMemory(a, b) }

// Children is System's.
func (Linux) Children(pid int) []int {
	return slices.DeleteFunc(sys.Children(pid), func(id int) bool { return !sys.Ours(id) })
}
