package births

import (
	"slices"
	"testing"
	"time"

	"alleria/internal/sys"
)

// system is what /proc says in a test.
type system struct {
	untraced, threads []int
	parents           map[int]int
	shared            [][2]int
}

func (s *system) Traced(tid int) bool { return !slices.Contains(s.untraced, tid) }

func (s *system) Process(tid int) (int, bool) {
	return s.parents[tid], s.Leads(tid)
}

func (s *system) Leads(tid int) bool { return !slices.Contains(s.threads, tid) }

func (s *system) Children(int) []int { return nil }

func (s *system) SharesMemory(a, b int) bool { return slices.Contains(s.shared, [2]int{a, b}) }

const fork, child = 1, 20

// at is a time of the tests.
func at(d time.Duration) time.Time { return time.Unix(1000, 0).Add(d) }

// TestEitherOrder has the parent's event and the child's stop come in both orders, and looks at when the child can be adopted.
func TestEitherOrder(t *testing.T) {
	r := New[string](&system{})
	if s := r.Tell(child, fork, "parent first", at(0)); s != Comes {
		t.Errorf("a child that has not stopped: state %d, want Comes", s)
	}
	if r.Empty() || !r.Has(child) {
		t.Error("a child that is awaited is not in the register")
	}
	if !r.Stop(child, at(0)) {
		t.Error("the child's stop comes second, and it cannot be adopted")
	}
	if c := r.Take(child); c.Told != "parent first" || c.Event != fork {
		t.Errorf("taken: %+v", c)
	}

	if r.Stop(child, at(0)) {
		t.Error("the child's stop comes first, and it can be adopted without anybody knowing whose it is")
	}
	if r.Any(func(told string) bool { return told != "" }) {
		t.Error("something is told of a child whose parent has said nothing")
	}
	if s := r.Tell(child, fork, "child first", at(0)); s != Stands {
		t.Errorf("a child that has stopped: state %d, want Stands", s)
	}
	if c := r.Take(child); c.Told != "child first" || !c.Stands() || !r.Empty() {
		t.Errorf("taken: %+v, empty: %t", c, r.Empty())
	}
}

// TestEndedUnseen has a child end before it could be adopted, and its end come before its parent's event, behind it, and never: how it ended is known where that was reported.
func TestEndedUnseen(t *testing.T) {
	killed := sys.Stop{TID: child, Status: 9}
	for _, stopped := range []bool{false, true} {
		r := New[string](&system{untraced: []int{child}})
		if stopped {
			r.Stop(child, at(0))
		}
		if c := r.End(killed, at(0)); c.Event != 0 {
			t.Errorf("a child whose parent has said nothing: %+v", c)
		}
		if s := r.Tell(child, fork, "late", at(1)); s != Over || !r.Empty() {
			t.Errorf("an end that was reported before: state %d, want Over; empty: %t", s, r.Empty())
		}
		if s := r.TakeEnd(child); s != killed {
			t.Errorf("it ended with %+v", s)
		}
	}

	r := New[string](&system{untraced: []int{child}})
	if s := r.Tell(child, fork, "early", at(0)); s != Comes || r.Missed(at(unseenAfter)) != nil || r.Missed(at(unseenAfter+strayAfter-1)) != nil {
		t.Errorf("an end that is being reported: state %d, want Comes; empty: %t", s, r.Empty())
	}
	if c := r.End(killed, at(1)); c.Event != fork || c.Told != "early" || !r.Empty() {
		t.Errorf("its end: %+v, empty: %t", c, r.Empty())
	}
	r.Tell(child, fork, "never", at(0))
	r.Missed(at(unseenAfter))
	if m := r.Missed(at(unseenAfter + strayAfter)); m[child].Told != "never" || !r.Empty() {
		t.Errorf("missed: %+v, empty: %t", m, r.Empty())
	}
	r = New[string](&system{})
	r.Tell(child, fork, "slow", at(0))
	r.Missed(at(unseenAfter))
	r.system.(*system).untraced = []int{child} // it is asked once
	r.Missed(at(time.Minute))
	if m := r.Missed(at(time.Hour)); m != nil || !r.Told(child) {
		t.Errorf("a child that is slow to stop: missed: %+v, told of: %t", m, r.Told(child))
	}
}

// TestOtherOfTheSameID: an end that nobody was told of does not concern another child with the same id, and is not kept for good.
func TestOtherOfTheSameID(t *testing.T) {
	r := New[string](&system{})
	r.End(sys.Stop{TID: child, Status: 9}, at(0))
	r.Stop(child, at(1))
	if s := r.Tell(child, fork, "", at(1)); s != Stands {
		t.Errorf("state %d, want Stands", s)
	}
	r.Take(child)
	r.End(sys.Stop{TID: child, Status: 9}, at(0))
	r.Missed(at(adoptedAfter))
	if s := r.Tell(child, fork, "", at(adoptedAfter)); s != Comes {
		t.Errorf("state %d, want Comes", s)
	}
}

// TestStrays looks at who is taken for a stray, and when.
func TestStrays(t *testing.T) {
	const ours, init = 10, 1
	for _, c := range []struct {
		name   string
		system system
		event  int
		waited time.Duration
		orphan bool
		stray  bool
	}{
		{name: "a dead process's memory, just stopped", waited: orphanAfter - 1, orphan: true},
		{name: "a dead process's memory", waited: orphanAfter, orphan: true, stray: true},
		{name: "a dead process's memory, and its program has executed another", system: system{parents: map[int]int{child: ours}}, waited: orphanAfter, orphan: true, stray: true},
		{name: "inherited by another, but its creator may have been followed", system: system{parents: map[int]int{child: init}}, waited: strayAfter - 1},
		{name: "inherited by another", system: system{parents: map[int]int{child: init}}, waited: strayAfter, stray: true},
		{name: "its creator may still tell", system: system{parents: map[int]int{child: ours}}, waited: adoptedAfter - 1},
		{name: "its creator never will", system: system{parents: map[int]int{child: ours}}, waited: adoptedAfter, stray: true},
		{name: "its creator waits in vfork", system: system{parents: map[int]int{child: ours}, shared: [][2]int{{child, ours}}}, waited: time.Hour},
		{name: "a thread", system: system{threads: []int{child}}, waited: time.Hour},
		{name: "told of", system: system{parents: map[int]int{child: init}}, event: fork, waited: time.Hour},
	} {
		r := New[string](&c.system)
		r.Stop(child, at(0))
		if c.event != 0 {
			r.Tell(child, c.event, "", at(0))
		}
		ids := r.Strays(at(c.waited), func(pid int) bool { return pid == ours }, func(int) bool { return c.orphan })
		if c.stray != slices.Equal(ids, []int{child}) || c.stray != r.Empty() {
			t.Errorf("%s: strays %d, empty: %t", c.name, ids, r.Empty())
		}
	}
}

// TestNoStrayBeforeItStops: a child that is only expected has no time to be measured from.
func TestNoStrayBeforeItStops(t *testing.T) {
	r := New[string](&system{})
	r.Expect(child, "parent")
	if ids := r.Strays(at(time.Hour), func(int) bool { return false }, func(int) bool { return true }); len(ids) > 0 {
		t.Errorf("strays %d of a child that has not stopped", ids)
	}
	for id, c := range r.All() {
		if id != child || c.Stands() || c.Told != "parent" {
			t.Errorf("child %d: %+v", id, c)
		}
		r.Take(id)
	}
	if !r.Empty() {
		t.Error("it is still there")
	}
}

// TestRemembered keeps so many for so long, and drops each once.
func TestRemembered(t *testing.T) {
	var dropped []int
	r := Remember(func(p int) { dropped = append(dropped, p) })
	for p := range keepAtMost + 1 {
		r.Keep(p, at(time.Duration(p)*time.Millisecond))
	}
	if !slices.Equal(dropped, []int{0}) {
		t.Errorf("dropped %d for the last one, want the first", dropped)
	}
	r.Expire(at(keepFor + 3*time.Millisecond))
	if got := slices.Collect(r.All()); !slices.Equal(got, []int{3, 4, 5, 6, 7, 8}) {
		t.Errorf("left: %d", got)
	}
	r.Close()
	if !slices.Equal(dropped, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("dropped: %d", dropped)
	}
}
