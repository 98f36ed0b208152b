package followed

import (
	"testing"

	"alleria/engine/asking"
	"alleria/engine/tracee"
)

const at = 8 // of the site

// asks makes a world where a process of two threads is followed that has a site, with a breakpoint once it creates a process.
func asks(t *testing.T) (*world, Threads) {
	w, f := follows()
	w.sites = []asking.Site{{At: at, Call: asking.Ptrace}}
	w.memory = map[int][]byte{pid: make([]byte, 32), child: make([]byte, 32)}
	for _, m := range w.memory {
		copy(m[at:], "\xb8\x65\x00\x00\x00\x0f\x05")
	}
	w.stands = tracee.EventFork
	if err := f.Stop(stop(tid, tracee.EventFork, tracee.SIGTRAP)); err != nil {
		t.Fatal(err)
	}
	w.expect(t, "fork", "born 10 20 1", "cont 12 0")
	w.there(t, "a creator", pid, true)
	w.int3 = true
	w.regs.Rip = at + 1
	return w, f
}

// there tells whether a process has the breakpoint.
func (w *world) there(t *testing.T, name string, p int, want bool) {
	t.Helper()
	if got := w.memory[p][at] == 0xcc; got != want {
		t.Errorf("%s: has a breakpoint: %t", name, got)
	}
}

// asked has a thread ask for something, and compares what was done about it.
func (w *world) asked(t *testing.T, f *Threads, id, what, of int, want ...string) {
	t.Helper()
	w.regs.Rdi, w.regs.Rsi = uint64(what), uint64(of)
	if err := f.Stop(stop(id, 0, tracee.SIGTRAP)); err != nil {
		t.Error(err)
	}
	w.expect(t, "asked", want...)
}

// TestTraceMe: a child that asks to be traced is detached, with its code as it was; its creator keeps the breakpoint.
func TestTraceMe(t *testing.T) {
	w, f := asks(t)
	f.Inherit(child, pid, false)
	w.there(t, "a copy", child, true)
	f.Add(child, child)
	w.asked(t, &f, child, asking.TraceMe, 0, "20 at 13", "interrupt 20", "released 20 0: itself")
	w.there(t, "detached", child, false)
	w.there(t, "its creator", pid, true)
	if f.Follows(child) {
		t.Error("it is still followed")
	}
}

// TestTraceMeInSharedMemory: so is one in its creator's memory, which has the breakpoint again when it creates the next.
func TestTraceMeInSharedMemory(t *testing.T) {
	w, f := asks(t)
	f.Inherit(child, pid, true)
	f.Add(child, child)
	w.memory[child] = w.memory[pid]
	w.asked(t, &f, child, asking.TraceMe, 0, "20 at 13", "interrupt 20", "released 20 0: itself")
	w.there(t, "both", pid, false)
	w.int3 = false
	if err := f.Stop(stop(tid, tracee.EventFork, tracee.SIGTRAP)); err != nil {
		t.Error(err)
	}
	w.there(t, "the next", pid, true)
}

// TestAttached: who attaches to others waits for them, and any other request passes.
func TestAttached(t *testing.T) {
	w, f := asks(t)
	w.asked(t, &f, tid, asking.Attach, child, "12 at 13", "attached 20", "cont 12 0")
	w.asked(t, &f, tid, 7, child, "12 at 13", "cont 12 0")
	w.asked(t, &f, tid, asking.Attach, pid, "12 at 13", "cont 12 0") // itself, which the kernel refuses
	w.regs.Rip++
	w.asked(t, &f, tid, asking.Attach, child, "cont 12 5") // the program's own breakpoint
}

// TestHidden: what is followed creates nothing that no tracer hears of.
func TestHidden(t *testing.T) {
	w, f := asks(t)
	w.sites = []asking.Site{{At: at, Call: asking.Clone}, {At: at, Call: asking.Prlimit}}
	for _, m := range w.memory {
		copy(m[at:], "\xb8\x38\x00\x00\x00\x0f\x05")
	}
	f.sets[pid] = nil
	f.Watch(pid)
	if f.sets[pid].Len() != 1 {
		t.Fatalf("%d sites", f.sets[pid].Len())
	}
	w.asked(t, &f, tid, asking.Untraced|17, 0, "12 at 13", "cont 12 0")
	if w.set.Rdi != 17 {
		t.Errorf("flags %#x", w.set.Rdi)
	}
}

// TestRelease detaches a process's threads as they stop, tells of what they do before, and goes on then.
func TestRelease(t *testing.T) {
	w, f := asks(t)
	w.int3 = false
	f.Add(child, child)
	f.Release(child, w.TracesItself(), func() error { return w.did("then") })
	w.expect(t, "asked to stop", "interrupt 20")
	if err := f.Stop(stop(child, tracee.EventStop, tracee.SIGTRAP)); err != nil {
		t.Error(err)
	}
	w.expect(t, "stopped", "released 20 0: itself", "then")
	f.Release(pid, w.TracesItself(), func() error { return w.did("then") })
	w.there(t, "detached", pid, false)
	w.log = nil // in any order
	if err := f.Stop(stop(tid, 0, usr1)); err != nil {
		t.Error(err)
	}
	w.expect(t, "a thread", "detach 12 10")
	if err := f.Stop(stop(pid, tracee.EventExec, tracee.SIGTRAP)); err != nil {
		t.Error(err)
	}
	w.expect(t, "another program", "born 10 20 1", "then", "executed 10")
	if !f.Empty() {
		t.Error("some are still followed")
	}
}

// TestForsake: who is not to be followed gets its code back.
func TestForsake(t *testing.T) {
	w, f := asks(t)
	f.Inherit(child, pid, false)
	f.Forsake(child, pid, false)
	w.there(t, "a copy", child, false)
	w.there(t, "its creator", pid, true)
	f.Forsake(pid, pid, true)
	w.there(t, "shared", pid, false)
	f.Watch(pid)
	f.DetachAll(func(err error) { t.Error(err) })
	w.log = nil
	w.asked(t, &f, tid, 7, child, "12 at 13", "detach 12 0")
	w.there(t, "detached", pid, false)
}
