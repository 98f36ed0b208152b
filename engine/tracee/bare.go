package tracee

import "alleria/internal/sys"

// Threads that nobody owns: of processes that are followed and not traced, and those that have just been born. They have no
// host, run their own code, and are waited for by nobody.

// Bare is a stopped thread that nobody owns.
func (s *Stops) Bare(tid int) *Thread { return &Thread{stops: s, TID: tid, Stopped: true} }

// FollowOptions has a bare thread stop where it begins to end if atEnd says so, and behind vfork no more.
func (t *Thread) FollowOptions(atEnd bool) error { return t.kernel().FollowOptions(t.TID, atEnd) }

// PassOn lets a bare thread go on from what it has reported, as if nobody had looked: with the signal that it was about to take, or in the
// stop that job control has asked for.
func (t *Thread) PassOn(s sys.Stop) error {
	switch s.Event() {
	case 0:
		return t.Cont(s.Signal())
	case EventStop:
		switch s.Signal() {
		case SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU:
			if t.kernel().Listen(t.TID) == nil {
				return nil
			}
		}
	}
	return t.Cont(0)
}

// HitBreakpoint tells whether a bare thread that stands in front of SIGTRAP has run into an int3.
func (t *Thread) HitBreakpoint() bool {
	var info sys.Siginfo
	return t.kernel().GetSiginfo(t.TID, &info) == nil && info.Code() == CodeKernel
}
