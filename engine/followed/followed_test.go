package followed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"alleria/engine/asking"
	"alleria/engine/tracee"
	"alleria/internal/sys"
)

const (
	pid, tid, child = 10, 12, 20
	usr1            = sys.Signal(unix.SIGUSR1)
)

// world is the kernel, /proc and the host of a test. It writes down what is asked of it.
type world struct {
	tracee.Kernel // what the test does not expect panics
	log           []string
	process       bool     // the child is one
	gone          bool     // it has ended
	shares        bool     // it has its creator's memory
	killed        bool     // who is ending
	stands        int      // the event that a thread stands in, when it is looked at
	int3          bool     // a thread has run into one
	regs, set     sys.Regs // what threads have, and were given last
	sites         []asking.Site
	memory        map[int][]byte // by process
	stacks        map[int]uint64 // likewise
	had           Options        // of who was born, or has executed something, last
	looks         int            // at what a thread stands in
}

func (w *world) did(format string, args ...any) error {
	w.log = append(w.log, fmt.Sprintf(format, args...))
	return nil
}

func (w *world) Cont(t int, s sys.Signal) error   { return w.did("cont %d %d", t, s) }
func (w *world) Detach(t int, s sys.Signal) error { return w.did("detach %d %d", t, s) }
func (w *world) Listen(t int) error               { return w.did("listen %d", t) }
func (w *world) Interrupt(t int) error            { return w.did("interrupt %d", t) }
func (w *world) FollowOptions(t int, atEnd bool) error {
	return w.did("stops at its end %d %t", t, atEnd)
}
func (w *world) EventMsg(int) (uint, error) {
	if w.killed {
		return uint(unix.SIGKILL), nil
	}
	return child, nil
}
func (w *world) GetSiginfo(_ int, s *sys.Siginfo) error {
	w.looks++
	code := uint32(w.stands<<8) | uint32(unix.SIGTRAP)
	if w.int3 {
		code = tracee.CodeKernel
	}
	binary.LittleEndian.PutUint32(s[8:], code)
	return nil
}
func (w *world) Children(int) []int { return []int{child} }

func (w *world) Traced(int) bool            { return !w.gone }
func (w *world) Leads(int) bool             { return w.process }
func (w *world) Process(int) (int, bool)    { return pid, w.process }
func (w *world) SharesMemory(int, int) bool { return w.shares }

func (w *world) Exited(s sys.Stop) { w.did("exited %d", s.TID) }
func (w *world) Executed(p int, has Options) error {
	w.had = has
	return w.did("executed %d", p)
}
func (w *world) Born(p, id, event int, has Options) error {
	w.had = has
	return w.did("born %d %d %d", p, id, event)
}
func (w *world) StackStart(p int) uint64 { return w.stacks[p] }
func (w *world) DetachStopped(p int, s sys.Signal) error {
	return w.did("detach stopped %d %d", p, s)
}

func (w *world) Released(p int, s sys.Signal, why error) error {
	return w.did("released %d %d: %v", p, s, why)
}
func (w *world) TracesItself() error { return errors.New("itself") }
func (w *world) Attached(id int, then func() error) error {
	w.did("attached %d", id)
	return then()
}
func (w *world) CallSites(int) []asking.Site { return w.sites }
func (w *world) Memory(p int) (Memory, error) {
	if w.memory[p] == nil {
		return nil, errors.New("no memory")
	}
	return memory(w.memory[p]), nil
}
func (w *world) GetRegs(_ int, r *sys.Regs) error { *r = w.regs; return nil }
func (w *world) SetRegs(t int, r *sys.Regs) error {
	w.set = *r
	return w.did("%d at %d", t, r.Rip)
}

// memory is a process's.
type memory []byte

func (m memory) ReadAt(b []byte, at int64) (int, error)  { return copy(b, m[at:]), nil }
func (m memory) WriteAt(b []byte, at int64) (int, error) { return copy(m[at:], b), nil }
func (m memory) Close() error                            { return nil }

// follows makes a world where two threads of a process are followed.
func follows() (*world, Threads) {
	w := &world{process: true}
	f := New(tracee.NewStops(w, nil, func() {}, func(error) {}), w, w, false)
	f.Add(pid, pid)
	f.Add(tid, pid)
	return w, f
}

// expect compares what was asked for with what was to be.
func (w *world) expect(t *testing.T, name string, want ...string) {
	t.Helper()
	if !slices.Equal(w.log, want) {
		t.Errorf("%s: %q, want %q", name, w.log, want)
	}
	w.log = nil
}

// stop is the report of a stop, and end that of a thread's end.
func stop(tid, event int, sig sys.Signal) sys.Stop {
	return sys.Stop{TID: tid, Status: unix.WaitStatus(event<<16 | int(sig)<<8 | 0x7f)}
}
func end(tid int) sys.Stop { return sys.Stop{TID: tid} }

// TestStop looks at what is done about each kind of report.
func TestStop(t *testing.T) {
	for _, c := range []struct {
		name  string
		given func(w *world, f *Threads)
		s     sys.Stop
		want  []string
		left  []int // threads that are followed afterwards
	}{
		{name: "a signal", s: stop(tid, 0, usr1), want: []string{"cont 12 10"}, left: []int{pid, tid}},
		{name: "job control", s: stop(tid, tracee.EventStop, tracee.SIGTSTP), want: []string{"listen 12"}, left: []int{pid, tid}},
		{name: "a stop that was asked for", s: stop(tid, tracee.EventStop, tracee.SIGTRAP), want: []string{"cont 12 0"}, left: []int{pid, tid}},
		{name: "a thread's end", s: end(tid), left: []int{pid}},
		{name: "the process's end", s: end(pid), want: []string{"exited 10"}, left: []int{tid}},
		{name: "another program", s: stop(pid, tracee.EventExec, tracee.SIGTRAP), want: []string{"born 10 20 1", "executed 10"}},
		{name: "another program than that of a single thread", given: func(_ *world, f *Threads) { f.Stop(end(tid)); f.Add(pid, pid) },
			s: stop(pid, tracee.EventExec, tracee.SIGTRAP), want: []string{"executed 10"}},
		{name: "about to end", given: func(_ *world, f *Threads) { f.Stop(end(tid)); f.Add(pid, pid) },
			s: stop(pid, tracee.EventExit, tracee.SIGTRAP), want: []string{"cont 10 0"}, left: []int{pid}},
		{name: "about to end, another thread may have been in fork", s: stop(pid, tracee.EventExit, tracee.SIGTRAP),
			want: []string{"born 10 20 1", "cont 10 0"}, left: []int{pid, tid}},
		{name: "killed, maybe within fork", given: func(w *world, f *Threads) { w.killed = true; f.Stop(end(tid)); f.Add(pid, pid) },
			s: stop(pid, tracee.EventExit, tracee.SIGTRAP), want: []string{"born 10 20 1", "cont 10 0"}, left: []int{pid}},
		{name: "killed, maybe within vfork", given: func(w *world, f *Threads) { w.killed, w.shares = true, true },
			s: stop(pid, tracee.EventExit, tracee.SIGTRAP), want: []string{"born 10 20 2", "cont 10 0"}, left: []int{pid, tid}},
		{name: "fork", s: stop(tid, tracee.EventFork, tracee.SIGTRAP), want: []string{"born 10 20 1", "cont 12 0"}, left: []int{pid, tid}},
		{name: "clone that is a fork", s: stop(tid, tracee.EventClone, tracee.SIGTRAP), want: []string{"born 10 20 1", "cont 12 0"}, left: []int{pid, tid}},
		{name: "clone that shares the memory", given: func(w *world, _ *Threads) { w.shares = true },
			s: stop(tid, tracee.EventClone, tracee.SIGTRAP), want: []string{"born 10 20 2", "cont 12 0"}, left: []int{pid, tid}},
		{name: "a thread", given: func(w *world, _ *Threads) { w.process = false },
			s: stop(tid, tracee.EventFork, tracee.SIGTRAP), want: []string{"born 10 20 3", "cont 12 0"}, left: []int{pid, tid}},
		{name: "a process that has ended", given: func(w *world, _ *Threads) { w.process, w.gone = false, true },
			s: stop(tid, tracee.EventFork, tracee.SIGTRAP), want: []string{"born 10 20 1", "cont 12 0"}, left: []int{pid, tid}},
		{name: "a thread that has ended", given: func(w *world, _ *Threads) { w.process, w.gone = false, true },
			s: stop(tid, tracee.EventClone, tracee.SIGTRAP), want: []string{"born 10 20 3", "cont 12 0"}, left: []int{pid, tid}},
		{name: "fork, and it was killed: what it stands in is still to be reported", given: func(w *world, _ *Threads) { w.killed, w.stands = true, tracee.EventExit },
			s: stop(tid, tracee.EventFork, tracee.SIGTRAP), left: []int{pid, tid}},
		{name: "the user's own, detached", given: func(_ *world, f *Threads) { f.Await(pid) },
			s: stop(pid, 0, usr1), want: []string{"cont 10 10"}, left: []int{tid}},
		{name: "its fork is nobody's", given: func(_ *world, f *Threads) { f.Await(pid) },
			s: stop(pid, tracee.EventFork, tracee.SIGTRAP), want: []string{"cont 10 0"}, left: []int{tid}},
	} {
		w, f := follows()
		w.stands = c.s.Event()
		if c.given != nil {
			c.given(w, &f)
		}
		if err := f.Stop(c.s); !tracee.Passing(err) {
			t.Errorf("%s: %v", c.name, err)
		}
		w.expect(t, c.name, c.want...)
		for _, id := range []int{pid, tid} {
			if got := f.Follows(id); got != slices.Contains(c.left, id) {
				t.Errorf("%s: thread %d is followed: %t", c.name, id, got)
			}
		}
	}
}

// TestDetachAll asks all to stop once, and detaches each as it reports something, with the signal that it was about to take.
func TestDetachAll(t *testing.T) {
	w, f := follows()
	f.Await(pid) // is not asked to stop: nobody would look at it
	fail := func(err error) { t.Error(err) }
	f.DetachAll(fail)
	f.DetachAll(fail)
	w.expect(t, "asked to stop", "interrupt 12")
	if !f.Quitting() {
		t.Error("not quitting")
	}
	f.Add(pid, pid)
	w.stands, w.process = tracee.EventFork, true
	for _, s := range []sys.Stop{stop(tid, 0, usr1), stop(pid, tracee.EventFork, tracee.SIGTRAP)} {
		if err := f.Stop(s); err != nil {
			t.Error(err)
		}
	}
	w.expect(t, "detached, and what one has created told of", "detach 12 10", "born 10 20 1", "detach stopped 10 0")
	if !f.Empty() {
		t.Error("some are still followed")
	}
}
