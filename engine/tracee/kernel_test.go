package tracee

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"alleria/internal/sys"
)

// machine is a kernel whose threads do what a test says: each request that lets one run has the next of its reports come.
type machine struct {
	t       *testing.T
	answers []answer
	ready   []sys.Stop
	log     []string

	info    map[int]sys.Siginfo // of a signal-delivery stop, by thread
	regs    sys.Regs
	mask    uint64
	caught  uint64
	pending []sys.Siginfo
	zombie  bool
	over    bool
	message uint // of the event that is looked at
	waits   uint64
}

// answer is a request that is expected, and what is reported then.
type answer struct {
	request string
	reports []sys.Stop
	then    func()
}

// did notes a request, and answers one that lets a thread run.
func (m *machine) did(request string, tid int, sig sys.Signal) error {
	m.log = append(m.log, fmt.Sprintf("%s %d", request, sig))
	if len(m.answers) == 0 {
		m.t.Fatalf("%s of thread %d after %v: nothing was to happen any more", request, tid, m.log)
	}
	a := m.answers[0]
	m.answers = m.answers[1:]
	if a.request != request {
		m.t.Fatalf("%s after %v, want %s", request, m.log, a.request)
	}
	m.ready = append(m.ready, a.reports...)
	if a.then != nil {
		a.then()
	}
	return nil
}

func (m *machine) Next() (s sys.Stop, ok bool) {
	if len(m.ready) == 0 {
		return s, false
	}
	s, m.ready = m.ready[0], m.ready[1:]
	return s, true
}
func (m *machine) Pending() bool                          { return len(m.ready) > 0 }
func (m *machine) Over() bool                             { return m.over }
func (m *machine) Interrupt(tid int) error                { return m.did("interrupt", tid, 0) }
func (m *machine) Cont(tid int, s sys.Signal) error       { return m.did("cont", tid, s) }
func (m *machine) ContToCall(tid int, s sys.Signal) error { return m.did("call", tid, s) }
func (m *machine) Step(tid int, s sys.Signal) error       { return m.did("step", tid, s) }
func (m *machine) Listen(tid int) error                   { return m.did("listen", tid, 0) }
func (m *machine) Detach(tid int, s sys.Signal) error     { return m.did("detach", tid, s) }
func (m *machine) SetOptions(int, bool) error             { return nil }
func (m *machine) FollowOptions(int, bool) error          { return nil }
func (m *machine) GetRegs(_ int, r *sys.Regs) error       { *r = m.regs; return nil }
func (m *machine) SetRegs(_ int, r *sys.Regs) error       { m.regs = *r; return nil }
func (m *machine) GetSiginfo(tid int, s *sys.Siginfo) error {
	*s = m.info[tid]
	return nil
}
func (m *machine) SetSiginfo(tid int, s *sys.Siginfo) error { m.info[tid] = *s; return nil }
func (m *machine) SignalMask(int) (uint64, error)           { return m.mask, nil }
func (m *machine) SetSignalMask(_ int, mask uint64) error {
	m.mask = mask
	m.log = append(m.log, fmt.Sprintf("mask %#x", mask))
	return nil
}
func (m *machine) PendingSignals(_, from int, s []sys.Siginfo) (int, error) {
	return copy(s, m.pending[min(from, len(m.pending)):]), nil
}
func (m *machine) ReadSignalSets(int) (sys.SignalSets, error) {
	return sys.SignalSets{Blocked: m.mask, Caught: m.caught, Pending: m.waits}, nil
}
func (m *machine) SendSignal(_, _ int, s sys.Signal) error {
	if s != 0 {
		m.log = append(m.log, fmt.Sprintf("send %d", s))
	}
	return nil
}
func (m *machine) EventMsg(int) (uint, error)                    { return m.message, nil }
func (m *machine) XState(int, []byte) (int, error)               { return 0, nil }
func (m *machine) SetXState(int, []byte) error                   { return nil }
func (m *machine) ReadUserDispatch(int, *sys.UserDispatch) error { return nil }
func (m *machine) SetUserDispatch(int, *sys.UserDispatch) error  { return nil }
func (m *machine) ReadSequences(int, *sys.Sequences) error       { return nil }
func (m *machine) Zombie(int) bool                               { return m.zombie }

// owner is a thread's host.
type owner struct {
	native, alone, trap bool
	fault               func(*Signal) bool
	behind              int
}

func (o *owner) Native() bool  { return o.native }
func (o *owner) Alone() bool   { return o.alone }
func (o *owner) OwnTrap() bool { return o.trap }
func (o *owner) Behind()       { o.behind++ }
func (o *owner) OwnFault(s *Signal) bool {
	return o.fault != nil && o.fault(s)
}

// tid is the thread of the tests, pid its process's first.
const tid, pid = 12, 10

// newMachine makes a kernel and a thread that runs.
func newMachine(t *testing.T, o *owner, answers ...answer) (*machine, *Thread) {
	m := &machine{t: t, answers: answers, info: make(map[int]sys.Siginfo)}
	th := new(Thread)
	th.Init(NewStops(m, m, func() {}, func(err error) { t.Error(err) }), o, tid, pid, false)
	return m, th
}

// expect compares what was done with what was to be, which must be all of it.
func (m *machine) expect(want ...string) {
	m.t.Helper()
	if !slices.Equal(m.log, want) {
		m.t.Errorf("requests %q, want %q", m.log, want)
	}
	if len(m.answers) > 0 {
		m.t.Errorf("%d requests were not made, the first %s", len(m.answers), m.answers[0].request)
	}
}

// stop is a report of a stop, as wait has it.
func stop(tid, event int, sig sys.Signal) sys.Stop {
	return sys.Stop{TID: tid, Status: unix.WaitStatus(event<<16 | int(sig)<<8 | 0x7f)}
}

// exit is the report of a thread's end.
func exit(tid int) sys.Stop { return sys.Stop{TID: tid} }

// siginfo is what a signal comes with.
func siginfo(sig, code, sender int) (s sys.Siginfo) {
	binary.LittleEndian.PutUint32(s[0:], uint32(sig))
	binary.LittleEndian.PutUint32(s[8:], uint32(code))
	binary.LittleEndian.PutUint32(s[16:], uint32(sender))
	return s
}
