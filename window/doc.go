// Package window is the state of a process's profiling windows: which are
// open, what would open or close each, and when none can open any more
// (Alleria paper, section 2.6).
//
// It is pure: facts come in (Fire: this event happened once more), transitions
// come out. It knows configurations and nothing of processes, addresses or
// profiles; internal/session finds out when events happen and carries the
// transitions out.
//
// A Set belongs to one goroutine; nothing here locks.
package window
