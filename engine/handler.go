package engine

import (
	"alleria/engine/codecache"
	"alleria/engine/sigframe"
	"alleria/engine/tracee"
	"alleria/engine/translate"
	"alleria/internal/sys"
)

// A signal that has a handler is a stop where the kernel is about to deliver it, and one at the handler's first instruction, behind the
// frame that the kernel has written. What that frame depends on is the kernel's alone (the handler, its flags and mask, the alternate
// stack), but the one of the signal before tells it: the second stop goes where a frame of the same thread, signal and mask was seen, nothing of that can have changed since, and
// the thread was interrupted between two instructions or within a system call. The tracer writes the frame then, and the kernel drops the signal.
//
// What can change it is asked for before it is done (rt_sigaction, sigaltstack), as soon as there is a frame to go by; where there are several threads from the second one on, so
// that none is past the question when a frame is learned from, and told of behind it: a handler that one thread is about to change is the kernel's to enter. Native code does it
// unseen, so that nothing is kept over a stretch of it.

// entries is what was seen of a thread's entries into handlers.
type entries struct {
	asOf  int // calls.Calls.Dispositions then
	seen  map[entryKey]*sigframe.Template
	tries map[sys.Signal]int
}

// entryKey is what entries differ in that may well come by turns: the mask that the frame holds, and the one that is in force, which a call such as
// ppoll has set for its own time.
type entryKey struct {
	sig           sys.Signal
	mask, blocked uint64
}

// mostTries is how many entries into a handler are looked at that are none to go by, until no more are.
const mostTries = 8

// entriesOf is the thread's entries, without those that do not hold any more.
func (t *Thread) entriesOf() *entries {
	e := &t.entries
	if now := t.p.calls.Dispositions(); e.asOf != now || e.seen == nil {
		*e = entries{asOf: now, seen: make(map[entryKey]*sigframe.Template), tries: make(map[sys.Signal]int)}
	}
	return e
}

// plainEntry tells whether a frame for a signal could be written by the tracer, or be learned from.
func (t *Thread) plainEntry(regs *sys.Regs, h *tracee.Signal, sets *sys.SignalSets) bool {
	p := t.p
	if p.tr.opts.NoFrames || t.vfork || p.detachedThreads || h.Fault() || t.recovery.Wrote() || regs.Eflags&translate.FlagTrap != 0 || t.tracee.Sheltered() || sets.Blocked>>(h.Number-1)&1 != 0 {
		return false
	}
	return !t.native && !p.calls.SharesHandlers() && !t.othersChange()
}

// othersChange tells whether another thread may be changing a handler: one that makes the call, or runs native code.
func (t *Thread) othersChange() bool {
	for _, o := range t.p.threads {
		if o != t && !o.vfork && (o.native || o.calls.ChangesHandler()) {
			return true
		}
	}
	return false
}

// leftBy forgets the thread's entries where it returns through a frame that changes its alternate stack.
func (e *entries) leftBy(f *sigframe.Frame) {
	for _, tm := range e.seen {
		if !tm.Same(f) {
			*e = entries{}
			return
		}
	}
}

// makeEntry writes the frame of a signal that has a handler, and lets the thread go on with the handler's translation; false if the
// kernel is to write it.
func (t *Thread) makeEntry(regs *sys.Regs, h *tracee.Signal, sets *sys.SignalSets) (bool, error) {
	mask, err := t.tracee.Mask()
	if err != nil {
		return false, nil
	}
	tm := t.entriesOf().seen[entryKey{h.Number, mask, sets.Blocked}]
	if tm == nil || !tm.Fits(regs, mask, sets.Blocked) {
		return false, nil
	}
	// What waits for the process may have been this thread's to take. Where the handler blocks it the kernel wakes another thread for it, which it
	// does not where a tracer sets a mask. Nothing new is this thread's while it stands.
	if len(t.p.threads) > 1 && tm.Blocks()&sets.Pending != 0 {
		return false, nil
	}
	state := make([]byte, sigframe.StateSize)
	n, err := t.tracee.XState(state)
	if err != nil {
		return false, nil
	}
	made, err := tm.Build(regs, h.Number, &h.Info, state[:n])
	if err != nil || sys.WriteForeign(t.tid, made.Bytes[:made.GapFrom], made.At) != nil || sys.WriteForeign(t.tid, made.Bytes[made.GapTo:], made.At+uint64(made.GapTo)) != nil {
		return false, nil // the kernel may do better, and says what is wrong if not
	}
	if err := t.tracee.SetXState(made.Start); err != nil {
		return false, nil
	}
	if err := t.tracee.SetMask(made.Blocked); err != nil {
		return false, err
	}
	t.p.points.InterruptedAt(regs.Rip)
	t.resume.Interrupt(regs)
	t.calls.Interrupted()
	t.counts.Led(translate.Edge{From: regs.Rip, To: made.Regs.Rip, Jump: true}, 1)
	*regs = made.Regs
	if ptr, ok := sigframe.Clean(t.p.mem, regs.Rdx, 0); ok {
		t.p.fixPointer(t, ptr, codecache.X87Pointer{Size: 8})
	}
	t.p.stats.Frames++
	return true, t.enter(regs, 0)
}

// watchEntry begins to look at the kernel's entry into a handler; nil if it is none to go by.
func (t *Thread) watchEntry(regs *sys.Regs, h *tracee.Signal, sets *sys.SignalSets) *sigframe.Entry {
	s := t.entriesOf()
	if !t.plainEntry(regs, h, sets) || s.tries[h.Number] == mostTries {
		return nil
	}
	if t.p.calls.AskOfHandlers(); s.asOf != t.p.calls.Dispositions() {
		return nil
	}
	e := &sigframe.Entry{Before: *regs, Signal: h.Number, Info: h.Info, Blocked: sets.Blocked}
	var err error
	if e.Mask, err = t.tracee.Mask(); err != nil {
		return nil
	}
	e.State = make([]byte, sigframe.StateSize)
	n, err := t.tracee.XState(e.State)
	if err != nil {
		return nil
	}
	e.State = e.State[:n]
	s.tries[h.Number]++
	return e
}

// learn keeps what was seen of an entry, with the registers behind it.
func (t *Thread) learn(e *sigframe.Entry, regs *sys.Regs) {
	if e == nil || t.tracee.Holds() {
		return
	}
	e.In = *regs
	var err error
	if e.Blocks, err = t.tracee.Mask(); err != nil {
		return
	}
	e.Start = make([]byte, sigframe.StateSize)
	n, err := t.tracee.XState(e.Start)
	if err != nil {
		return
	}
	e.Start = e.Start[:n]
	if tm, ok := sigframe.Learn(t.p.mem, e); ok && t.entries.asOf == t.p.calls.Dispositions() {
		key := entryKey{e.Signal, e.Mask, e.Blocked}
		tm.Inherit(t.entries.seen[key])
		t.entries.seen[key] = tm
	}
}
