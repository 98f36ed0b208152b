package proctree

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"alleria/internal/sys"
)

// Options are for New.
type Options struct {
	// Dir is where the region lies; empty: /dev/shm.
	Dir string
	// Warn is told, at most once and in any method's call, why the tree is not in the
	// database, or not any more. The run goes on without it. Nil: nobody.
	Warn func(error)

	step func(string) // see region
}

// Tree is the tree of processes that one tracer follows. Its methods may be called by
// several goroutines. None of them waits for another process, but for New and Close.
type Tree struct {
	mu        sync.Mutex // guards everything below
	opts      Options
	id        uint32
	processes []*Process // by number - 1
	region    *region    // nil: in this process's memory alone
	lost      bool       // region is not used any more, and closed by Close
	slot      int        // of the tree
	slots     map[int]int
	detached  int // slots of processes that were detached since the last sweep
}

// New begins a tree and puts it into the database. command is what the user had run.
// The tree has no process yet: the first Created makes number 1.
func New(command []string, opts Options) *Tree {
	t := &Tree{opts: opts, slots: map[int]int{}}
	if err := t.register(command); err != nil {
		t.warn(err)
	}
	return t
}

// register takes a slot.
func (t *Tree) register(command []string) error {
	start, _, err := sys.StartTime(os.Getpid())
	if err != nil {
		return err
	}
	r, err := openRegion(t.opts.Dir, true, t.opts.step)
	if err != nil {
		return err
	}
	// The lock is held until the tree's id is there: without, the region could be removed
	// as empty in between.
	err = r.guard(func() error { return t.take(r, start, command) })
	if err != nil {
		_ = r.guard(func() error { r.removeIfLast(); return nil }) // it may be empty, and ours is the last look
		r.release()
		return err
	}
	r.unlock()
	t.region = r
	return nil
}

// take fills a free slot of a tree. The lock is held.
func (t *Tree) take(r *region, start uint64, command []string) error {
	for i := range treeSlots {
		s := r.tree(i)
		if s.id.Load() != 0 {
			continue
		}
		s.counter.Store(0)
		s.pid.Store(int32(os.Getpid()))
		s.start.Store(start)
		s.begun.Store(time.Now().UnixNano())
		storeWords(&s.command.length, s.command.words[:], keepStart(strings.Join(command, " "), 8*len(s.command.words)))
		t.id, t.slot = r.header().lastTree.Add(1), i
		if t.id == 0 { // after four thousand million trees
			t.id = r.header().lastTree.Add(1)
		}
		r.at("before the tree")
		s.id.Store(t.id)
		r.at("the tree is there")
		return nil
	}
	return errFull
}

// warn tells what the tree lacks, once.
func (t *Tree) warn(err error) {
	if warn := t.opts.Warn; warn != nil {
		t.opts.Warn = nil
		warn(err)
	}
}

// shared runs f if the tree is in the database. A region that somebody has changed is
// not touched again; for want of a slot only the process in question is not shown.
func (t *Tree) shared(f func(r *region) error) {
	r := t.region
	if r == nil || t.lost {
		return
	}
	err := r.guard(func() error {
		if r.tree(t.slot).id.Load() != t.id {
			return errChanged
		}
		return f(r)
	})
	if err != nil {
		t.lost = errors.Is(err, errChanged)
		t.warn(err)
	}
}

// Created notes that the process with the number parent has created the process pid, and
// returns the new one's number. 0 is the parent of the first process. A process that
// was detached has no children that count: the result is 0 for them, and for a parent that
// there is not.
//
// Until it executes a program, it runs its parent's.
func (t *Tree) Created(parent, pid int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &Process{Number: len(t.processes) + 1, PID: pid, Parent: parent, Started: time.Now()}
	if above := t.process(parent); above != nil && above.State != Detached {
		p.Depth, p.Path, p.Args = above.Depth+1, above.Path, above.Args
	} else if parent != 0 || len(t.processes) > 0 {
		return 0
	}
	t.processes = append(t.processes, p)
	t.shared(func(r *region) error {
		r.tree(t.slot).counter.Store(uint32(p.Number))
		r.at("counted")
		return t.show(r, p)
	})
	return p.Number
}

// process finds one, nil if there is none of that number.
func (t *Tree) process(n int) *Process {
	if n < 1 || n > len(t.processes) {
		return nil
	}
	return t.processes[n-1]
}

// Executed notes that a process runs another program from now on. A process that was let
// go is left as it is.
func (t *Tree) Executed(n int, path string, args []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.process(n)
	if p == nil || p.State == Detached {
		return
	}
	p.Path, p.Args = path, slices.Clone(args)
	p.Programs = append(p.Programs, Program{Path: path, Args: p.Args, At: time.Now()})
	t.shared(func(r *region) error {
		if s := t.shownAt(r, n); s != nil {
			s.write(r, p)
		}
		return nil
	})
}

// SetState notes what the tracer does with a process from now on. From Detached there is no
// way back.
func (t *Tree) SetState(n int, s State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.process(n)
	if p == nil || p.State == Detached {
		return
	}
	p.State = s
	t.shared(func(r *region) error {
		slot := t.shownAt(r, n)
		if slot == nil {
			return nil
		}
		if s == Detached {
			// Nobody tells of its end. Who reads the region looks whether it lives, by its start.
			start, _, err := sys.StartTime(p.PID)
			if err != nil { // it has ended already
				t.hide(r, n)
				return nil
			}
			slot.start.Store(start)
			t.detached++
		}
		slot.state.Store(uint32(s))
		return nil
	})
}

// SetCounts notes how many instructions a process has executed and how many bytes were
// recorded of it so far. Two stores and a lock within the tracer: call it as often as
// a person looks, not for each event.
func (t *Tree) SetCounts(n int, instructions, recorded uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.process(n)
	if p == nil {
		return
	}
	p.Instructions, p.Recorded = instructions, recorded
	t.shared(func(r *region) error {
		if s := t.shownAt(r, n); s != nil {
			s.instructions.Store(instructions)
			s.recorded.Store(recorded)
		}
		return nil
	})
}

// Ended notes the end of a process: its exit code or minus the signal that ended it, and
// what it used. Only the first of several calls counts.
func (t *Tree) Ended(n, status int, u Usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.process(n)
	if p == nil || !p.Ended.IsZero() {
		return
	}
	p.Ended, p.Status, p.Usage = time.Now(), status, u
	t.shared(func(r *region) error {
		t.hide(r, n)
		return nil
	})
}

// Processes returns copies of all processes that there have been, in the order of their
// numbers.
func (t *Tree) Processes() []Process {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]Process, len(t.processes))
	for i, p := range t.processes {
		out[i] = *p
		out[i].Programs = slices.Clone(p.Programs)
	}
	return out
}

// Process returns a copy of one, and whether there is one of that number.
func (t *Tree) Process(n int) (Process, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.process(n)
	if p == nil {
		return Process{}, false
	}
	out := *p
	out.Programs = slices.Clone(p.Programs)
	return out, true
}

// Ancestors lists the numbers of the processes above one, its parent first.
func (t *Tree) Ancestors(n int) []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []int
	for p := t.process(n); p != nil && p.Parent != 0; p = t.process(p.Parent) {
		out = append(out, p.Parent)
	}
	return out
}

// Close takes the tree out of the database, and removes that if it was the last. The
// processes stay known. It may be called more than once.
func (t *Tree) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.region
	if r == nil {
		return
	}
	// Our own slots need no lock. Should it not be had, all is clean but the file.
	t.shared(func(r *region) error {
		for n := range t.slots {
			t.hide(r, n)
		}
		r.at("before the tree's end")
		r.tree(t.slot).id.Store(0)
		r.at("the tree is gone")
		return nil
	})
	t.region = nil
	r.leave()
}
