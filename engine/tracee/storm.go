package tracee

import (
	"os"
	"slices"
	"time"

	"alleria/internal/sys"
)

// A signal costs a traced thread several stops, a hundred times what it costs
// natively. A sender that waits for the handler and then sends again at once,
// as Go's collector does to preempt a goroutine, would have the next signal
// pending before the handler has returned: the thread would run its handler for
// ever and nothing else, where natively it has most of its time to itself. So a
// thread that got several signals in a row with hardly anything in between gets
// the next one a little later.
//
// A postponed signal is sent once more, by the tracer, and takes the place and
// the siginfo of the first when it arrives. So the kernel looks after masks,
// interrupted system calls and the order of signals as ever.
//
// The refused alternative keeps the signal in the tracer and injects it: that is
// possible only where the thread stops for a signal, not where the tracer stops
// it, and would ignore a mask that the thread has set meanwhile.

const (
	// stormGap is how little a thread runs between two signals of a storm,
	// stormLength how many make one.
	stormGap    = 150 * time.Microsecond
	stormLength = 4
	// stormDelay is what it runs undisturbed then.
	stormDelay = 500 * time.Microsecond
	// stormLost is when a signal that was sent again must have arrived, unless
	// the kernel merged it with another.
	stormLost = 100 * time.Millisecond
)

// storm is what is known of a thread's signals in quick succession.
type storm struct {
	calm   time.Time // when the last handler had returned, or, in native code, was entered
	at     uint64    // where the thread was last let into the cache
	length int
	sig    sys.Signal // the last real-time signal
}

// postponed is a signal that is to be sent again.
type postponed struct {
	t    *Thread
	held Signal
	due  time.Time
	sent bool
}

// storms notes a signal that finds the thread with these registers and tells
// whether it is one too many. The place counts besides the time because the
// tracer may be late to look.
func (t *Thread) storms(regs *sys.Regs) bool {
	s := &t.storm
	if time.Since(s.calm) > stormGap && regs.Rip != s.at {
		s.length = 0
		return false
	}
	s.length++
	return s.length > stormLength
}

// Calm notes that a handler has returned, or, in native code, is entered.
func (t *Thread) Calm() { t.storm.calm = time.Now() }

// LetInAt notes where a thread is detached on.
func (t *Thread) LetInAt(addr uint64) { t.storm.at = addr }

// Postpone lets a thread run on without the signal that it is stopped for, if it
// has got too many; false if the signal is to be delivered now. Real-time signals
// are not postponed: they are counted, and keep their order (RestFrom). Nor are those that come at the end of a
// system call, since the thread may have sent or unblocked them by it; nor those that the thread has sent itself, which
// may come at the end of a handler that blocked them, where no call is to be seen.
func (t *Thread) Postpone(regs *sys.Regs, h *Signal) bool {
	if h.Fault() || t.sentItself(h) {
		return false
	}
	if h.Number > 31 {
		t.storm.sig = h.Number
		t.storms(regs)
		return false
	}
	if t.SentAgain(h) {
		return false
	}
	q := t.stops.find(t, h.Number)
	if regs.Orig_rax != ^uint64(0) || !t.storms(regs) || t.kernel().SendSignal(t.PID, t.TID, 0) != nil {
		return false
	}
	if sets, err := t.kernel().ReadSignalSets(t.TID); err != nil || sets.Caught>>(h.Number-1)&1 == 0 {
		return false
	}
	due := time.Now().Add(stormDelay)
	switch {
	case q == nil:
		t.stops.postponed = append(t.stops.postponed, postponed{t: t, held: *h, due: due})
	case !q.sent: // merged with the first, as the kernel merges signals that it holds
	case time.Since(q.due) > stormLost:
		*q = postponed{t: t, held: *h, due: due}
	default:
		return false
	}
	return true
}

// PostponedFirst has a signal that was postponed for a thread come before the one that it is about to take, which is held: the handler of that may block it, and wait
// for another thread to take it, which of one that was sent to the process the kernel would have seen to. As the tracer sends it again it is the thread's alone.
func (t *Thread) PostponedFirst(h *Signal) {
	if t.host.Alone() || h.Fault() {
		return
	}
	for i := range t.stops.postponed {
		if q := &t.stops.postponed[i]; q.t == t && !q.sent && q.held.Number != h.Number {
			t.keep(*h)
			*h = q.held
			t.stops.postponed = slices.Delete(t.stops.postponed, i, i+1)
			return
		}
	}
}

// sentItself tells whether a thread has sent itself a signal, and executes nothing before that arrives. Of a process with several threads it may have
// been another one.
func (t *Thread) sentItself(h *Signal) bool {
	switch h.Info.Code() {
	case CodeUser, CodeQueue, CodeTKill:
		return t.host.Alone() && h.Info.Sender() == t.PID
	}
	return false // there is no sender
}

// SentAgain tells whether a signal is one that was postponed and that the tracer has
// sent again, and gives it the siginfo that it came with first: sender and value are
// what the handler sees. Every signal that is taken from the kernel has to pass here,
// also one that comes while the thread is being stopped or stepped.
func (t *Thread) SentAgain(h *Signal) bool {
	s := t.stops
	q := s.find(t, h.Number)
	if q == nil || h.Info.Code() != CodeTKill || h.Info.Sender() != os.Getpid() {
		return false
	}
	h.Info = q.held.Info
	*q = s.postponed[len(s.postponed)-1]
	s.postponed = s.postponed[:len(s.postponed)-1]
	t.storm.length = 0
	return true
}

// Shelter shelters a thread that gets a signal that changes nothing for it and does nothing, if it has got two in a row. The
// kernel drops such a signal where it is sent, natively. A traced thread stops for it, and where its sender
// runs on the same processor the next one may be there before it has executed an instruction.
func (t *Thread) Shelter(regs *sys.Regs, h *Signal) error {
	if t.storms(regs); t.storm.length > 1 && dropped(h.Number) && !h.Fault() && regs.Orig_rax == ^uint64(0) {
		sets, err := t.kernel().ReadSignalSets(t.TID)
		if err == nil && sets.Caught>>(h.Number-1)&1 == 0 {
			return t.takeShelter(h.Number)
		}
	}
	return nil
}

// takeShelter blocks a signal of a stopped thread until it stops next, at the latest
// when it enters the kernel (Resume): the program cannot see its mask before.
//
// Refused: a time after which it ends. The thread would have to be stopped for it, and may
// not have been given the processor at all until then.
func (t *Thread) takeShelter(sig sys.Signal) error {
	mask, err := t.kernel().SignalMask(t.TID)
	if err != nil {
		return err
	}
	if err := t.kernel().SetSignalMask(t.TID, mask|1<<(sig-1)); err != nil {
		return err
	}
	t.shelter, t.sheltered = mask, true
	return nil
}

// RestFrom shelters a thread that returns from a handler from the next real-time signals of a storm, for as long as signals are
// postponed. A timer of 100 µs would have the next one there before the thread has executed anything, each time: natively it has
// most of its time to itself. They stay in the kernel's queue, in their order.
//
// Not where something else is about to be delivered, or the thread to be stepped: what is told of its mask would be the shelter's.
func (t *Thread) RestFrom(regs *sys.Regs) error {
	if !t.Storming() || len(t.held) > 0 || regs.Eflags&flagTrap != 0 {
		return nil
	}
	t.storm.length = 0
	if err := t.takeShelter(t.storm.sig); err != nil {
		return err
	}
	t.stops.resting = append(t.stops.resting, rest{t, time.Now().Add(stormDelay)})
	return nil
}

// rest is a thread that is sheltered from signals for a time.
type rest struct {
	t   *Thread
	due time.Time
}

// Storming tells whether a thread that returns from a handler is to rest from real-time signals.
func (t *Thread) Storming() bool { return t.storm.length >= stormLength && t.storm.sig > 31 }

// Sheltered tells whether a thread is sheltered from signals.
func (t *Thread) Sheltered() bool { return t.sheltered }

// flagTrap is the trap flag's bit.
const flagTrap = 0x100

// Rested returns the threads whose rest is over and that have to be stopped for it: those that stop by themselves have their shelter
// ended by that.
func (s *Stops) Rested() (over []*Thread) {
	now, keep := time.Now(), s.resting[:0]
	for _, r := range s.resting {
		switch {
		case !r.t.sheltered:
		case now.Before(r.due):
			keep = append(keep, r)
		default:
			over = append(over, r.t)
		}
	}
	s.resting = keep
	return over
}

// Unshelter gives a stopped thread its mask back.
func (t *Thread) Unshelter() error {
	if !t.sheltered {
		return nil
	}
	t.sheltered = false
	return t.kernel().SetSignalMask(t.TID, t.shelter)
}

// UnshelterAt is Unshelter for what a thread has stopped for. In front of a new program its mask is that of the thread which has executed it, which is none that was sheltered.
func (t *Thread) UnshelterAt(s sys.Stop) error {
	if s.Event() == EventExec {
		return nil
	}
	return t.Unshelter()
}

// find returns a thread's postponed signal, nil if there is none.
func (s *Stops) find(t *Thread, sig sys.Signal) *postponed {
	for i := range s.postponed {
		if q := &s.postponed[i]; q.t == t && q.held.Number == sig {
			return q
		}
	}
	return nil
}

// SendPostponed sends the signals again whose time has come.
func (s *Stops) SendPostponed() {
	now := time.Now()
	for i := range s.postponed {
		if q := &s.postponed[i]; !q.sent && now.After(q.due) {
			q.sent = true
			// A thread that is gone needs no signal.
			_ = q.t.kernel().SendSignal(q.t.PID, q.t.TID, q.held.Number)
		}
	}
}

// SendTrapsBack gives a SIGTRAP back to the kernel that a thread blocks and that a step has let through: one of those
// held behind the first n. Who sends it is whom the program finds where it asks for the signal (sigwaitinfo): the tracer, where the thread does not do it itself.
func (t *Thread) SendTrapsBack(n int, itself func(h *Signal) bool) {
	for i := n; i < len(t.held); i++ {
		h := t.held[i]
		if h.Number != SIGTRAP || h.Fault() {
			continue
		}
		t.held = append(t.held[:i:i], t.held[i+1:]...)
		i--
		if itself != nil && itself(&h) {
			continue
		}
		if s := t.stops; s.find(t, h.Number) == nil { // else merged with that, as the kernel does
			s.postponed = append(s.postponed, postponed{t: t, held: h, sent: true})
			_ = t.kernel().SendSignal(t.PID, t.TID, h.Number)
		}
	}
}

// AnyPostponed tells whether a signal is still to be sent again, or a rest to end.
func (s *Stops) AnyPostponed() bool {
	return len(s.resting) > 0 || slices.ContainsFunc(s.postponed, func(q postponed) bool { return !q.sent })
}

// AwaitsSignal tells whether a signal of a process is still to be sent again, or to come.
func (s *Stops) AwaitsSignal(pid int) bool {
	return slices.ContainsFunc(s.postponed, func(q postponed) bool { return q.t.PID == pid })
}

// Forget forgets the signals of a thread that is no more.
func (s *Stops) Forget(t *Thread) {
	s.halting = slices.DeleteFunc(s.halting, func(o *Thread) bool { return o == t })
	s.postponed = slices.DeleteFunc(s.postponed, func(q postponed) bool { return q.t == t })
	s.resting = slices.DeleteFunc(s.resting, func(r rest) bool { return r.t == t })
}
