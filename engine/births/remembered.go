package births

import (
	"iter"
	"time"
)

// How long, and for how many, what was shared with a process that has ended is kept.
const keepFor, keepAtMost = 2 * time.Second, 8

// Remembered is what is kept of processes that have ended, of which a child may have a copy that nobody has told of.
type Remembered[P any] struct {
	drop func(P)
	list []remembered[P] // in the order in which they ended
}

type remembered[P any] struct {
	p    P
	when time.Time // its end was told
}

// Remember makes an empty list; drop is called once with each process that is forgotten.
func Remember[P any](drop func(P)) Remembered[P] { return Remembered[P]{drop: drop} }

// Keep keeps a process for a while, in place of the one that ended first if there are many.
func (r *Remembered[P]) Keep(p P, now time.Time) {
	if len(r.list) == keepAtMost {
		r.forgetFirst()
	}
	r.list = append(r.list, remembered[P]{p, now})
}

// Expire forgets those that have been kept for long enough.
func (r *Remembered[P]) Expire(now time.Time) {
	for len(r.list) > 0 && now.Sub(r.list[0].when) > keepFor {
		r.forgetFirst()
	}
}

// Close forgets all.
func (r *Remembered[P]) Close() {
	for len(r.list) > 0 {
		r.forgetFirst()
	}
}

func (r *Remembered[P]) forgetFirst() {
	p := r.list[0].p
	r.list = r.list[1:]
	r.drop(p)
}

// Empty tells whether none is kept.
func (r *Remembered[P]) Empty() bool { return len(r.list) == 0 }

// All goes over those that are kept.
func (r *Remembered[P]) All() iter.Seq[P] {
	return func(yield func(P) bool) {
		for _, e := range r.list {
			if !yield(e.p) {
				return
			}
		}
	}
}
