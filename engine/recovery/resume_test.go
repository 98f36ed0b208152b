package recovery

import (
	"testing"

	"alleria/engine/codecache"
	"alleria/internal/sys"
)

// TestResumes recalls what has been counted of an entry where a thread was found, there only, and once.
func TestResumes(t *testing.T) {
	here, elsewhere, deeper := &sys.Regs{Rip: 1, Rsp: 100}, &sys.Regs{Rip: 2, Rsp: 100}, &sys.Regs{Rip: 1, Rsp: 80}
	var r Resumes
	for _, at := range []*sys.Regs{elsewhere, deeper} {
		if r.At(here, codecache.Counted); r.Recall(at) != codecache.Uncounted {
			t.Errorf("an entry at %#x is taken for the one at %#x", at.Rip, here.Rip)
		}
	}
	r.At(here, codecache.BackEdge)
	if how := r.Recall(here); how != codecache.BackEdge {
		t.Errorf("recalled %v, want a back edge", how)
	}
	if how := r.Recall(here); how != codecache.Uncounted {
		t.Errorf("recalled %v once more", how)
	}
}

// TestInterrupted recalls it behind handlers too, the innermost first, and forgets those that never return.
func TestInterrupted(t *testing.T) {
	at := func(n int) *sys.Regs { return &sys.Regs{Rip: uint64(n), Rsp: 100} }
	var r Resumes
	const n = mostInterrupted + 4
	for i := range n {
		r.At(at(i), codecache.Counted)
		r.Interrupt(at(i))
	}
	if how := r.Recall(at(n - 1)); how != codecache.Uncounted {
		t.Errorf("%v is recalled within the handler", how)
	}
	for i := n - 1; i >= 0; i-- {
		want := codecache.Counted
		if i < 4 {
			want = codecache.Uncounted
		}
		r.Return(at(i))
		if how := r.Recall(at(i)); how != want {
			t.Errorf("return to %d of %d: %v, want %v", i, n, how, want)
		}
	}
	r.At(at(1), codecache.Counted)
	r.Interrupt(at(1))
	r.Return(at(1))() // which does not happen after all
	if how := r.Recall(at(1)); how != codecache.Uncounted {
		t.Errorf("%v is recalled of a return that was taken back", how)
	}
}
