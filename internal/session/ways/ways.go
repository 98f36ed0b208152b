// Package ways has in which ways the calls of an intercepted function are captured: one for each Intercept that means it and each kind of thread, and those that stand
// for several of them together, since a function has one program at a time.
//
// In a nutshell: Ways.Add enters what a window asks for, and Ways.While is the way in which calls are captured while some windows are open. What captures them, and
// under which number, whoever arms the function enters into the Way.
//
// It arms nothing, and knows nothing of processes and images.
package ways

import (
	"slices"

	"alleria/config"
	"alleria/interceptors"
)

// Threads is some threads of a process, by their numbers. The zero value is all.
type Threads struct {
	Of     []uint32 // in order; none: all
	Except bool     // all but those
}

// Union is the threads that are in either.
func (t Threads) Union(o Threads) Threads {
	var union []uint32
	switch {
	case len(t.Of) == 0 && !t.Except || len(o.Of) == 0 && !o.Except:
		return Threads{}
	case t.Except && o.Except: // all but those of both
		union = without(t.Of, func(n uint32) bool { return !slices.Contains(o.Of, n) })
	case t.Except:
		union = without(t.Of, func(n uint32) bool { return slices.Contains(o.Of, n) })
	case o.Except:
		union = without(o.Of, func(n uint32) bool { return slices.Contains(t.Of, n) })
	default:
		union = append(slices.Clone(t.Of), o.Of...)
		slices.Sort(union)
		return Threads{Of: slices.Compact(union)}
	}
	return Threads{Of: union, Except: len(union) > 0}
}

// without is the numbers that f does not hold for.
func without(of []uint32, f func(uint32) bool) []uint32 {
	return slices.DeleteFunc(slices.Clone(of), f)
}

// Way is one way of capturing a function's calls.
type Way struct {
	Parts     []*Way // that it stands for; none: it is one by itself
	Intercept *config.Intercept
	windows   uint64  // that ask for it
	Threads   Threads // whose calls are meant
	Capture   *interceptors.Capture
	Number    uint32 // under which the function is armed in this way; 0: it was not yet. Without Capture: it cannot be, which was said
}

// Ways is all ways of a function. The zero value has none.
type Ways struct {
	each   []Way
	joined map[uint64]*Way // those that stand for several, by their bits
}

// Add enters that a window captures calls of some threads as ic says.
func (s *Ways) Add(ic *config.Intercept, window int, threads Threads) {
	k := slices.IndexFunc(s.each, func(w Way) bool {
		return w.Intercept == ic && w.Threads.Except == threads.Except && slices.Equal(w.Threads.Of, threads.Of)
	})
	if k < 0 {
		k = len(s.each)
		s.each = append(s.each, Way{Intercept: ic, Threads: threads})
	}
	s.each[k].windows |= 1 << window
}

// While is how calls are captured while some windows are open; nil: they are not.
func (s *Ways) While(open uint64) *Way {
	var parts []*Way
	bits := uint64(0)
	for i := range s.each {
		if w := &s.each[i]; w.windows&open != 0 {
			parts = append(parts, w)
			bits |= 1 << (i & 63)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	if len(parts) == 1 {
		return parts[0]
	}
	w := s.joined[bits]
	if w == nil {
		w = &Way{Parts: parts, Intercept: parts[0].Intercept, Threads: parts[0].Threads}
		for _, q := range parts[1:] {
			w.Threads = w.Threads.Union(q.Threads)
		}
		if s.joined == nil {
			s.joined = make(map[uint64]*Way)
		}
		s.joined[bits] = w
	}
	return w
}

// All is those by themselves, behind that of all windows together.
func (s *Ways) All() []*Way {
	all := []*Way{s.While(^uint64(0))}
	for i := range s.each {
		all = append(all, &s.each[i])
	}
	return all
}

// Forget forgets what captures the function's calls, and under which numbers.
func (s *Ways) Forget() {
	s.joined = nil
	for i := range s.each {
		s.each[i].Capture, s.each[i].Number = nil, 0
	}
}

// Clone is the ways by themselves, with what captures them, for another process.
func (s *Ways) Clone() Ways { return Ways{each: slices.Clone(s.each)} }
