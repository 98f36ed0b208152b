package tracee

import (
	"errors"
	"slices"
	"testing"

	"alleria/internal/sys"
)

// second is a thread that is not the first of its process.
const second = pid + 1

// firstAndSecond makes a machine and the first two threads of a process.
func firstAndSecond(t *testing.T) (m *machine, first, other *Thread) {
	m, other = newMachine(t, &owner{})
	first = new(Thread)
	first.Init(other.stops, &owner{}, pid, pid, true)
	other.TID = second
	return m, first, other
}

// requests makes one of each kind that changes something, and returns those that were made.
func requests(th *Thread) (made []string) {
	for name, err := range map[string]error{
		"registers": th.SetRegs(&sys.Regs{Rip: 0x1000}), "run": th.Cont(0), "resume": th.Resume(0, false, true), "a step": th.Step(nil), "a call": th.Call(), "mask": th.SetMask(1),
		"signal": th.SetInfo(&Signal{Number: sigUsr1}), "detach": th.Detach(0), "state": th.SetXState(nil), "calls": th.RefuseCalls(nil), "end": th.StopAtEnd(false),
	} {
		if !errors.Is(err, ErrEnded) {
			made = append(made, name)
		}
	}
	return made
}

// TestExecMeanwhile: the first thread stands at something, and whoever handles that waits for another thread, which is within execve. The first one's end is let go for it; the
// program that has its id then is asked for nothing in the first one's name.
func TestExecMeanwhile(t *testing.T) {
	m, first, other := firstAndSecond(t)
	m.info[pid], m.message = siginfo(SIGTRAP, SIGTRAP|EventExit<<8, 0), second
	executed := stop(pid, EventExec, SIGTRAP)
	var gone []string
	m.answers = []answer{
		{request: "interrupt", reports: []sys.Stop{stop(pid, EventExit, SIGTRAP)}},
		{request: "cont", then: func() { m.info[pid] = siginfo(SIGTRAP, SIGTRAP|EventExec<<8, 0) }},
	}
	first.stops.await = func() {
		if len(m.answers) > 0 { // the end has not been let go
			return
		}
		gone = requests(first)
		if err := first.Interrupt(); !errors.Is(err, ErrEnded) {
			t.Errorf("asked to stop: %v", err)
		}
		m.ready = append(m.ready, executed)
	}
	if ok, err := other.Freeze(); ok || !errors.Is(err, ErrEnded) {
		t.Errorf("the other one stops: %v, %v", ok, err)
	}
	if made := requests(first); len(gone) > 0 || len(made) > 0 || m.regs.Rip != 0 {
		t.Errorf("asked of the first thread: %q before the other has its id, %q then", gone, made)
	}
	if err := first.Interrupt(); !errors.Is(err, ErrBusy) || !first.Over() || !first.stops.Executed(pid) {
		t.Errorf("asked to stop: %v, over: %v", err, first.Over())
	}
	s, ok := first.stops.Aside()
	if !ok || s != executed || !first.stops.Handles(s) {
		t.Errorf("%v, %v is to be handled, want that a program is executed", s, ok)
	}
	m.answers = []answer{{request: "cont"}}
	if err := first.stops.Bare(pid).Cont(0); err != nil {
		t.Errorf("the new program does not go on: %v", err)
	}
	m.expect("interrupt 0", "cont 0", "cont 0")
}

// TestEarlierStops: what a thread has reported before its end, or before another one has its id, is not handled any more; what comes later is, and so is that a program is executed.
func TestEarlierStops(t *testing.T) {
	child, exit, exec := stop(pid, 0, sigChld), stop(pid, EventExit, SIGTRAP), stop(pid, EventExec, SIGTRAP)
	others := stop(second, 0, sigChld)
	for _, c := range []struct{ come, want []sys.Stop }{
		{[]sys.Stop{child, others}, []sys.Stop{child, others}},
		{[]sys.Stop{child, others, exit}, []sys.Stop{others, exit}},
		{[]sys.Stop{child, others, exec}, []sys.Stop{others, exec}},
		{[]sys.Stop{exit, exec}, []sys.Stop{exec}},
		{[]sys.Stop{exec, exit}, []sys.Stop{exec, exit}}, // who has executed it is killed
	} {
		_, first, _ := firstAndSecond(t)
		s := first.stops
		for _, r := range c.come {
			s.PutAside(r)
		}
		if got := s.Collect(); !slices.Equal(got, c.want) || len(s.numbers) != len(got) || !slices.IsSorted(s.numbers) {
			t.Errorf("%v: left %v, want %v (numbers %v)", c.come, got, c.want, s.numbers)
		}
	}
}

// TestEndWaits: nothing is asked of a thread whose end waits to be looked at, or whose id a program has; that comes first.
func TestEndWaits(t *testing.T) {
	for _, event := range []int{EventExit, EventExec} {
		m, first, other := firstAndSecond(t)
		first.stops.PutAside(stop(pid, event, SIGTRAP))
		if made := requests(first); len(made) > 0 || !first.Over() || other.Over() {
			t.Errorf("event %d: asked for %q; over: %v, the other one %v", event, made, first.Over(), other.Over())
		}
		if err := first.Interrupt(); !errors.Is(err, ErrBusy) {
			t.Errorf("event %d: asked to stop: %v", event, err)
		}
		m.expect()
	}
}

// TestEndPast: a report that a thread stands in front of its end is not handled where a late request has let it go. Nothing is asked of it until its end is reported.
func TestEndPast(t *testing.T) {
	for event, want := range map[int]bool{EventExit: true, EventExec: false} {
		m, first, _ := firstAndSecond(t)
		m.info[pid] = siginfo(SIGTRAP, SIGTRAP|event<<8, 0)
		if got := first.stops.Handles(stop(pid, EventExit, SIGTRAP)); got != want || first.Over() == want {
			t.Errorf("stands at event %d: to be handled: %v, over: %v", event, got, first.Over())
		}
		if first.stops.Handles(exit(pid)); first.Over() {
			t.Error("over, though its end has been reported")
		}
	}
}

// TestUnshelterAt: a new program keeps the mask of who has executed it, though the thread whose id it has was sheltered.
func TestUnshelterAt(t *testing.T) {
	for event, want := range map[int]uint64{EventStop: 1, EventExec: 4} {
		m, first, _ := firstAndSecond(t)
		m.mask = 1
		if err := first.takeShelter(sigChld); err != nil {
			t.Fatal(err)
		}
		m.mask = 4
		if err := first.UnshelterAt(stop(pid, event, SIGTRAP)); err != nil || m.mask != want {
			t.Errorf("event %d: %v, mask %#x, want %#x", event, err, m.mask, want)
		}
	}
}
