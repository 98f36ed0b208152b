package tracee

import "alleria/internal/sys"

// Kernel is what a thread is stopped, read and resumed by. There is one, Linux; tests have another.
type Kernel interface {
	Interrupt(tid int) error
	Cont(tid int, sig sys.Signal) error
	ContToCall(tid int, sig sys.Signal) error
	Step(tid int, sig sys.Signal) error
	Listen(tid int) error
	Detach(tid int, sig sys.Signal) error
	SetOptions(tid int, atExit bool) error
	FollowOptions(tid int, atExit bool) error
	GetRegs(tid int, r *sys.Regs) error
	SetRegs(tid int, r *sys.Regs) error
	GetSiginfo(tid int, s *sys.Siginfo) error
	SetSiginfo(tid int, s *sys.Siginfo) error
	SignalMask(tid int) (uint64, error)
	SetSignalMask(tid int, mask uint64) error
	PendingSignals(tid, from int, s []sys.Siginfo) (int, error)
	ReadSignalSets(tid int) (sys.SignalSets, error)
	SendSignal(pid, tid int, sig sys.Signal) error
	EventMsg(tid int) (uint, error)
	XState(tid int, b []byte) (int, error)
	SetXState(tid int, b []byte) error
	ReadUserDispatch(tid int, d *sys.UserDispatch) error
	SetUserDispatch(tid int, d *sys.UserDispatch) error
	ReadSequences(tid int, s *sys.Sequences) error
	Zombie(tid int) bool
}

// Reports is where the kernel's reports come from: a sys.Waiter.
type Reports interface {
	Next() (sys.Stop, bool)
	Pending() bool
	Over() bool
}

// Linux is the kernel.
type Linux struct{}

var _ Kernel = Linux{}

// Interrupt is sys.Interrupt, as each of these methods is the function of its name.
func (Linux) Interrupt(tid int) error                     { return sys.Interrupt(tid) }
func (Linux) Cont(tid int, sig sys.Signal) error          { return sys.Cont(tid, sig) }
func (Linux) ContToCall(tid int, sig sys.Signal) error    { return sys.ContToCall(tid, sig) }
func (Linux) Step(tid int, sig sys.Signal) error          { return sys.Step(tid, sig) }
func (Linux) Listen(tid int) error                        { return sys.Listen(tid) }
func (Linux) Detach(tid int, sig sys.Signal) error        { return sys.Detach(tid, sig) }
func (Linux) SetOptions(tid int, atExit bool) error       { return sys.SetOptions(tid, atExit) }
func (Linux) FollowOptions(tid int, atExit bool) error    { return sys.FollowOptions(tid, atExit) }
func (Linux) GetRegs(tid int, r *sys.Regs) error          { return sys.GetRegs(tid, r) }
func (Linux) SetRegs(tid int, r *sys.Regs) error          { return sys.SetRegs(tid, r) }
func (Linux) GetSiginfo(tid int, s *sys.Siginfo) error    { return sys.GetSiginfo(tid, s) }
func (Linux) SetSiginfo(tid int, s *sys.Siginfo) error    { return sys.SetSiginfo(tid, s) }
func (Linux) SignalMask(tid int) (uint64, error)          { return sys.SignalMask(tid) }
func (Linux) SetSignalMask(tid int, mask uint64) error    { return sys.SetSignalMask(tid, mask) }
func (Linux) SendSignal(pid, tid int, s sys.Signal) error { return sys.SendSignal(pid, tid, s) }
func (Linux) EventMsg(tid int) (uint, error)              { return sys.EventMsg(tid) }
func (Linux) XState(tid int, b []byte) (int, error)       { return sys.XState(tid, b) }
func (Linux) SetXState(tid int, b []byte) error           { return sys.SetXState(tid, b) }
func (Linux) Zombie(tid int) bool                         { return sys.Zombie(tid) }
func (Linux) PendingSignals(tid, from int, s []sys.Siginfo) (int, error) {
	return sys.PendingSignals(tid, from, s)
}
func (Linux) ReadUserDispatch(tid int, d *sys.UserDispatch) error {
	return sys.ReadUserDispatch(tid, d)
}
func (Linux) SetUserDispatch(tid int, d *sys.UserDispatch) error { return sys.SetUserDispatch(tid, d) }
func (Linux) ReadSequences(tid int, s *sys.Sequences) error      { return sys.ReadSequences(tid, s) }
func (Linux) ReadSignalSets(tid int) (sys.SignalSets, error)     { return sys.ReadSignalSets(tid) }
