package sys

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Shares is work in parts that may be done in any order, side by side: a second thread takes some of them while another processor has nothing to do. Whoever has to have them done
// never waits for a thread that has no processor, but for the one part that such a thread may have begun.
type Shares struct {
	parts []func()
	next  atomic.Int64
	helps sync.Mutex // held while the other thread does a part
}

// Share has another thread begin with parts, where there are several of them, and processors. Finish has to follow.
func Share(parts []func(), alone bool) *Shares {
	s := &Shares{parts: parts}
	if alone || len(parts) < 2 || runtime.GOMAXPROCS(0) == 1 {
		return s
	}
	go func() {
		for more := true; more; {
			s.helps.Lock()
			more = s.one()
			s.helps.Unlock()
		}
	}()
	return s
}

// Finish does what nobody has begun, and waits for the rest.
func (s *Shares) Finish() {
	for s.one() {
	}
	s.helps.Lock() // nobody begins another one
	defer s.helps.Unlock()
}

// one does a part that nobody has begun; false if there is none.
func (s *Shares) one() bool {
	n := s.next.Add(1) - 1
	if n >= int64(len(s.parts)) {
		return false
	}
	s.parts[n]()
	return true
}
