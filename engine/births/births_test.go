package births

import (
	"slices"
	"testing"
	"time"
)

// system is what /proc says in a test.
type system struct {
	untraced, threads []int
	parents           map[int]int
	shared            [][2]int
}

func (s *system) Traced(tid int) bool { return !slices.Contains(s.untraced, tid) }

func (s *system) Process(tid int) (int, bool) {
	return s.parents[tid], !slices.Contains(s.threads, tid)
}

func (s *system) SharesMemory(a, b int) bool { return slices.Contains(s.shared, [2]int{a, b}) }

const fork, child = 1, 20

// at is a time of the tests.
func at(d time.Duration) time.Time { return time.Unix(1000, 0).Add(d) }

// TestEitherOrder has the parent's event and the child's stop come in both orders, and looks at when the child can be adopted.
func TestEitherOrder(t *testing.T) {
	r := New[string](&system{})
	if s := r.Tell(child, fork, "parent first"); s != Comes {
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
	if s := r.Tell(child, fork, "child first"); s != Stands {
		t.Errorf("a child that has stopped: state %d, want Stands", s)
	}
	if c := r.Take(child); c.Told != "child first" || !c.Stands() || !r.Empty() {
		t.Errorf("taken: %+v, empty: %t", c, r.Empty())
	}
}

// TestEndedUnseen has a child end before its first stop: nothing is awaited any more.
func TestEndedUnseen(t *testing.T) {
	r := New[string](&system{untraced: []int{child}})
	if s := r.Tell(child, fork, "late"); s != Over || !r.Empty() {
		t.Errorf("state %d, want Over; empty: %t", s, r.Empty())
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
		stray  bool
	}{
		{name: "just stopped", system: system{parents: map[int]int{child: init}}, waited: strayAfter - 1},
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
			r.Tell(child, c.event, "")
		}
		ids := r.Strays(at(c.waited), func(pid int) bool { return pid == ours })
		if c.stray != slices.Equal(ids, []int{child}) || c.stray != r.Empty() {
			t.Errorf("%s: strays %d, empty: %t", c.name, ids, r.Empty())
		}
	}
}

// TestNoStrayBeforeItStops: a child that is only expected has no time to be measured from.
func TestNoStrayBeforeItStops(t *testing.T) {
	r := New[string](&system{})
	r.Expect(child, "parent")
	if ids := r.Strays(at(time.Hour), func(int) bool { return false }); len(ids) > 0 {
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
