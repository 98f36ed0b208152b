package session

import (
	"time"

	"alleria/abp"
	"alleria/config"
	"alleria/emit"
	"alleria/engine"
	"alleria/internal/records"
	"alleria/internal/sys"
	"alleria/window"
)

// output is where a program image's records and tables go.
// Without a writer (--discard has one, --only translate and count have none) every
// method does nothing, which keeps that question out of the callers.
type output struct {
	w *emit.ProcessWriter
}

// windows enters the configuration's windows.
// All of them, also those that never open: an empty profile is explained by them.
func (o output) windows(defs []abp.WindowDef) {
	if o.w == nil {
		return
	}
	for _, d := range defs {
		o.w.AddWindow(d)
	}
}

// switches says why the windows that code may open and close do so. counts has their rows say what had been recorded: not beside others that
// say what was executed.
func (o output) switches(s *window.Set, counts bool) {
	if o.w == nil {
		return
	}
	for _, sw := range s.Switches() {
		opens := window.Change{Opened: true, Cause: sw.On.Event}
		closes := window.Change{Cause: sw.Till.Event}
		o.w.AddSwitch(emit.Switch{Window: uint32(sw.Index), Opening: opens.Reason(), Closing: closes.Reason(), Uncounted: !counts})
	}
}

// event enters the opening or closing of a window.
//
// counts are the process's so far where the configuration has them counted, else
// zero. What had been recorded by then would need every ring to be read up to here
// first; windows that open and close in translated code have it from their marks.
func (o output) event(c window.Change, t thread, addr, caller uint64, counts amounts) {
	if o.w == nil {
		return
	}
	e := abp.WindowEvent{Window: uint32(c.Index), Opened: c.Opened, Reason: c.Reason(), TSC: sys.TSC(), Addr: addr, Overshoot: c.Overshoot, Caller: caller}
	if t != nil {
		e.Thread = uint32(t.Num())
	}
	e.Instructions, e.Loads, e.Stores = counts.of(engine.MetricInstructions), counts.of(engine.MetricReads), counts.of(engine.MetricWrites)
	o.w.AddWindowEvent(e)
}

// flushInterval is how long a record may lie in memory before it is written.
// It is the bound that a user who kills the tracer loses at most.
const flushInterval = 100 * time.Millisecond

// threadMark is the mark that begins or ends a thread's records.
// It is the first and the last that a ring holds of a thread.
func threadMark(t thread, begins uint64) []uint64 {
	return []uint64{records.Mark(records.MarkThread, begins), uint64(t.Num()), uint64(t.TID()), sys.TSC()}
}

// windowDefs describes the configuration's windows to the profile.
func windowDefs(c *config.Config) []abp.WindowDef {
	var defs []abp.WindowDef
	for i, w := range c.Windows {
		defs = append(defs, abp.WindowDef{Index: uint32(i), Name: w.Label()})
	}
	return defs
}
