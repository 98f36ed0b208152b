package tracee

import (
	"os"
	"slices"
	"testing"

	"alleria/internal/sys"
)

// held makes a thread that holds signals: faults are negative.
func held(th *Thread, signals ...int) {
	th.held = nil
	for _, n := range signals {
		h := Signal{Number: sys.Signal(max(n, -n)), Info: siginfo(max(n, -n), CodeTKill, pid)}
		if n < 0 {
			h.Info = siginfo(max(n, -n), 1, 0)
		}
		th.held = append(th.held, h)
	}
}

// TestHeldOrder takes and puts signals, which stay in their order.
func TestHeldOrder(t *testing.T) {
	_, th := newMachine(t, &owner{})
	held(th, sigUsr1, SIGTRAP, sigChld, SIGTRAP)
	th.Drop(func(h *Signal) bool { return h.Number == SIGTRAP })
	th.HoldFirst(Signal{Number: SIGFPE})
	_, child := newMachine(t, &owner{})
	child.HoldAll(th)
	for name, x := range map[string]*Thread{"the thread": th, "who stands for it": child} {
		var each []int
		x.Each(func(h *Signal) { each = append(each, int(h.Number)) })
		want := []int{SIGFPE, sigUsr1, sigChld, SIGTRAP}
		if !slices.Equal(each, want) {
			t.Errorf("%s holds %d, want %d", name, each, want)
		}
		var taken []int
		for h, ok := x.Next(); ok; h, ok = x.Next() {
			taken = append(taken, int(h.Number))
		}
		if !slices.Equal(taken, want) || x.Holds() || x.Last() != nil {
			t.Errorf("%s: taken %d, want %d; holds %t", name, taken, want, x.Holds())
		}
	}
}

// TestFaultFirst has a step end in a fault while another signal is being delivered, in something else, and in nothing.
func TestFaultFirst(t *testing.T) {
	for _, c := range []struct {
		name      string
		held      []int
		delivered sys.Signal
		first     bool
		now       sys.Signal // is delivered then
		left      []int
	}{
		{"a fault", []int{sigChld, -SIGSEGV}, sigUsr1, true, SIGSEGV, []int{sigChld, sigUsr1}},
		{"a fault, and nothing to deliver", []int{sigChld, -SIGSEGV}, 0, true, SIGSEGV, []int{sigChld}},
		{"one that somebody has sent", []int{SIGSEGV}, sigUsr1, false, sigUsr1, []int{SIGSEGV}},
		{"a fault before the last signal", []int{-SIGSEGV, sigChld}, sigUsr1, false, sigUsr1, []int{SIGSEGV, sigChld}},
		{"none", nil, sigUsr1, false, sigUsr1, nil},
	} {
		_, th := newMachine(t, &owner{})
		held(th, c.held...)
		h := Signal{Number: c.delivered}
		if got := th.FaultFirst(&h); got != c.first || h.Number != c.now || !slices.Equal(numbers(th.held), c.left) {
			t.Errorf("%s: %t, signal %d is delivered, held %d", c.name, got, h.Number, numbers(th.held))
		}
	}
}

// TestToDetach has signals delivered to a thread that is to be detached: the handlers of all but the last are entered, in their order, each where the kernel delivers a signal.
func TestToDetach(t *testing.T) {
	asked := stop(tid, EventStop, SIGTRAP)
	atStop, atSignal := siginfo(SIGTRAP, EventStop<<8|SIGTRAP, 0), siginfo(23, CodeTKill, 1)
	for _, byJob := range []bool{false, true} {
		m, th := newMachine(t, &owner{})
		th.Stopped, th.GroupStopped, m.mask = true, byJob, 4
		held(th, sigUsr1, 40)
		m.info[tid] = atStop
		goaded := answer{request: "cont", reports: []sys.Stop{stop(tid, 0, 23)}, then: func() { m.info[tid] = atSignal }}
		m.answers = []answer{
			goaded,
			{request: "interrupt"},
			{request: "cont", reports: []sys.Stop{asked}, then: func() {
				if m.info[tid] != siginfo(sigUsr1, CodeTKill, pid) {
					t.Errorf("the first comes with %v", m.info[tid])
				}
				m.info[tid] = atStop
			}},
			goaded,
		}
		last, err := th.ToDetach()
		if err != nil || last != 40 || th.Holds() || m.info[tid] != siginfo(40, CodeTKill, pid) {
			t.Errorf("%v, to be detached with %d, holds %v", err, last, numbers(th.held))
		}
		m.expect("mask 0xffffffffffbfffff", "send 23", "cont 0", "mask 0x4", "interrupt 0", "cont 10",
			"mask 0xffffffffffbfffff", "send 23", "cont 0", "mask 0x4")
	}
}

// TestToDetachPostponed: signals that were to be sent again come with their first sender; of those that have been, what waits is taken back, what the kernel has merged
// is left.
func TestToDetachPostponed(t *testing.T) {
	mine := siginfo(sigUsr1, CodeTKill, os.Getpid())
	for _, c := range []struct {
		name     string
		sent     bool
		pending  []sys.Siginfo
		last     sys.Signal
		requests []string
	}{
		{"not sent", false, nil, sigUsr1, nil},
		{"sent, and waits", true, []sys.Siginfo{mine}, sigUsr1, []string{"mask 0xfffffffffffffdff", "cont 0", "mask 0x0"}},
		{"merged", true, []sys.Siginfo{siginfo(sigUsr1, CodeUser, 5)}, 0, nil},
	} {
		m, th := newMachine(t, &owner{})
		m.pending, m.info[tid] = c.pending, mine
		th.stops.postponed = []postponed{{t: th, held: Signal{sigUsr1, siginfo(sigUsr1, CodeUser, 77)}, sent: c.sent}}
		if len(c.requests) > 0 {
			m.answers = []answer{{request: "cont", reports: []sys.Stop{stop(tid, 0, sigUsr1)}}}
		}
		last, err := th.ToDetach()
		info := m.info[tid]
		if err != nil || last != c.last || c.last != 0 && info.Sender() != 77 {
			t.Errorf("%s: %v, to be detached with %d, of %d", c.name, err, last, info.Sender())
		}
		m.expect(c.requests...)
	}
}

// TestContinued: SIGCONT takes back the signals that are held to stop its process, for whichever of its threads, and no others.
func TestContinued(t *testing.T) {
	m, th := newMachine(t, &owner{})
	second, other := new(Thread), new(Thread)
	second.Init(th.stops, &owner{}, tid+1, pid, true)
	other.Init(th.stops, &owner{}, 30, 30, true)
	for _, o := range []*Thread{th, second, other} {
		for _, sig := range []sys.Signal{SIGSTOP, sigUsr1, SIGTSTP} {
			o.keep(Signal{Number: sig})
		}
	}
	m.answers = []answer{{request: "call", reports: []sys.Stop{stop(tid, 0, SIGCONT)}}, {request: "call", reports: []sys.Stop{stop(tid, 0, CallStop)}}}
	if err := th.CallStops(1); err != nil {
		t.Fatal(err)
	}
	for o, want := range map[*Thread][]int{th: {sigUsr1, SIGCONT}, second: {sigUsr1}, other: {SIGSTOP, sigUsr1, SIGTSTP}} {
		if got := numbers(o.held); !slices.Equal(got, want) {
			t.Errorf("thread %d: held %v, want %v", o.TID, got, want)
		}
	}
	if got := th.stops.halting; len(got) != 1 || got[0] != other {
		t.Errorf("%d threads have such signals, want 1", len(got))
	}
	th.keep(Signal{Number: SIGSTOP})
	child := new(Thread)
	child.Init(th.stops, &owner{}, tid, tid, true)
	child.keep(Signal{Number: sigChld})
	child.HoldAll(th)
	if got := numbers(child.held); !slices.Equal(got, []int{sigUsr1, SIGCONT, SIGSTOP, sigChld}) {
		t.Errorf("held for the thread that it was: %v", got)
	}
}

// TestOvertaken: a signal that is to stop a process is not delivered where SIGCONT waits, which has come behind it; any other is.
func TestOvertaken(t *testing.T) {
	for waits, want := range map[uint64]bool{1 << (SIGCONT - 1): true, 1 << (sigUsr1 - 1): false} {
		m, th := newMachine(t, &owner{})
		m.waits = waits
		if got := th.Overtaken(&Signal{Number: SIGSTOP}); got != want {
			t.Errorf("%#x waits: overtaken %v", waits, got)
		}
		if th.Overtaken(&Signal{Number: sigUsr1}) {
			t.Errorf("%#x waits: a signal that stops nothing is overtaken", waits)
		}
	}
}
