// Package detach detaches from processes whose threads all run their own code: nothing that such a process does matters to the client any more.
//
// In a nutshell: Process holds the wish (Want), and Try carries it out when that is simple: all threads stopped, ours taken out of the code and out of
// their registers, and each detached, followed or not. A thread that has something else to report comes first: those that were stopped for it go on, and it is tried again.
//
// Package engine calls it on the tracer's goroutine, in each of its turns while there is a wish, and does what is done to threads (Host, Thread), so
// that tests have neither processes nor a kernel. What detaches a process at once, from within a call of its own, is the engine's, which says that it has
// (Left).
package detach

import (
	"slices"

	"alleria/engine/tracee"
)

// Thread is a thread of a process that is to be detached.
type Thread interface {
	// Simple tells whether it runs its own code, and nothing of it is under way.
	Simple() bool
	// Halt stops it; still tells whether it has nothing to report that comes first.
	Halt() (still bool, err error)
	// GoOn lets it, which was stopped, go on as before.
	GoOn()
	// TakeBack takes what is ours out of its registers, and Ended tells the client that it is gone.
	TakeBack()
	Ended()
	// First tells whether it is its process's first, which is detached last, and the process with it.
	First() bool
	// Follow has it run on followed, Detach untraced; both with the signals that are held for it.
	Follow() error
	Detach() error
}

// Host is a process, as detaching from it sees it.
type Host interface {
	// Quiet tells whether it is to run natively, and nothing of it is awaited.
	Quiet() bool
	// Threads is those that it has, in a slice of its own.
	Threads() []Thread
	// TakeBack takes what is ours out of its code.
	TakeBack()
	// Drop forgets it: none of its threads is the tracer's any more.
	Drop()
	// Failed takes an error about a thread, and Fail one about what is detached already.
	Failed(t Thread, err error)
	Fail(err error)
}

// Process is whether a process is to be detached, and whether it has been.
type Process struct {
	// Off has processes be traced to their ends.
	Off          bool
	wanted, gone bool
	follow       bool
}

// Want asks for the process to be detached, and followed if follow says so.
func (p *Process) Want(follow bool) { p.wanted, p.follow = !p.Off, follow }

// Wanted tells whether that was asked for.
func (p *Process) Wanted() bool { return p.wanted }

// Gone tells whether the process has been detached.
func (p *Process) Gone() bool { return p.gone }

// Left says that it has been, otherwise.
func (p *Process) Left() { p.gone = true }

// Try lets the process go, if its threads are where that is simple. Else it is to be tried again.
func (p *Process) Try(h Host) {
	if !h.Quiet() {
		return
	}
	threads := h.Threads()
	if slices.ContainsFunc(threads, func(t Thread) bool { return !t.Simple() }) {
		return
	}
	if stood, ok := halt(h, threads); !ok {
		for _, t := range stood {
			t.GoOn()
		}
		return
	}
	h.TakeBack()
	for _, t := range threads {
		t.TakeBack()
	}
	for _, t := range threads {
		t.Ended()
	}
	p.gone = true
	h.Drop()
	slices.SortStableFunc(threads, func(a, b Thread) int { return last(a) - last(b) })
	for _, t := range threads {
		leave := t.Detach
		if p.follow {
			leave = t.Follow
		}
		if err := leave(); !tracee.Passing(err) {
			h.Fail(err)
		}
	}
}

// last orders threads: the first of a process comes after the others.
func last(t Thread) int {
	if t.First() {
		return 1
	}
	return 0
}

// halt stops all threads. ok is false if one of them has something else to report, which comes first, or has ended.
func halt(h Host, threads []Thread) (stood []Thread, ok bool) {
	for _, t := range threads {
		still, err := t.Halt()
		if err != nil {
			h.Failed(t, err)
			return stood, false
		}
		stood = append(stood, t)
		if !still {
			return stood, false
		}
	}
	return stood, true
}
