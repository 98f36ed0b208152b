package engine

import (
	"os"
	"time"

	"alleria/engine/translate"
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
	held heldSignal
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

// postpone lets a thread run on without the signal that it is stopped for, if it
// has got too many; false if the signal is to be delivered now. Real-time signals
// are not postponed: they are counted, and keep their order (restFrom). Nor are those that come at the end of a
// system call, since the thread may have sent or unblocked them by it; nor those that the thread has sent itself, which
// may come at the end of a handler that blocked them, where no call is to be seen.
func (tr *Tracer) postpone(t *Thread, regs *sys.Regs, h *heldSignal) bool {
	if h.fault() || t.vfork || t.sentItself(h) {
		return false
	}
	if h.sig > 31 {
		t.storm.sig = h.sig
		t.storms(regs)
		return false
	}
	if tr.sentAgain(t, h) {
		return false
	}
	q := tr.findPostponed(t, h.sig)
	if regs.Orig_rax != ^uint64(0) || !t.storms(regs) || sys.SendSignal(t.p.pid, t.tid, 0) != nil {
		return false
	}
	if sets, err := sys.ReadSignalSets(t.tid); err != nil || sets.Caught>>(h.sig-1)&1 == 0 {
		return false
	}
	due := time.Now().Add(stormDelay)
	switch {
	case q == nil:
		tr.postponed = append(tr.postponed, postponed{t: t, held: *h, due: due})
	case !q.sent: // merged with the first, as the kernel merges signals that it holds
	case time.Since(q.due) > stormLost:
		*q = postponed{t: t, held: *h, due: due}
	default:
		return false
	}
	return true
}

// sentItself tells whether a thread has sent itself a signal, and executes nothing before that arrives. Of a process with several threads it may have
// been another one.
func (t *Thread) sentItself(h *heldSignal) bool {
	switch h.info.Code() {
	case codeUser, codeQueue, codeTKill:
		return len(t.p.threads) == 1 && h.info.Sender() == t.p.pid
	}
	return false // there is no sender
}

// sentAgain tells whether a signal is one that was postponed and that the tracer has
// sent again, and gives it the siginfo that it came with first: sender and value are
// what the handler sees. Every signal that is taken from the kernel has to pass here,
// also one that comes while the thread is being stopped or stepped.
func (tr *Tracer) sentAgain(t *Thread, h *heldSignal) bool {
	q := tr.findPostponed(t, h.sig)
	if q == nil || h.info.Code() != codeTKill || h.info.Sender() != os.Getpid() {
		return false
	}
	h.info = q.held.info
	*q = tr.postponed[len(tr.postponed)-1]
	tr.postponed = tr.postponed[:len(tr.postponed)-1]
	t.storm.length = 0
	return true
}

// ignore lets a thread run on with a signal that changes nothing for it, or that the
// kernel handles as it would natively. One that does nothing costs nothing natively:
// the kernel drops it where it is sent. A traced thread stops for it, and where its sender
// runs on the same processor the next one may be there before it has executed an
// instruction: a thread that gets two in a row is sheltered.
func (tr *Tracer) ignore(t *Thread, regs *sys.Regs, h heldSignal) error {
	if t.storms(regs); t.storm.length > 1 && dropped(h.sig) && !h.fault() && !t.vfork && regs.Orig_rax == ^uint64(0) {
		sets, err := sys.ReadSignalSets(t.tid)
		if err == nil && sets.Caught>>(h.sig-1)&1 == 0 {
			if err := t.takeShelter(h.sig); err != nil {
				return err
			}
		}
	}
	t.storm.at = regs.Rip
	return tr.passOn(t, h)
}

// dropped tells signals whose default action is none: whether one that was sent while
// nobody handled it arrives later, or at all, is of no consequence.
func dropped(sig sys.Signal) bool {
	switch sig {
	case 17, 23, 28: // CHLD URG WINCH
		return true
	}
	return false
}

// takeShelter blocks a signal of a stopped thread until it stops next, at the latest
// when it enters the kernel (resume): the program cannot see its mask before.
//
// Refused: a time after which it ends. The thread would have to be stopped for it, and may
// not have been given the processor at all until then.
func (t *Thread) takeShelter(sig sys.Signal) error {
	mask, err := sys.SignalMask(t.tid)
	if err != nil {
		return err
	}
	if err := sys.SetSignalMask(t.tid, mask|1<<(sig-1)); err != nil {
		return err
	}
	t.shelter, t.sheltered = mask, true
	return nil
}

// restFrom shelters a thread that returns from a handler from the next real-time signals of a storm, for as long as signals are
// postponed. A timer of 100 µs would have the next one there before the thread has executed anything, each time: natively it has
// most of its time to itself. They stay in the kernel's queue, in their order.
//
// Not where something else is about to be delivered, or the thread to be stepped: what is told of its mask would be the shelter's.
func (tr *Tracer) restFrom(t *Thread, regs *sys.Regs) error {
	if t.storm.length < stormLength || t.storm.sig <= 31 || t.vfork || len(t.held) > 0 || regs.Eflags&translate.FlagTrap != 0 {
		return nil
	}
	t.storm.length = 0
	if err := t.takeShelter(t.storm.sig); err != nil {
		return err
	}
	tr.resting = append(tr.resting, rest{t, time.Now().Add(stormDelay)})
	return nil
}

// rest is a thread that is sheltered from signals for a time.
type rest struct {
	t   *Thread
	due time.Time
}

// wakeRested stops the threads whose rest is over, unless they have stopped by themselves: that ends the shelter.
func (tr *Tracer) wakeRested() {
	now, keep := time.Now(), tr.resting[:0]
	for _, r := range tr.resting {
		switch {
		case !r.t.sheltered || tr.threads[r.t.tid] != r.t:
		case now.Before(r.due):
			keep = append(keep, r)
		default:
			tr.threadError(r.t, r.t.interrupt())
		}
	}
	tr.resting = keep
}

// unshelter gives a stopped thread its mask back.
func (t *Thread) unshelter() error {
	if !t.sheltered {
		return nil
	}
	t.sheltered = false
	return sys.SetSignalMask(t.tid, t.shelter)
}

// findPostponed returns a thread's postponed signal, nil if there is none.
func (tr *Tracer) findPostponed(t *Thread, sig sys.Signal) *postponed {
	for i := range tr.postponed {
		if q := &tr.postponed[i]; q.t == t && q.held.sig == sig {
			return q
		}
	}
	return nil
}

// sendPostponed sends the signals again whose time has come.
func (tr *Tracer) sendPostponed() {
	now := time.Now()
	for i := range tr.postponed {
		if q := &tr.postponed[i]; !q.sent && now.After(q.due) {
			q.sent = true
			// A thread that is gone needs no signal.
			_ = sys.SendSignal(q.t.p.pid, q.t.tid, q.held.sig)
		}
	}
}

// sendTrapsBack gives a SIGTRAP back to the kernel that a thread blocks and that a step has let through: one of those
// held behind the first n.
func (tr *Tracer) sendTrapsBack(t *Thread, n int) {
	for i := n; i < len(t.held); i++ {
		h := t.held[i]
		if h.sig != sigTrap || h.fault() {
			continue
		}
		t.held = append(t.held[:i:i], t.held[i+1:]...)
		i--
		if tr.findPostponed(t, h.sig) == nil { // else merged with that, as the kernel does
			tr.postponed = append(tr.postponed, postponed{t: t, held: h, sent: true})
			_ = sys.SendSignal(t.p.pid, t.tid, h.sig)
		}
	}
}

// anyPostponed tells whether a signal is still to be sent again.
func (tr *Tracer) anyPostponed() bool {
	if len(tr.resting) > 0 {
		return true
	}
	for i := range tr.postponed {
		if !tr.postponed[i].sent {
			return true
		}
	}
	return false
}

// forgetPostponed forgets the signals of a thread that is no more.
func (tr *Tracer) forgetPostponed(t *Thread) {
	keep := tr.postponed[:0]
	for _, q := range tr.postponed {
		if q.t != t {
			keep = append(keep, q)
		}
	}
	tr.postponed = keep
}
