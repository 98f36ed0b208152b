package proctree

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"alleria/internal/sys"
)

// LiveTree is a tree that is being traced, as the database has it.
type LiveTree struct {
	ID        int // of the tree, in the order in which trees began
	Tracer    int // process number of the tracer
	Inside    *Place
	Command   string // what is traced; its beginning, ending in "…", if it is long
	Started   time.Time
	Counter   int // the number that was given last
	Processes []LiveProcess
}

// Place is a process of a tree.
type Place struct {
	Tree    int // LiveTree.ID
	Process int // its number in that
}

// LiveProcess is a process that lives.
type LiveProcess struct {
	Number       int
	PID          int
	Parent       int // its number, 0 none; the parent may have ended
	Program      string
	Generation   int // programs that it has executed
	State        State
	Started      time.Time
	Instructions uint64 // executed so far, 0 where nobody counts
	Recorded     uint64 // bytes recorded so far
}

// List reads the trees that this user has traced at the moment, in the order in which they
// began. What dead tracers left is cleaned, and the database removed if nothing else was in
// it. dir is as in Options. No database is no trees.
func List(dir string) ([]LiveTree, error) { return list(dir, nil) }

func list(dir string, step func(string)) ([]LiveTree, error) {
	r, err := openRegion(dir, false, step)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list of traced trees: %w", err)
	}
	// The lock is not needed to read: tracers write without it, too.
	r.unlock()
	defer r.leave()
	var trees []LiveTree
	err = r.guard(func() error {
		trees = r.read()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list of traced trees: %s: %w", r.path, err)
	}
	return trees, nil
}

// read copies what the region holds.
func (r *region) read() []LiveTree {
	byID, slots := map[uint32]*LiveTree{}, map[uint32]*treeSlot{}
	for i := range treeSlots {
		s := r.tree(i)
		id := s.id.Load()
		if id == 0 {
			continue
		}
		t := &LiveTree{
			ID: int(id), Tracer: int(s.pid.Load()), Started: time.Unix(0, s.begun.Load()),
			Command: loadWords(&s.command.length, s.command.words[:]),
		}
		if s.id.Load() == id { // else the slot was given to another while we read
			byID[id], slots[id] = t, s
		}
	}
	r.at("trees read")
	places := map[int]Place{} // by process number of the kernel's
	for i := range r.backed() {
		owner, p, ok := r.process(i).read()
		if t := byID[owner]; ok && t != nil {
			t.Processes = append(t.Processes, p)
			places[p.PID] = Place{int(owner), p.Number}
		}
	}
	var trees []LiveTree
	for id, t := range byID {
		slices.SortFunc(t.Processes, func(a, b LiveProcess) int { return cmp.Compare(a.Number, b.Number) })
		// Read behind the processes: a tracer counts one before it shows it, and may have gone on meanwhile.
		counter := int(slots[id].counter.Load())
		if slots[id].id.Load() == id { // else it has ended, and the slot may be another's
			t.Counter = counter
		} else if n := len(t.Processes); n > 0 {
			t.Counter = t.Processes[n-1].Number
		}
		if at, ok := places[t.Tracer]; ok && at.Tree != t.ID {
			t.Inside = &at
		}
		trees = append(trees, *t)
	}
	slices.SortFunc(trees, func(a, b LiveTree) int { return cmp.Compare(a.ID, b.ID) })
	return trees
}

// read copies a slot. It is false of a free one, and of one whose writer does not come to
// an end: that was killed within, and the next one cleans up.
func (s *processSlot) read() (owner uint32, p LiveProcess, ok bool) {
	for range 1000 {
		seq := s.seq.Load()
		owner = s.owner.Load()
		if owner == 0 {
			return 0, p, false
		}
		state := State(s.state.Load())
		p = LiveProcess{
			Number: int(s.number.Load()), PID: int(s.pid.Load()), Parent: int(s.parent.Load()), Generation: int(s.generation.Load()),
			State: state, Started: time.Unix(0, s.begun.Load()), Program: loadWords(&s.program.length, s.program.words[:]),
			Instructions: s.instructions.Load(), Recorded: s.recorded.Load(),
		}
		start := s.start.Load()
		// 0 is a slot that was claimed and never written.
		if seq&1 != 0 || seq == 0 || s.seq.Load() != seq || s.owner.Load() != owner || p.Number == 0 {
			continue
		}
		return owner, p, state != Detached || sys.Alive(p.PID, start)
	}
	return 0, p, false
}
