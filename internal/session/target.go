package session

import (
	"time"

	"alleria/engine"
	"alleria/engine/x86"
	"alleria/internal/capture"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// target is what a run asks of a process: *engine.Process has it, and in tests a process that nobody executes. What each method
// does is said there.
type target interface {
	PID() int
	Threads() []thread
	Apply()
	LetRun(engine.Fate)
	ReadAt(b []byte, addr int64) (int, error)
	Ours(addr uint64) bool

	// What it executes, and what of that is recorded.
	Mode() engine.Mode
	SetMode(engine.Mode)
	TakeOver()
	SetToggle(*toggle)
	KeepTranslated()
	HasSequences() bool
	OtherCode() (stepped int, unseen bool)
	StayTranslated()
	KeepFlags()
	Replan()
	Blocks() *records.Blocks
	BellMemory() []byte

	// What is counted.
	CountExecuted(...engine.Metric)
	CountEntries(edges bool, function func(addr uint64) engine.Extent)
	Rebudget()

	// What is watched by address.
	Entries(addr uint64) (counter, error)
	Within(addr uint64) (counter, error)
	Returns(entry uint64) (counter, error)
	InGo(entry uint64)
	AwaitReturns()
	SetExtent(addr uint64, code ...engine.Extent)
	HasExtent(addr uint64) bool
	Unwatch(addr uint64)
	Notify(addr uint64) error
	Unnotify(addr uint64)
	Settle()
	FollowByTracer()
	Intercept(entry uint64, fn uint32, prog *capture.Program) error
	PlaceAhead(entries []uint64)
	Gone(start, end uint64)
	FindErrno(find func() int64)
	Unintercept(entry uint64)

	// What is reported of it.
	WatchCall(nr uint32, on bool)
	WatchSignals(on bool)
	WatchReturns(on bool)
	WatchEnds(on bool)
	WatchMappings()
	SetAlarm(at time.Time)
}

// thread is what a run asks of a thread: *engine.Thread has it.
type thread interface {
	Num() int
	TID() int
	Ended() bool
	Mark(words ...uint64)
	SetPlan(plan int)
	Rest(rest bool)
	Budget(engine.Metric) int64
	SetBudget(engine.Metric, int64)
	Counts(func(addr uint64, instructions int, times uint64))
	Entries(func(addr uint64, times uint64))
	Edges(func(from, to uint64, jump bool, times uint64))
	Publish() (chunk uint64, empty bool)
	SlotMemory() []byte
	Registers(app uint64) engine.Registers
}

// counter is what a run asks of a counter of entries or returns: *engine.Counter has it.
type counter interface {
	Addr() uint64
	Arm(n uint64)
	Disarm()
	Take() uint64
	Gone() uint64
}

// toggle is engine.Toggle, by what a run knows of counters.
type toggle struct {
	open, close           counter
	openAfter, closeAfter uint64
	openMark              uint64
}

// traced is the engine's process as a target. It is made anew for each call-back: only what it refers to counts.
type traced struct{ *engine.Process }

// Threads is target's.
func (p traced) Threads() []thread {
	all := p.Process.Threads()
	out := make([]thread, len(all))
	for i, t := range all {
		out[i] = t
	}
	return out
}

// counterOf keeps a nil counter a nil one.
func counterOf(c *engine.Counter, err error) (counter, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Entries is target's.
func (p traced) Entries(addr uint64) (counter, error) { return counterOf(p.Process.Entries(addr)) }

// Within is target's.
func (p traced) Within(addr uint64) (counter, error) { return counterOf(p.Process.Within(addr)) }

// Returns is target's.
func (p traced) Returns(entry uint64) (counter, error) { return counterOf(p.Process.Returns(entry)) }

// SetToggle is target's. Its counters are those that the process has made.
func (p traced) SetToggle(t *toggle) {
	if t == nil {
		p.Process.SetToggle(nil)
		return
	}
	p.Process.SetToggle(&engine.Toggle{Open: t.open.(*engine.Counter), Close: t.close.(*engine.Counter),
		OpenAfter: t.openAfter, CloseAfter: t.closeAfter, OpenMark: t.openMark})
}

// client is the run as the engine knows it. It hands everything on, processes and threads as the interfaces that the
// rest of the package knows.
type client struct{ *run }

// Traced is engine.Client's.
func (c client) Traced(p *engine.Process) engine.Handler { return handler{c.run.traced(p.PID())} }

// handler is a process as the engine knows it, in the same way.
type handler struct{ ps *process }

func (h handler) Started(p *engine.Process) error { return h.ps.Started(traced{p}) }
func (h handler) Notified(t *engine.Thread, addr uint64, regs engine.NotifiedRegs) {
	h.ps.Notified(t, addr, regs)
}
func (h handler) Reached(t *engine.Thread, c *engine.Counter, addr, sp uint64) {
	h.ps.Reached(t, c, addr, sp)
}
func (h handler) Toggled(t *engine.Thread, open bool, times uint64) { h.ps.Toggled(t, open, times) }
func (h handler) Entering(t *engine.Thread)                         { h.ps.Entering(t) }
func (h handler) BudgetLow(t *engine.Thread, addr uint64)           { h.ps.BudgetLow(t, addr) }
func (h handler) ImagesChanged(*engine.Process)                     { h.ps.ImagesChanged() }
func (h handler) Unmapped(_ *engine.Process, start, end uint64)     { h.ps.Unmapped(start, end) }
func (h handler) Mapped(_ *engine.Process, m engine.Mapped)         { h.ps.Mapped(m) }
func (h handler) ThreadStarted(t *engine.Thread) error              { return h.ps.ThreadStarted(t) }
func (h handler) ThreadEnded(t *engine.Thread)                      { h.ps.ThreadEnded(t) }
func (h handler) Ending(t *engine.Thread)                           { h.ps.Ending(t) }
func (h handler) CallEntered(t *engine.Thread, c *engine.Call)      { h.ps.CallEntered(t, c) }
func (h handler) CallReturned(t *engine.Thread, c *engine.Call)     { h.ps.CallReturned(t, c) }
func (h handler) Signalled(t *engine.Thread, info *sys.Siginfo, sig sys.Signal, ip uint64) {
	h.ps.Signalled(t, info, sig, ip)
}
func (h handler) Forked(t *engine.Thread, _ int)           { h.ps.Forked(t) }
func (h handler) Orphan(pid int) engine.Fate               { return h.ps.run.born(h.ps, pid) }
func (h handler) Executing(t *engine.Thread)               { h.ps.Executing(t) }
func (h handler) Alarm(*engine.Process)                    { h.ps.Alarm() }
func (h handler) Ended(_ *engine.Process, end *engine.End) { h.ps.Ended(end) }
func (h handler) Plan(_ *engine.Process, plan int, ins []x86.Insn, want []engine.Want) uint32 {
	return h.ps.Plan(plan, ins, want)
}
func (h handler) RecordsLike(*engine.Process) string { return h.ps.RecordsLike() }
func (h handler) Names(*engine.Process) engine.Names { return h.ps.Names() }
func (h handler) TakeNames(_ *engine.Process, names engine.Names, at uint64) bool {
	return h.ps.TakeNames(names, at)
}
