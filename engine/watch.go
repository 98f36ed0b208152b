package engine

import (
	"time"

	"alleria/internal/layout"
)

// watches is what of a process's signals and ends the handler hears.
type watches struct {
	hearSignals bool // the handler is told of signals
	hearEnds    bool // threads stop where they begin to end
}

// SetAlarm asks for Handler.Alarm at a time; the zero time for none.
func (p *Process) SetAlarm(at time.Time) { p.alarm = at }

// ringAlarms calls the processes' handlers whose time has come.
// It is looked at in each turn, and the tracer never sleeps beyond the next one.
func (tr *Tracer) ringAlarms() {
	for _, p := range tr.procs {
		if p.alarm.IsZero() || time.Now().Before(p.alarm) {
			continue
		}
		p.alarm = time.Time{}
		tr.syncAll(p)
		p.client.Alarm(p)
	}
}

// nap is how long the tracer may sleep at most: until the next alarm, and for a moment only
// where a process has threads that do not ring, or there is something to do soon.
func (tr *Tracer) nap() time.Duration {
	nap := 100 * time.Millisecond
	for _, p := range tr.procs {
		if !p.alarm.IsZero() {
			nap = max(min(nap, time.Until(p.alarm)), time.Microsecond)
		}
		if p.shm.Ctl.U32(layout.NoCalls).Load() != 0 {
			nap = min(nap, soon)
		}
	}
	if tr.stops.AnyPostponed() {
		nap = min(nap, soon)
	}
	return nap
}

const soon = 100 * time.Microsecond
