package proctree

import "time"

// State is what a tracer does with a process.
type State uint32

// The states.
const (
	Followed     State = iota // followed, and nothing of it is recorded
	WindowClosed              // it has windows, none of which is open
	WindowOpen                // something of it is being recorded
	Detached                  // it runs untraced; its children have no numbers
)

// String names the state, as ps does.
func (s State) String() string {
	names := [...]string{Followed: "followed", WindowClosed: "closed", WindowOpen: "open", Detached: "detached"}
	if int(s) < len(names) {
		return names[s]
	}
	return "unknown"
}

// Program is one program that a process executed.
type Program struct {
	Path string    // of the file, as the kernel executed it
	Args []string  // with the program's own name for the first
	At   time.Time // when
}

// Usage is what a process used, as the kernel accounts it at its end: with the children
// that it waited for, whose greatest memory counts where that was more than its own.
type Usage struct {
	MaxRSS       int64 // bytes, the most that was resident at a time
	User, System time.Duration
}

// Process is one process of a tree, alive or not.
type Process struct {
	Number int // from 1, in order of creation
	PID    int // the kernel's
	Parent int // the number of the process that created it, 0 for the first
	Depth  int // generations below the first, which has 0
	State  State
	// Programs are those that it executed, in order. Empty of a process that still runs
	// what its parent ran when it was created.
	Programs []Program
	// Path and Args are of the program that it runs now, or ran last.
	Path string
	Args []string

	Started time.Time
	Ended   time.Time // zero: not yet, or nobody saw it
	// Status is the exit code, or minus the signal that ended it. It holds if Ended is set.
	Status int
	Usage  Usage

	Instructions uint64 // executed so far, where they are counted
	Recorded     uint64 // bytes recorded so far
}

// Generation counts the programs that it has executed.
func (p *Process) Generation() int { return len(p.Programs) }

// Followed tells whether the process is, or was to its end, traced.
func (p *Process) Followed() bool { return p.State != Detached }
