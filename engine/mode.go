package engine

import (
	"fmt"

	"alleria/engine/codecache"
	"alleria/engine/emulate"
	"alleria/engine/toggle"
	"alleria/engine/tracee"
	"alleria/internal/sys"
)

// PID is the process's id in the kernel.
func (p *Process) PID() int { return p.pid }

// Mode returns how the process's threads run.
// Single threads may still be on their way to it.
func (p *Process) Mode() Mode { return p.mode }

// ReadAt reads the application's memory.
// It works whatever the pages' protections are, and also while threads run: what
// they write meanwhile may be seen in part.
func (p *Process) ReadAt(b []byte, addr int64) (int, error) {
	n, err := p.mem.ReadAt(b, addr)
	if err != nil {
		return n, fmt.Errorf("memory of process %d at %#x: %w", p.pid, addr, err)
	}
	return n, nil
}

// SetMode changes how the process's threads run. Called by the client, it takes
// effect for the thread concerned at once and for the others as they are
// stopped one by one. A process that is to run natively stays in the cache, in
// ModePlain, while it is busy (see StayTranslated).
//
// Translations of the other variants are kept: going back costs nothing but a table.
func (p *Process) SetMode(m Mode) {
	p.asked = m
	if m == ModeNative && p.residency.Stays() {
		m = ModePlain
	}
	if p.mode == m {
		return
	}
	p.mode = m
	if m != ModeNative {
		p.variant = m.variant()
	}
	p.cache.AheadQueue = p.cache.AheadQueue[:0]
	p.modeChanged = true
}

// modeDiffers tells whether a thread runs otherwise than its process should.
// A vfork child always runs in the same variant: it shares the address space and is
// nobody's thread.
func (t *Thread) modeDiffers() bool {
	p := t.p
	if t.vfork || t.tracee.Ending {
		return false
	}
	if p.hearEnds && !t.tracee.StopsAtEnd() {
		return true
	}
	if p.mode == ModeNative {
		return !t.native || p.calls.StopNatively() && !t.callStops
	}
	if t.away {
		return false
	}
	v := t.due()
	return t.native || t.variant != v || t.epoch[v] != p.cache.Epoch[v] || t.budgetEpoch != p.budgetEpoch
}

// Replan forgets what blocks record: each is planned anew.
//
// The blocks stay in memory, and threads that are in them finish their executions; what
// they record is what the old plan said. New epochs make every thread empty its table.
func (p *Process) Replan() {
	p.toggle.Stop() // it leads to what is forgotten
	clear(p.cache.Stepped)
	for v := codecache.Record; v.Records(); v++ {
		if p.cache.SlotChecks[v] != nil {
			p.retranslate(v)
		}
	}
	p.modeChanged = true
}

// SetPlan says which of the client's plans holds for what the thread records. The
// client calls it from Client.ThreadStarted; without, it is the first. Called later, it takes
// effect as SetMode does.
func (t *Thread) SetPlan(plan int) {
	if t.plan != plan {
		t.plan = plan
		t.p.toggle.Stop() // it leads to what the plan before says
		t.p.modeChanged = true
	}
}

// Rest has a thread run without recording though its process records, until it is called again. It takes
// effect as SetMode does; called from Client.BudgetLow about the same thread, at once.
func (t *Thread) Rest(rest bool) {
	if t.resting != rest {
		t.resting = rest
		t.p.toggle.Stop()
		t.p.modeChanged = true
	}
}

// due is the variant that the process's mode and its plan mean for a thread.
func (t *Thread) due() codecache.Variant {
	v := t.p.mode.variant()
	if v.Records() && t.resting {
		return codecache.Plain
	}
	if v.Records() {
		v += codecache.Variant(t.plan)
	}
	return v
}

// retranslate forgets the translations of a variant: threads that run in it go
// over to others.
func (p *Process) retranslate(v codecache.Variant) {
	p.cache.Epoch[v]++
	p.cache.ForgetIndex(v)
	p.cache.Unlist(v)
	clear(p.cache.SlotChecks[v])
	for k := range p.cache.BareChecks {
		if k.Variant == v {
			delete(p.cache.BareChecks, k)
		}
	}
	p.modeChanged = true
}

// switchWaiting takes a thread that waits in the dispatch routine for app over
// to the process's mode. Between variants of translated code nothing has to be
// stopped.
// Entering is called before the new code runs: marks lie between the old records
// and the new. how is what has been counted of the entry at app.
func (t *Thread) switchWaiting(app uint64, how codecache.Entry) error {
	p := t.p
	if p.mode != ModeNative {
		t.useVariant(t.due())
		t.p.client.Entering(t)
		code := p.codeFor(app, t.variant, how)
		if code == 0 {
			return t.goNativeAt(app)
		}
		t.readyToggle()
		t.reply(code)
		return nil
	}
	regs, err := t.fetchWaiting(app)
	if err != nil {
		return err
	}
	return t.enterPast(regs, 0, how)
}

// switchOthers takes the threads over that do not run as the mode says. One that
// will stop at the end of a system call is taken over there (callStop).
// Threads that wait in a dispatch are taken over by it.
func (p *Process) switchOthers() {
	p.modeChanged = false
	if p.mode == ModeNative {
		p.failed(p.points.PlaceAll(p.slots()))
	}
	for _, t := range p.running() {
		if t.modeDiffers() && !t.tracee.Stopped && !t.vforking && !(t.callStops && (t.calls.Awaits() || t.calls.Inside())) {
			t.failed(t.switchThread())
		}
	}
}

// Apply takes the process's threads over at once to what was asked for since. A handler of another process calls it in a
// call-back whose thread must not go on before; in the process's own it happens behind the call-back.
func (p *Process) Apply() {
	if p.modeChanged {
		p.switchOthers()
	}
}

// switchThread stops a thread wherever it is and lets it go on as the mode says.
func (t *Thread) switchThread() error {
	if _, err := t.tracee.Halt(); err != nil {
		return err
	}
	return t.switchStopped()
}

// switchStopped is switchThread for a thread that is stopped outside of any
// dispatch.
func (t *Thread) switchStopped() error {
	regs := new(sys.Regs)
	if err := t.tracee.GetRegs(regs); err != nil {
		return err
	}
	if t.canBring(regs) && !t.recoverState(regs, false) {
		t.bringToSafePoint()
		return t.run(0)
	}
	if t.native { // which may have changed it
		t.noteGS(regs)
	}
	var none tracee.Signal
	if err := t.toSafePoint(regs, &none); err != nil {
		return err
	}
	return t.enter(regs, 0)
}

// overProbe lets a thread that stands at a probe execute the instruction under
// it.
//
// Other threads could slip through while the instruction is back in place; they would miss
// one notification, which stopping all of them at every probe would be too much to pay for.
// A repeated string instruction stops at each iteration, which is no entry of its own.
func (t *Thread) overProbe(addr uint64) error {
	p := t.p
	if len(p.threads) > 1 && p.points.Captured(addr) { // no call may be missed
		defer p.freeze()()
	}
	orig, _ := p.points.Original(addr)
	if _, err := p.mem.WriteAt([]byte{orig}, int64(addr)); err != nil {
		return fmt.Errorf("code at %#x: %w", addr, err)
	}
	again := emulate.RepeatsAt(p.mem, addr)
	err := t.stepAt(addr)
	for again && err == nil && !t.tracee.Holds() {
		var regs sys.Regs
		if err = t.tracee.GetRegs(&regs); err != nil || regs.Rip != addr {
			break
		}
		err = t.stepAt(addr)
	}
	if _, werr := p.mem.WriteAt([]byte{0xcc}, int64(addr)); werr != nil && err == nil {
		err = fmt.Errorf("code at %#x: %w", addr, werr)
	}
	return err
}

// KeepFlags makes the flags right in front of every instruction, since they are
// going to be recorded: otherwise code of ours changes them where they are
// overwritten before they are read. Called from Client.Started, before anything is
// translated.
func (p *Process) KeepFlags() { p.translator.KeepFlags = true }

// StayTranslated says that what is watched has just been reached and may well be
// reached again soon: a process that is to run natively stays in the cache until it
// has been quiet.
func (p *Process) StayTranslated() {
	if !p.tr.opts.NoBusy {
		p.residency.Stay(p.tr.now())
	}
}

// KeepTranslated has the process stay in the cache where it would run natively, for good.
func (p *Process) KeepTranslated() {
	p.residency.Keep()
	p.SetMode(p.asked)
}

// HasSequences tells whether the process has registered restartable sequences with the kernel, natively. They are not restarted in the cache.
func (p *Process) HasSequences() bool { return p.calls.HasSequences() }

// keepUnpatched has it begin in the cache, where that is asked for: what is watched is never put into its code then.
func (p *Process) keepUnpatched() {
	if p.tr.opts.Unpatched {
		p.residency.KeepArmed()
		p.SetMode(ModePlain)
	}
}

// stayInsideFunction keeps a process in the cache for as long as a thread may be in a function that
// natively could be taken for entered each time that it jumps to its start.
func (p *Process) stayInsideFunction() {
	p.residency.Stay(p.tr.now())
	p.SetMode(p.asked)
}

// Settle says that nothing will be reached any more.
func (p *Process) Settle() { p.residency.Settle() }

// probeHit notes that a thread ran into a native probe.
func (p *Process) probeHit() {
	if p.residency.Hit(p.tr.now()) {
		p.StayTranslated()
		p.SetMode(p.asked)
	}
}

// cool looks now and then whether a process that would run natively were it not for
// its watched places has been quiet.
func (p *Process) cool() {
	p.syncAll()
	if p.asked != ModeNative || !p.residency.Quiet(p.tr.now(), p.points.Counts) {
		return
	}
	p.toggle.Stop()
	for _, t := range p.running() { // it may have opened the window just before
		if p.toggle.Inside(t.slot) {
			return
		}
	}
	p.residency.Leave()
	p.SetMode(p.asked)
}

// Toggle is the window that code opens and closes by itself.
type Toggle = toggle.Window

// SetToggle says which window code toggles from now on; nil: none. The process
// runs in ModePlain (also if only ModeNative was asked for) or in ModeRecord.
func (p *Process) SetToggle(tg *Toggle) { p.toggle.Set(tg) }

// readyToggle lets code toggle, if t is the process's only thread. It waits or is
// stopped.
func (t *Thread) readyToggle() {
	p := t.p
	if !p.toggle.May() || len(p.threads) != 1 || t.vfork || p.mode != ModePlain && p.mode != ModeRecord {
		return
	}
	p.toggle.Ready(&t.toggle, t.slot, p.shm.Control(), codecache.Record+codecache.Variant(t.plan), p.mode == ModeRecord, toggleCode{t})
}

// toggleCode is a thread's translations.
type toggleCode struct{ t *Thread }

// Prepare makes its table of a variant what it has to be.
func (c toggleCode) Prepare(v codecache.Variant) { c.t.prepareTable(v) }

// Behind is where the translation of a function goes on behind the counting.
func (c toggleCode) Behind(entry uint64, v codecache.Variant) uint64 {
	return c.t.p.codeFor(entry, v, codecache.Counted)
}

// syncAll is sync for every thread, also those that run: what it learns may be
// outdated at once, but not by more than a few transitions.
func (p *Process) syncAll() {
	for _, t := range p.running() {
		t.sync()
	}
}

// sync learns what a thread that is stopped or waits has toggled since the tracer
// heard of it last, and tells the client.
func (t *Thread) sync() {
	p := t.p
	if t.slot == nil || t.vfork {
		return
	}
	times, inside := p.toggle.Sync(&t.toggle, t.slot)
	if times == 0 {
		return
	}
	m := ModePlain
	if inside {
		m = ModeRecord
	}
	was := p.mode
	p.mode = m
	t.variant = t.due()
	p.variant = m.variant()
	if was == ModeNative { // it was to run natively, and has toggled just before
		p.mode = was
	}
	p.stats.Toggles += int(times)
	p.residency.Used(p.tr.now())
	p.client.Toggled(t, inside, times)
}
