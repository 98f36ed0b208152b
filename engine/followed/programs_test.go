package followed

import (
	"testing"

	"golang.org/x/sys/unix"

	"alleria/engine/asking"
	"alleria/engine/tracee"
	"alleria/internal/sys"
)

const stack = 0x7ffe1000

// executes makes a world where a process of one thread has executed a program.
func executes(t *testing.T, always bool) (*world, Threads) {
	w := &world{process: true, stacks: map[int]uint64{child: stack}}
	f := New(tracee.NewStops(w, nil, func() {}, func(error) {}), w, w, always)
	if err := f.FollowProgram(pid, stack, unknown); err != nil {
		t.Fatal(err)
	}
	return w, f
}

// creates has a thread report that it has created something, which is followed then as process p's.
func (w *world) creates(t *testing.T, f *Threads, id, event, p int) {
	t.Helper()
	w.stands = event
	if err := f.Stop(stop(id, event, tracee.SIGTRAP)); err != nil {
		t.Error(err)
	}
	if err := f.FollowBorn(child, p, f.threads[id].pid, w.had); err != nil {
		t.Error(err)
	}
}

// killed is the report of a process's end by a signal.
func killedBy(pid int, sig unix.Signal) sys.Stop {
	return sys.Stop{TID: pid, Status: unix.WaitStatus(sig)}
}

// TestStopsAtEnds: only what may be one of several that a child that nobody tells of is from stops in front of its end, and with the switch every first thread. The kernel is told where that changes alone.
func TestStopsAtEnds(t *testing.T) {
	for _, c := range []struct {
		name   string
		always bool
		shares bool
		event  int // 0: nothing
		id     int // of whose process what is created is
		want   []string
	}{
		{name: "a program", want: []string{"stops at its end 10 false", "cont 10 0"}},
		{name: "a program, always", always: true, want: []string{"stops at its end 10 true", "cont 10 0"}},
		{name: "fork", event: tracee.EventFork, id: child, want: []string{"stops at its end 10 false", "cont 10 0", "born 10 20 1", "stops at its end 10 true", "cont 10 0",
			"stops at its end 20 true", "cont 20 0"}},
		{name: "fork, always", event: tracee.EventFork, always: true, id: child, want: []string{"stops at its end 10 true", "cont 10 0", "born 10 20 1", "cont 10 0", "cont 20 0"}},
		{name: "vfork", event: tracee.EventVfork, shares: true, id: child, want: []string{"stops at its end 10 false", "cont 10 0", "born 10 20 2", "cont 10 0", "cont 20 0"}},
		{name: "a process in the same memory that does not wait", event: tracee.EventClone, shares: true, id: child, want: []string{"stops at its end 10 false", "cont 10 0", "born 10 20 2",
			"stops at its end 10 true", "cont 10 0", "stops at its end 20 true", "cont 20 0"}},
		{name: "a thread", event: tracee.EventClone, id: pid, want: []string{"stops at its end 10 false", "cont 10 0", "born 10 20 3", "stops at its end 10 true", "cont 10 0", "cont 20 0"}},
	} {
		w, f := executes(t, c.always)
		w.shares, w.process = c.shares, c.id != pid
		if c.event != 0 {
			w.creates(t, &f, pid, c.event, c.id)
		}
		w.expect(t, c.name, c.want...)
	}
}

// TestOptionsAreKept: who executes another program has what it had, unless that may be another thread's, and one whose stack is not known stops in front of its end.
func TestOptionsAreKept(t *testing.T) {
	w, f := executes(t, false)
	w.log = nil
	execute := func(at uint64) {
		if err := f.Stop(stop(pid, tracee.EventExec, tracee.SIGTRAP)); err != nil {
			t.Error(err)
		}
		if err := f.FollowProgram(pid, at, w.had); err != nil {
			t.Error(err)
		}
	}
	execute(stack + 16)
	w.expect(t, "another program", "executed 10", "cont 10 0")
	execute(0)
	w.expect(t, "an unknown stack", "executed 10", "stops at its end 10 true", "cont 10 0")
	execute(stack)
	w.expect(t, "a known one again", "executed 10", "stops at its end 10 false", "cont 10 0")
	f.Add(tid, pid)
	execute(stack)
	w.expect(t, "of several threads", "born 10 20 1", "executed 10", "stops at its end 10 false", "cont 10 0")
}

// TestOnlyMessage: who can stand in nothing else is not asked what it stands in.
func TestOnlyMessage(t *testing.T) {
	w, f := executes(t, false)
	w.creates(t, &f, pid, tracee.EventVfork, child)
	if w.looks != 0 {
		t.Errorf("%d looks at a single thread's event", w.looks)
	}
	w.creates(t, &f, pid, tracee.EventFork, child) // it stops in front of its end from now on
	w.creates(t, &f, pid, tracee.EventFork, child)
	if w.looks != 1 {
		t.Errorf("%d looks at that of one that may stand in front of its end, want 1", w.looks)
	}
}

// TestOrphaned: what a killed process has left is its own, by its stack, with the breakpoints that it had. Who has ended by itself, or stops in front of its end, has left nothing.
func TestOrphaned(t *testing.T) {
	for _, c := range []struct {
		name  string
		given func(w *world, f *Threads)
		end   sys.Stop
		want  bool
	}{
		{name: "killed", end: killedBy(pid, unix.SIGKILL), want: true},
		{name: "ended by itself", end: end(pid)},
		{name: "by another signal", end: killedBy(pid, unix.SIGSEGV)},
		{name: "another stack", given: func(w *world, _ *Threads) { w.stacks[child] += 16 }, end: killedBy(pid, unix.SIGKILL)},
		{name: "no stack", given: func(w *world, _ *Threads) { w.stacks = nil }, end: killedBy(pid, unix.SIGKILL)},
		{name: "told of in front of its end", given: func(_ *world, f *Threads) { f.has(pid, atEnd) }, end: killedBy(pid, unix.SIGKILL)},
	} {
		w, f := executes(t, false)
		f.sets[pid] = new(asking.Set)
		if c.given != nil {
			c.given(w, &f)
		}
		if _, ok := f.Orphaned(child); ok {
			t.Errorf("%s: before its creator has ended", c.name)
		}
		if err := f.Stop(c.end); err != nil {
			t.Error(err)
		}
		creator, ok := f.Orphaned(child)
		if ok != c.want || ok && creator != pid || (f.sets[child] != nil) != ok {
			t.Errorf("%s: of %d %t, breakpoints %t", c.name, creator, ok, f.sets[child] != nil)
		}
	}
}
