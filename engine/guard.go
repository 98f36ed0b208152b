package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"alleria/engine/appcode"
	"alleria/engine/tracee"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Pages of code that the program may write are guarded once they have been quiet: package appcode knows which, and says why. Here the right to write
// them is taken away and given back, by calls of mprotect in a thread's name.
//
// Whatever goes by the rights to memory finds those that the program has asked for:
//
//   - a thread that writes there faults. The page is given back, and the thread makes the write again, from a block that compares itself;
//   - calls that the kernel writes to memory for, or that change what is mapped, are asked for (package syscalls), and what they
//     get at is given back first;
//   - no page is guarded while a call is under way that may write to it, or that lies in the mapping of some thread's stack: the kernel writes frames of signals there;
//   - a process that runs natively, or that forks, has no guarded pages.
//
// What /proc/PID/maps says is not hidden.

// guardEvery is how often at most is looked for pages that have been quiet, and restAtMost how often at least where none could be guarded.
const (
	guardEvery = 10 * time.Millisecond
	restAtMost = time.Second
)

// guarding is what a process's guarded pages need.
type guarding struct {
	looked time.Duration // when pages were looked for last
	rest   time.Duration // how long is not looked since then, at least
	fault  tracee.Trap   // what the program does with SIGSEGV
}

// guardQuiet guards pages that have been quiet.
func (p *Process) guardQuiet() {
	now := p.tr.now()
	if at, ok := p.guardsNext(); !ok || now < at {
		return
	}
	g := &p.guarding
	g.looked = now
	if due := p.code.Quiet(now); len(due) > 0 {
		if p.mayGuard() && p.guard(due) {
			g.rest = 0
		} else { // nobody runs, say
			g.rest = min(2*g.rest+guardEvery, restAtMost)
		}
	}
}

// guardsNext is when is looked for such pages again; false: there are none.
func (p *Process) guardsNext() (at time.Duration, ok bool) {
	next, watches := p.code.Watches()
	if p.tr.opts.NoGuard || !watches {
		return 0, false
	}
	every := guardEvery
	if p.tr.opts.GuardSoon {
		every = pollEvery
	}
	return max(next, p.guarding.looked+max(every, p.guarding.rest)), true
}

// mayGuard tells whether pages of the process may be guarded: every thread is in the cache, and our calls are not forbidden.
func (p *Process) mayGuard() bool {
	if p.mode == ModeNative || len(p.leaving) > 0 || p.detachedThreads || p.dropped || p.calls.Unguarded() || !p.calls.May() {
		return false
	}
	for _, t := range p.running() {
		if t.native || t.vfork || t.vforking || t.tracee.Stopped || t.calls.Awaits() {
			return false
		}
	}
	return !p.tr.births.Any(func(k told) bool { return k.parent == nil || k.by(p) })
}

// guard guards stretches of pages, if some thread runs that can do it, and tells whether one did. Threads that run are taken out of the cache for it: one of them may be about to
// make a call that it has not been asked about.
func (p *Process) guard(due []appcode.Stretch) (did bool) {
	p.calls.Guard(true)
	defer p.guardCalls()
	out, free := p.takeOut(func(t *Thread) (used bool) {
		due, used = p.notUsed(due, t.tid)
		return used
	})
	due = p.code.Still(due)
	for _, o := range out {
		free = free && !o.t.tracee.Holds() // a write, say, by which what the program does with SIGSEGV is not to be seen
		due = p.withoutUsed(due, o.regs.Orig_rax, o.regs)
	}
	if did = free && len(out) > 0 && len(due) > 0; did {
		t := out[0].t
		t.failed(t.takeRights(due))
	}
	p.putBack(out)
	return did
}

// notUsed is withoutUsed for a thread that the kernel says is within a call; false if it is not.
func (p *Process) notUsed(due []appcode.Stretch, tid int) ([]appcode.Stretch, bool) {
	text, err := sys.ReadProc(fmt.Sprintf("/proc/%d/task/%d/syscall", p.pid, tid))
	if err != nil || strings.HasPrefix(string(text), "running") {
		return due, false
	}
	var nr int64
	var regs sys.Regs
	n, _ := fmt.Sscanf(string(text), "%d %v %v %v %v %v %v %v", &nr, &regs.Rdi, &regs.Rsi, &regs.Rdx, &regs.R10, &regs.R8, &regs.R9, &regs.Rsp)
	if n < 8 {
		return due, false
	}
	return p.withoutUsed(due, uint64(nr), &regs), true
}

// withoutUsed leaves out of stretches what lies in the mapping of a thread's stack, and what the call may write to that it makes.
func (p *Process) withoutUsed(due []appcode.Stretch, nr uint64, regs *sys.Regs) []appcode.Stretch {
	if m := p.code.Mapping(regs.Rsp); m != nil {
		due = slices.DeleteFunc(due, func(s appcode.Stretch) bool { return s.Start < m.End && s.End > m.Start })
	}
	used, _ := p.calls.Reached(nr, regs, func(start, end uint64) (in []appcode.Stretch) {
		for _, s := range due {
			if s.Start < end && s.End > start {
				in = append(in, s)
			}
		}
		return in
	})
	return slices.DeleteFunc(due, func(s appcode.Stretch) bool { return slices.Contains(used, s) })
}

// takeRights has a stopped thread take the right to write stretches of pages away.
func (t *Thread) takeRights(due []appcode.Stretch) error {
	p := t.p
	p.guarding.fault.Signal = tracee.SIGSEGV
	if !p.code.Guards() { // else no change of it would have gone unseen
		if err := p.calls.LookForWriters(); err != nil || p.calls.Unguarded() {
			return err
		}
		if err := p.guarding.fault.Learn(&t.tracee, t.borrow); err != nil {
			return err
		}
	}
	in, err := t.tracee.Inject(p.ownCall())
	if err != nil {
		return err
	}
	for _, s := range due {
		_, err := in.Call(tracee.SysMprotect, s.Start, s.End-s.Start, tracee.ProtRead|tracee.ProtExec)
		if no, is := sys.AsErrno(err); is {
			if log := p.tr.opts.Log; log != nil {
				log("guarding %#x: %v", s.Start, no)
			}
			// It may have failed halfway, with too many mappings.
			_, _ = in.Call(tracee.SysMprotect, s.Start, s.End-s.Start, tracee.ProtRead|tracee.ProtWrite|tracee.ProtExec)
			p.code.Shun(s)
			continue
		} else if err != nil {
			return err
		}
		p.code.Guard(s, p.tr.now())
		p.stats.Guarded += int((s.End - s.Start) / appcode.PageSize)
	}
	p.changedCode()
	return in.Close()
}

// giveBack has a stopped thread give the right to write pages back, whose translations are forgotten; written: because they are written.
func (t *Thread) giveBack(pages []appcode.Stretch, written bool) error {
	p := t.p
	if len(pages) == 0 {
		return nil
	}
	for _, s := range pages {
		p.code.Unguard(s, written, p.tr.now())
	}
	p.changedCode()
	in, err := t.tracee.Inject(p.ownCall())
	if err != nil {
		return err
	}
	for _, s := range pages {
		if _, err := in.Call(tracee.SysMprotect, s.Start, s.End-s.Start, tracee.ProtRead|tracee.ProtWrite|tracee.ProtExec); err != nil {
			return fmt.Errorf("giving back the right to write %#x: %w", s.Start, err)
		}
	}
	if !p.code.Guards() {
		p.calls.Guard(false)
	}
	return in.Close()
}

// guardCalls has translated code ask before the calls that may get at guarded pages. Bounds change here alone, behind a time in which all of them were asked for and
// threads that ran were taken out of the cache: where pages have been given back those of before do.
func (p *Process) guardCalls() {
	in := p.code.GuardedIn(0, ^uint64(0))
	if len(in) == 0 {
		p.calls.Guard(false)
		return
	}
	p.calls.GuardWithin(in[0].Start, in[len(in)-1].End)
}

// giveAllBack is giveBack for all guarded pages.
func (t *Thread) giveAllBack() error {
	if !t.p.code.Guards() {
		return nil
	}
	return t.giveBack(t.p.code.GuardedIn(0, ^uint64(0)), false)
}

// reachedByCall is what the call that a thread in the dispatch routine asks for gets at of guarded pages, and whether it writes there.
func (t *Thread) reachedByCall() (pages []appcode.Stretch, written bool) {
	t.p.calls.NoteWriter(t.slot.Get(layout.Save))
	if !t.p.code.Guards() {
		return nil, false
	}
	var saved sys.Regs
	t.recovery.Saved(&saved)
	return t.p.calls.Reached(uint64(uint32(saved.Rax)), &saved, t.p.code.GuardedIn)
}

// writesAgain gives a page back that a stopped thread has faulted at by writing to it, and has it make the write again, from what compares itself: the rest of
// its block may be what it writes. done is false for any other signal.
func (t *Thread) writesAgain(regs *sys.Regs, h *tracee.Signal) (done bool, err error) {
	const noRight = 2 // SEGV_ACCERR
	p := t.p
	if h.Number != tracee.SIGSEGV || h.Info.Code() != noRight || !p.code.CaughtAt(h.Info.Addr()) {
		return false, nil
	}
	p.stats.Caught++
	page := h.Info.Addr() &^ (appcode.PageSize - 1)
	if err := t.giveBack(p.code.GuardedIn(page, page+appcode.PageSize), true); err != nil {
		return true, err
	}
	if err := p.guarding.fault.Mend(&t.tracee, t.borrow); err != nil {
		return true, err
	}
	if t.native || !t.recoverState(regs, true) {
		return true, t.run(0)
	}
	return true, t.enter(regs, 0)
}

// leaveGuards gives all pages back, and to the kernel which calls are refused, for a stopped thread that is about to run natively.
func (t *Thread) leaveGuards() error {
	if err := t.giveAllBack(); err != nil {
		return err
	}
	return t.calls.GiveRefused()
}

// signalStack is a thread's alternate stack, as it was when the process's handlers were last looked at.
type signalStack struct {
	known      int // see syscalls.Calls.Dispositions; 0: never
	start, end uint64
}

// giveBackFrame gives the pages back that the kernel is about to write a signal's frame to: below the stack pointer, or on the alternate stack.
func (t *Thread) giveBackFrame(sp uint64) error {
	const largest = 16 << 10 // with all of the vector state
	p := t.p
	if !p.code.Guards() {
		return nil
	}
	if asOf := p.calls.Dispositions(); t.altStack.known != asOf || p.calls.SharesHandlers() {
		in, err := t.tracee.Inject(p.ownCall())
		if err != nil {
			return err
		}
		b := t.borrowed()
		_, err = in.Call(tracee.SysSigaltstack, 0, b.Addr)
		if err := cmp.Or(in.Close(), err); err != nil {
			return err
		}
		start := b.Words.Get(b.Off)
		t.altStack = signalStack{asOf, start, start + b.Words.Get(b.Off+16)}
	}
	pages := p.code.GuardedIn(sp-min(largest, sp), sp)
	return t.giveBack(append(pages, p.code.GuardedIn(t.altStack.start, t.altStack.end)...), true)
}
