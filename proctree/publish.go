package proctree

import "alleria/internal/sys"

// enoughDetached is how many processes that were detached may be in slots before they are
// looked at again. Each look is a file of /proc.
const enoughDetached = 32

// show puts a new process into a free slot of the region.
func (t *Tree) show(r *region, p *Process) error {
	i, err := t.claim(r)
	if err != nil {
		return err
	}
	t.slots[p.Number] = i
	s := r.process(i)
	r.at("claimed")
	s.state.Store(uint32(p.State))
	s.start.Store(0)
	s.instructions.Store(0)
	s.recorded.Store(0)
	s.write(r, p)
	return nil
}

// write writes what has to fit together.
func (s *processSlot) write(r *region, p *Process) {
	s.seq.Add(1)
	r.at("within a slot")
	s.number.Store(uint32(p.Number))
	s.pid.Store(int32(p.PID))
	s.parent.Store(uint32(p.Parent))
	s.generation.Store(uint32(p.Generation()))
	s.begun.Store(p.Started.UnixNano())
	storeWords(&s.program.length, s.program.words[:], keepEnd(p.Path, 8*len(s.program.words)))
	r.at("still within")
	s.seq.Add(1)
}

// claim takes a free slot. From the first on: so those in use lie close together, and the
// region stays as small as the most that lived at a time. A few hundred loads take less
// than the creation of a process by far.
func (t *Tree) claim(r *region) (int, error) {
	from := 0
	for {
		for i := from; i < r.backed(); i++ {
			// Looked at first: an exchange takes the line from whoever writes there.
			if o := &r.process(i).owner; o.Load() == 0 && o.CompareAndSwap(0, t.id) {
				return i, nil
			}
		}
		if t.detached >= enoughDetached {
			t.sweep(r)
			from = 0
			continue
		}
		from = r.backed()
		if err := r.back(); err != nil {
			return 0, err
		}
	}
}

// sweep frees the slots of processes that were detached and have ended since.
func (t *Tree) sweep(r *region) {
	t.detached = 0
	for n, i := range t.slots {
		s := r.process(i)
		if start := s.start.Load(); start != 0 && !sys.Alive(int(s.pid.Load()), start) {
			t.hide(r, n)
		}
	}
}

// shownAt is the slot of a process; nil if it has none, or not any more.
func (t *Tree) shownAt(r *region, n int) *processSlot {
	i, ok := t.slots[n]
	if !ok {
		return nil
	}
	s := r.process(i)
	if s.owner.Load() != t.id {
		return nil // the file was written anew by somebody: not ours to write to
	}
	return s
}

// hide gives the slot of a process back.
func (t *Tree) hide(r *region, n int) {
	s := t.shownAt(r, n)
	delete(t.slots, n)
	if s != nil {
		r.at("before a slot is free")
		s.free()
	}
}
