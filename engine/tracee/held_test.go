package tracee

import (
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
