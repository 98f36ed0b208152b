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
//
// In a nutshell: each window has two trees of events, On and Till. Leaves are the events
// that something outside watches for; All and One above them are satisfied by the state
// of the leaves below. Fire counts an occurrence at a leaf, and as soon as the tree's
// root is satisfied the window changes state, which resets the other tree. A window that
// is not reopenable is over once it has closed.
//
// It does not count instructions, match names or look at a clock: events that need that
// have their thresholds watched by the session, and fire once.
package window
