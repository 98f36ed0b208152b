package engine

import (
	"bytes"

	"alleria/engine/codecache"
	"alleria/engine/probe"
	"alleria/engine/shm"
	"alleria/engine/tracee"
	"alleria/engine/translate"
	"alleria/internal/capture"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// What the engine does at probe points, and what its client asks for there. Each method of Process is Points' of the same name, with ErrEnded for
// what fails because the process is going.

// Entries returns the place that counts entries at addr, but those by jumps from within the function that begins there (see
// SetExtent), Within those, and Returns the function's returns. They are not armed.
func (p *Process) Entries(addr uint64) (*probe.Counter, error) {
	c, err := p.points.Entries(addr)
	return c, p.orEnded(err)
}
func (p *Process) Within(addr uint64) (*probe.Counter, error) {
	c, err := p.points.Within(addr)
	return c, p.orEnded(err)
}
func (p *Process) Returns(entry uint64) (*probe.Counter, error) {
	c, err := p.points.Returns(entry)
	return c, p.orEnded(err)
}

// InGo says that the function at entry is written in Go, before its returns are asked for.
func (p *Process) InGo(entry uint64) { p.points.InGo(entry) }

// AwaitReturns makes every return that is translated from now on look whether it
// is awaited. Where it is known early that Returns will be called, it saves
// translating everything anew then.
func (p *Process) AwaitReturns() { p.points.AwaitReturns() }

// SetExtent says that a function begins at addr, and which code is its own; HasExtent tells whether that was said.
func (p *Process) SetExtent(addr uint64, code ...probe.Extent) { p.points.SetExtent(addr, code...) }
func (p *Process) HasExtent(addr uint64) bool                  { return p.points.HasExtent(addr) }

// Unwatch stops watching the function at addr: its places count nothing any more.
func (p *Process) Unwatch(addr uint64) { p.points.Unwatch(addr) }

// Notify asks for Client.Notified whenever a thread is about to execute addr, which must be an instruction's first byte, and
// Unnotify no longer.
func (p *Process) Notify(addr uint64) error { return p.orEnded(p.points.Notify(addr)) }
func (p *Process) Unnotify(addr uint64)     { p.points.Unnotify(addr) }

// Intercept has the calls of the function at entry captured as prog says, and written into rings as calls of function fn;
// Unintercept ends it.
func (p *Process) Intercept(entry uint64, fn uint32, prog *capture.Program) error {
	return p.orEnded(p.points.Intercept(entry, fn, prog))
}

// FollowByTracer has the tracer, instead of code, capture what pointers lead to, of functions that are intercepted from then on, as in programs that fill memory when it is
// asked for (userfaultfd): code would ask for what the program might not have.
func (p *Process) FollowByTracer() { p.points.FollowByTracer() }

// FindErrno says who finds out where errno of each thread is, from the base of fs on, 0: it is not known yet. Calls that fail are captured with it
// (capture.Program.Fails), of functions that are intercepted from then on.
func (p *Process) FindErrno(find func() int64) { p.points.FindErrno(find) }

func (p *Process) Unintercept(entry uint64) { p.points.Unintercept(entry) }

// Gone says that what lay in [start, end), an image, was unmapped, natively maybe: returns to it are not awaited any more.
func (p *Process) Gone(start, end uint64) { p.points.Lost(start, end) }

// PlaceAhead makes the Intercepts that follow cheaper, of functions with native probes at some addresses. It need not be called.
func (p *Process) PlaceAhead(entries []uint64) { p.points.PlaceAhead(entries) }

// probeHost is a process as its points see it.
type probeHost struct{ p *Process }

func (h probeHost) Native() bool                 { return h.p.mode == ModeNative }
func (h probeHost) Freeze() (thaw func())        { return h.p.freeze() }
func (h probeHost) Invalidate(start, end uint64) { h.p.code.Invalidate(start, end) }
func (h probeHost) Fail(err error)               { h.p.failed(err) }

// slots are the slots of the process's threads.
func (p *Process) slots() (all []*shm.Slot) {
	for _, t := range p.running() {
		all = append(all, t.slot)
	}
	return all
}

// reached tells the client that a place's count ran out in a thread that is
// stopped or waits. at is the application's next address, rsp its stack pointer.
// The client may arm the place anew, open a window, or both.
func (t *Thread) reached(pl *probe.Counter, at, rsp uint64) {
	if t.vfork { // its calls are not the program's: it is left for who comes next
		pl.Retry()
		return
	}
	t.p.client.Reached(t, pl, at, rsp)
	t.readyToggle()
}

// placeEntered answers a thread that waits because the count of an entry ran out.
// It goes on behind the counting, or the entry would count twice.
func (t *Thread) placeEntered() error {
	pl := t.p.points.Counter(t.slot.U32(layout.Place).Load())
	captured := t.p.points.CapturesAt(pl.Addr()) != nil
	t.reached(pl, pl.Addr(), t.recovery.SavedSP())
	if c := t.p.points.CapturesAt(pl.Addr()); c != nil && !captured {
		return t.captureOpening(c)
	}
	return t.answerPast(pl.Addr(), codecache.Counted)
}

// placeReturned answers a thread that waits because the count of a function's returns
// ran out; the return has been executed.
func (t *Thread) placeReturned() error {
	site := t.slot.Get(layout.ReqArg)
	t.reached(t.p.points.Counter(t.slot.U32(layout.Place).Load()), site, t.recovery.SavedSP())
	return t.answer(site, true)
}

// hitProbe tells whether a held signal is that of a native probe, and takes the
// thread back to it. The probe may have been taken away since.
func (p *Process) hitProbe(regs *sys.Regs, h *tracee.Signal) bool {
	if !h.Breakpoint() {
		return false
	}
	at := regs.Rip - 1
	if p.points.HitAt(at, regs) {
		return true
	}
	if p.points.Gone(at) {
		regs.Rip = at
		return true
	}
	return false
}

// answerPast lets a thread that waits go on at app, whose entry has been
// counted as how says.
func (t *Thread) answerPast(app uint64, how codecache.Entry) error {
	if how == codecache.BackEdge && t.p.cache.Watched[app] {
		t.p.client.Notified(t, app, NotifiedRegs{t.recovery.SavedSP(), t.slot.Get(layout.Save + 7*8)})
	}
	if t.modeDiffers() {
		return t.switchWaiting(app, how)
	}
	code := t.p.codeFor(app, t.variant, how)
	if code == 0 {
		return t.goNativeAt(app)
	}
	t.reply(code)
	return nil
}

// codeFor returns where the translation of app begins, made if there is none, for an
// entry that has been counted so far. It is 0 if there is no code at app.
func (p *Process) codeFor(app uint64, v codecache.Variant, how codecache.Entry) uint64 {
	b := p.cache.BlockOf(app, v)
	if b == nil {
		b = p.translator.Translate(app, v)
	}
	if b == nil {
		return 0
	}
	return b.At(how)
}

// loadsReturn is how many bytes the instruction at an address has, if it is the load of the return address with which blocks of functions
// whose returns are awaited begin; else 0. Such a function may be jumped to with anything for a stack, and then returns nowhere.
func (p *Process) loadsReturn(addr uint64) uint64 {
	load := translate.LoadReturn()
	a := p.cache.RegionAt(addr)
	if a == nil || addr-a.Base+uint64(len(load)) > uint64(len(a.Mem)) {
		return 0
	}
	b := p.cache.BlockAt(a, addr)
	if b == nil || addr < b.Code || addr >= b.Code+uint64(b.Inner) || !bytes.Equal(a.Mem[addr-a.Base:][:len(load)], load) {
		return 0
	}
	return uint64(len(load))
}

// returnedNatively counts the return of a thread that ran natively and is about to
// execute addr, if that is where it returned to.
func (t *Thread) returnedNatively(regs *sys.Regs) {
	addr, rsp := regs.Rip, regs.Rsp
	if !t.p.points.AwaitsAt(addr) {
		return
	}
	t.captures.Leaves(regs, addr)
	if pl := t.p.points.PopReturns(t.slot, addr, rsp); pl != nil && pl.Count() {
		t.reached(pl, addr, rsp)
	}
}

// enteredNatively counts, for a thread that is about to execute addr natively, what
// translated code would count there.
func (t *Thread) enteredNatively(regs *sys.Regs, how codecache.Entry) {
	p, addr, rsp := t.p, regs.Rip, regs.Rsp
	if how == codecache.Counted {
		return
	}
	entry, returns, within := p.points.CountersAt(addr)
	if how == codecache.BackEdge {
		if within != nil && within.Count() {
			t.reached(within, addr, rsp)
		}
		return
	}
	if returns != nil {
		t.captures.Enters(regs, p.points.EnteredByGoroutine(addr))
	}
	if p.translator.Awaits && p.points.IsWatched(addr) && (returns != nil || !p.points.Goroutines()) {
		p.points.DropDeadReturns(t.slot, rsp)
	}
	if returns != nil {
		t.failed(p.points.PushReturn(t.slot, returns, rsp))
	}
	if entry != nil && entry.Count() {
		t.reached(entry, addr, rsp)
	}
}

// stayIfInsideFunction keeps the process in the cache if a thread that is about to run natively may be in
// a function whose jumps to its start would then be taken for calls: it would be in it before the
// int3 there could see it enter.
func (t *Thread) stayIfInsideFunction(regs *sys.Regs) {
	p := t.p
	if p.points.MayBeWithin(regs.Rip, regs.Rsp) {
		p.stayInsideFunction()
	}
}
