package cab

import "alleria/internal/sys"

// Place has all processing threads run on these processors from now on, those that are started later as well. Bound is how many are; a thread that
// the kernel refuses it stays where it was: a cpuset may have changed meanwhile.
func (p *Pool) Place(cpus []int) (bound int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cpus.Store(&cpus)
	for _, w := range p.threads {
		// One that has not got so far yet looks at cpus itself, behind having said its number.
		if tid := int(w.tid.Load()); tid != 0 && w.state.Load() != ended {
			if e := sys.Place(tid, cpus); e != nil {
				err = e
				continue
			}
			bound++
		}
	}
	return bound, err
}

// settleDown says which thread of the system's it is, and goes where the others are.
func (w *worker) settleDown() {
	w.tid.Store(int32(sys.ThreadID()))
	if cpus := w.cpus.Load(); cpus != nil {
		_ = sys.Place(0, *cpus) // as of Place: it stays where it was
	}
}
