package ways

import (
	"slices"
	"testing"

	"alleria/config"
	"alleria/interceptors"
)

// meant tells whether a thread is among some.
func (t Threads) meant(n uint32) bool {
	return len(t.Of) == 0 && !t.Except || slices.Contains(t.Of, n) != t.Except
}

// TestUnion holds the union of each two sets of threads to what is in either.
func TestUnion(t *testing.T) {
	const most = 4
	sets := []Threads{{}}
	for bits := 1; bits < 1<<most; bits++ {
		var of []uint32
		for n := range uint32(most) {
			if bits>>n&1 == 1 {
				of = append(of, n+1)
			}
		}
		sets = append(sets, Threads{Of: of}, Threads{Of: of, Except: true})
	}
	for _, a := range sets {
		for _, b := range sets {
			u := a.Union(b)
			for n := range uint32(most + 2) {
				if got, want := u.meant(n), a.meant(n) || b.meant(n); got != want {
					t.Errorf("%v and %v: %v has thread %d %v, want %v", a, b, u, n, got, want)
				}
			}
			if !slices.IsSorted(u.Of) {
				t.Errorf("%v and %v: %v", a, b, u)
			}
		}
	}
}

// TestWhile has three windows, two of which ask for the same.
func TestWhile(t *testing.T) {
	first, second := new(config.Intercept), new(config.Intercept)
	var s Ways
	s.Add(first, 0, Threads{})
	s.Add(second, 1, Threads{Of: []uint32{2}})
	s.Add(first, 2, Threads{})
	if s.While(0) != nil || s.While(1<<3) != nil {
		t.Error("a way without a window that asks")
	}
	alone := s.While(1 << 1)
	if alone.Intercept != second || len(alone.Parts) > 0 || !slices.Equal(alone.Threads.Of, []uint32{2}) {
		t.Errorf("of the second window: %+v", alone)
	}
	if s.While(1) != s.While(1<<2) || s.While(1).Intercept != first {
		t.Error("two windows that ask for the same have two ways")
	}
	both := s.While(1<<1 | 1)
	if len(both.Parts) != 2 || both.Parts[1] != alone || both.Intercept != first || len(both.Threads.Of) > 0 || both != s.While(1<<1|1<<2) {
		t.Errorf("of both: %+v", both)
	}
	if all := s.All(); len(all) != 3 || all[0] != both || all[2] != alone {
		t.Errorf("all: %v", all)
	}
	alone.Capture, alone.Number = new(interceptors.Capture), 7
	other := s.Clone()
	s.Forget()
	if w := s.While(1 << 1); w.Number != 0 || w.Capture != nil || s.While(1<<1|1) == both {
		t.Errorf("forgotten: %+v", w)
	}
	if w := other.While(1 << 1); w.Number != 7 || w.Capture == nil {
		t.Errorf("cloned before: %+v", w)
	}
}
