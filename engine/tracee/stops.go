package tracee

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"alleria/internal/sys"
)

// ptrace events (include/uapi/linux/ptrace.h). They are in the upper bits of a stop's status.
const (
	EventFork      = 1
	EventVfork     = 2
	EventClone     = 3
	EventExec      = 4
	EventVforkDone = 5
	EventExit      = 6
	EventStop      = 128
)

// Instead of stopping as asked for, a thread ended, or has something else to
// report.
var (
	ErrEnded = errors.New("the thread ended")
	ErrBusy  = errors.New("the thread has another stop to report")
)

// Passing tells errors that only say that a thread has ended, or has something else to report.
func Passing(err error) bool {
	return err == nil || sys.Gone(err) || errors.Is(err, ErrEnded) || errors.Is(err, ErrBusy)
}

// Patience is for how long the report of a thread that was asked to stop is waited for until it is looked at whether
// the thread can still stop; patiences so many times as long until others are resumed for it.
const (
	Patience  = 2 * time.Millisecond
	patiences = 10
)

// Stops is what the kernel reports of all threads of a run, and the signals that are to be sent again.
type Stops struct {
	kernel  Kernel
	reports Reports
	await   func()      // waits for a report, for Patience at most
	fail    func(error) // takes errors about threads that nobody has asked for
	// later holds stops that came while another thread's was waited for, in the order in which they came first, and numbers says which that is of each.
	// came is the last of these numbers, and taken that of the stop which Wait has taken out; 0: its was a new one.
	later       []sys.Stop
	numbers     []uint64
	came, taken uint64
	gone        map[int]bool // threads that have been let go to their ends, by id, until these are reported, or the id is another's
	postponed   []postponed
	ending      int       // the thread in front of whose end something is being done (AtEnd), 0: none, or it has been let go
	resting     []rest    // threads that are sheltered for a time
	halting     []*Thread // for which signals are held, or were, that stop their processes
}

// NewStops makes the stops of a run. await waits for a report, for Patience at most; fail takes errors about threads that
// nobody has asked for.
func NewStops(k Kernel, r Reports, await func(), fail func(error)) *Stops {
	return &Stops{kernel: k, reports: r, await: await, fail: fail, gone: make(map[int]bool)}
}

// PutAside keeps a stop for later. At a thread's end, and where a program has its id, what it has reported before means nothing any more.
func (s *Stops) PutAside(stop sys.Stop) {
	if ev := stop.Event(); ev == EventExit || ev == EventExec {
		s.dropEarlier(stop.TID)
	}
	s.came++
	s.later, s.numbers = append(s.later, stop), append(s.numbers, s.came)
}

// putBack keeps a stop for later that Wait has just given. One that was put aside before comes where it was: threads are asked to
// stop again and again where others run into breakpoints all the time, and one whose stop went to the end of the line each time would wait for good.
func (s *Stops) putBack(stop sys.Stop) {
	n := s.taken
	if s.taken = 0; n == 0 {
		s.PutAside(stop)
		return
	}
	at, _ := slices.BinarySearch(s.numbers, n)
	s.later, s.numbers = slices.Insert(s.later, at, stop), slices.Insert(s.numbers, at, n)
}

// take takes the stop out that was put aside at a place, and returns its number too.
func (s *Stops) take(at int) (stop sys.Stop, number uint64) {
	stop, number = s.later[at], s.numbers[at]
	s.later, s.numbers = slices.Delete(s.later, at, at+1), slices.Delete(s.numbers, at, at+1)
	return stop, number
}

// Aside returns the stop that was put aside first, and forgets it; false if there is none.
func (s *Stops) Aside() (stop sys.Stop, ok bool) {
	if len(s.later) == 0 {
		return stop, false
	}
	stop, _ = s.take(0)
	return stop, true
}

// AnyAside tells whether a stop is put aside.
func (s *Stops) AnyAside() bool { return len(s.later) > 0 }

// Collect puts aside what the kernel has reported by now, and returns all that is put aside. The caller must not change it.
func (s *Stops) Collect() []sys.Stop {
	for r, ok := s.reports.Next(); ok; r, ok = s.reports.Next() {
		s.PutAside(r)
	}
	return s.later
}

// Wait waits for the next stop of a thread; what other threads report
// meanwhile is handled later.
// It blocks: only for stops that are certain to come, because they were asked for.
// One thread never reports again, not even its end: that which executed another
// program and took over the process's id.
func (t *Thread) Wait() (sys.Stop, error) {
	s := t.stops
	if i := slices.IndexFunc(s.later, func(r sys.Stop) bool { return r.TID == t.TID }); i >= 0 {
		var r sys.Stop
		r, s.taken = s.take(i)
		return r, nil
	}
	s.taken = 0
	for {
		r, ok, err := s.next(t)
		switch {
		case err != nil:
			return r, err
		case !ok:
			return r, errors.New("nothing left to wait for")
		case r.TID == t.TID:
			return r, nil
		}
		s.PutAside(r)
		if r.Event() == EventExec {
			if former, err := s.kernel.EventMsg(r.TID); err == nil && int(former) == t.TID {
				return sys.Stop{}, ErrEnded
			}
		}
	}
}

// next is the next report of the kernel while t's is waited for. Two things could
// keep t from reporting anything: it is the first thread and has just ended, or it
// waits in the kernel, within an execve or for a core dump to be written, until
// others have ended that stand at the beginning of their end because nobody has
// looked at them yet. Those are resumed then; that they have ended is heard of later.
func (s *Stops) next(t *Thread) (r sys.Stop, ok bool, err error) {
	n, since := 0, time.Time{}
	for {
		if r, ok = s.reports.Next(); ok || s.reports.Over() {
			return r, ok, nil
		}
		if since.IsZero() {
			since = time.Now()
		}
		if s.await(); s.reports.Pending() || time.Since(since) < Patience {
			continue
		}
		n, since = n+1, time.Now()
		if t.endedFirst() {
			return r, false, ErrEnded
		}
		if n >= patiences {
			s.resumeEnding()
		}
	}
}

// resumeEnding lets the threads go on that stand at the beginning of their end and
// were put aside for later, and the one about which something is being done.
func (s *Stops) resumeEnding() {
	if tid := s.ending; tid != 0 {
		s.ending = 0
		if err := s.goToEnd(tid); !Passing(err) {
			s.fail(fmt.Errorf("thread %d at its end: %w", tid, err))
		}
	}
	kept, numbers := s.later[:0], s.numbers[:0]
	for i, r := range s.later {
		if r.Event() == EventExit {
			if err := s.goToEnd(r.TID); !Passing(err) {
				s.fail(fmt.Errorf("thread %d at its end: %w", r.TID, err))
			}
			continue
		}
		kept, numbers = append(kept, r), append(numbers, s.numbers[i])
	}
	s.later, s.numbers = kept, numbers
}
