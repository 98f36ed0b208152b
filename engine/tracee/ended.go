package tracee

import (
	"slices"

	"alleria/internal/sys"
)

// A thread that has been let go to its end executes nothing any more, and its id may be another's at any time: of the first thread, that of whoever executes a program. Who was
// about to do something with it may learn of that while it waits for another thread, and be in the middle of anything: what it asks of the first thread would be done to the
// new program, whose registers it would set to those of the old. So nothing is asked of a thread any more once it is known to have gone, or a report of its end waits, or of a
// program that has its id: ErrEnded, until that report is handled.
//
// What it had reported before and nobody has looked at yet is forgotten then. It would be taken for the new program's, which went on before anybody knew of it.

// Handles tells that a report is about to be handled. false: it says that a thread stands in front of its end, which it does not any more; what comes of that is still to be reported.
func (s *Stops) Handles(r sys.Stop) bool {
	switch {
	case r.Event() == EventExit:
		if s.standsAt(r.TID, EventExit) != nil {
			s.gone[r.TID] = true
			return false
		}
	case r.Event() == EventExec || ends(r):
		delete(s.gone, r.TID)
	}
	return true
}

// Executed tells whether a report waits which says that a process executes another program.
func (s *Stops) Executed(pid int) bool {
	return slices.ContainsFunc(s.later, func(r sys.Stop) bool { return r.TID == pid && r.Event() == EventExec })
}

// Over tells whether nothing may be asked of the thread any more.
func (t *Thread) Over() bool { return t.stops.gone[t.TID] || t.stops.leaves(t.TID) }

// leaves tells whether a report waits which says that a thread is at its end, or that a program has its id.
func (s *Stops) leaves(tid int) bool {
	return slices.ContainsFunc(s.later, func(r sys.Stop) bool { return r.TID == tid && (r.Event() == EventExit || r.Event() == EventExec) })
}

// ends tells the report of a thread's end.
func ends(r sys.Stop) bool { return r.Status.Exited() || r.Status.Signaled() }

// dropEarlier forgets what a thread has reported before, but that a program has its id: that may be killed before anybody knows of it.
func (s *Stops) dropEarlier(tid int) {
	for i := 0; i < len(s.later); {
		if r := s.later[i]; r.TID == tid && r.Event() != EventExec {
			s.take(i)
			continue
		}
		i++
	}
}

// kernel is what a thread is stopped, read and resumed by.
func (t *Thread) kernel() Kernel {
	if t.Over() {
		return none{}
	}
	return t.stops.kernel
}

// none is the kernel of threads of which nothing may be asked any more.
type none struct{}

var _ Kernel = none{}

func (none) Interrupt(int) error                                 { return ErrEnded }
func (none) Cont(int, sys.Signal) error                          { return ErrEnded }
func (none) ContToCall(int, sys.Signal) error                    { return ErrEnded }
func (none) Step(int, sys.Signal) error                          { return ErrEnded }
func (none) Listen(int) error                                    { return ErrEnded }
func (none) Detach(int, sys.Signal) error                        { return ErrEnded }
func (none) SetOptions(int, bool) error                          { return ErrEnded }
func (none) FollowOptions(int, bool) error                       { return ErrEnded }
func (none) GetRegs(int, *sys.Regs) error                        { return ErrEnded }
func (none) SetRegs(int, *sys.Regs) error                        { return ErrEnded }
func (none) GetSiginfo(int, *sys.Siginfo) error                  { return ErrEnded }
func (none) SetSiginfo(int, *sys.Siginfo) error                  { return ErrEnded }
func (none) SignalMask(int) (uint64, error)                      { return 0, ErrEnded }
func (none) SetSignalMask(int, uint64) error                     { return ErrEnded }
func (none) PendingSignals(int, int, []sys.Siginfo) (int, error) { return 0, ErrEnded }
func (none) ReadSignalSets(int) (s sys.SignalSets, err error)    { return s, ErrEnded }
func (none) SendSignal(int, int, sys.Signal) error               { return ErrEnded }
func (none) EventMsg(int) (uint, error)                          { return 0, ErrEnded }
func (none) XState(int, []byte) (int, error)                     { return 0, ErrEnded }
func (none) SetXState(int, []byte) error                         { return ErrEnded }
func (none) ReadUserDispatch(int, *sys.UserDispatch) error       { return ErrEnded }
func (none) SetUserDispatch(int, *sys.UserDispatch) error        { return ErrEnded }
func (none) ReadSequences(int, *sys.Sequences) error             { return ErrEnded }
func (none) Zombie(int) bool                                     { return false }
