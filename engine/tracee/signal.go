package tracee

import "alleria/internal/sys"

// Numbers of signals.
const (
	SIGILL  = 4
	SIGTRAP = 5
	SIGBUS  = 7
	SIGFPE  = 8
	SIGKILL = 9
	SIGSEGV = 11
	SIGCONT = 18
	SIGSTOP = 19
	SIGTSTP = 20
	SIGTTIN = 21
	SIGTTOU = 22
)

// CallStop is how a stop at a system call is reported (PTRACE_O_TRACESYSGOOD).
const CallStop = SIGTRAP | 0x80

// Codes of signals (si_code).
const (
	CodeBreak  = 1    // SIGTRAP: a breakpoint of the processor's
	CodeTrace  = 2    // SIGTRAP: a step
	CodeKernel = 0x80 // SIGTRAP: int3; SIGSEGV: what has no address
	CodeTKill  = -6   // of any signal: sent by tgkill
	CodeUser   = 0    // by kill
	CodeQueue  = -1   // by sigqueue
)

// FaultSignals is the signals that instructions raise; blocked, they would end
// the process.
const FaultSignals = 1<<(SIGILL-1) | 1<<(SIGTRAP-1) | 1<<(SIGBUS-1) | 1<<(SIGFPE-1) | 1<<(SIGSEGV-1)

// Signal is a signal that the kernel was about to deliver.
// Info is delivered as it came: sender, value and address are what the handler
// sees.
type Signal struct {
	Number sys.Signal
	Info   sys.Siginfo
}

// Take takes the signal of a signal-delivery stop out of the kernel's hands.
func (t *Thread) Take(sig sys.Signal) (Signal, error) {
	h := Signal{Number: sig}
	if sig == SIGCONT && len(t.stops.halting) > 0 {
		t.stops.continued(t)
	}
	return h, t.kernel().GetSiginfo(t.TID, &h.Info)
}

// hold takes a signal and holds it.
func (t *Thread) hold(sig sys.Signal) error {
	h, err := t.Take(sig)
	if err != nil {
		return err
	}
	t.SentAgain(&h)
	t.keep(h)
	return nil
}

// Fault tells whether the signal was raised by the instruction that the thread
// stands at, not sent.
// si_code is positive for what the kernel found, zero or negative for what somebody
// sent (sigaction(2)).
func (h *Signal) Fault() bool {
	switch h.Number {
	case SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV:
		return h.Info.Code() > 0
	}
	return false
}

// Breakpoint tells whether it is the signal of an int3.
func (h *Signal) Breakpoint() bool {
	return h.Number == SIGTRAP && (h.Info.Code() == CodeKernel || h.Info.Code() == CodeBreak)
}

// Passes tells whether a signal changes nothing for a program with these dispositions: nobody handles it, and it ends nothing.
func (h *Signal) Passes(sets *sys.SignalSets) bool {
	bit := uint64(1) << (h.Number - 1)
	return sets.Caught&bit == 0 && !h.Fault() && (sets.Ignored&bit != 0 || harmless(h.Number))
}

// harmless tells signals whose default action neither ends the process nor
// looks at its registers.
// An ignored signal, or one of these without a handler, does not end anything:
// where it finds the thread does not matter.
func harmless(sig sys.Signal) bool {
	switch sig {
	case 17, 18, 19, 20, 21, 22, 23, 28: // CHLD CONT STOP TSTP TTIN TTOU URG WINCH
		return true
	}
	return false
}

// dropped tells signals whose default action is none: whether one that was sent while
// nobody handled it arrives later, or at all, is of no consequence.
func dropped(sig sys.Signal) bool {
	switch sig {
	case 17, 23, 28: // CHLD URG WINCH
		return true
	}
	return false
}

// AllBut tells a mask that has every signal but one, and those that cannot be blocked or that the C library keeps open.
func AllBut(mask, bit uint64) bool {
	const never = 1<<(SIGKILL-1) | 1<<(SIGSTOP-1) | 1<<31 | 1<<32
	return mask&bit == 0 && mask|bit|never == ^uint64(0)
}
