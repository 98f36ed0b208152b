package session

import (
	"time"

	"alleria/config"
	"alleria/engine"
	"alleria/internal/symbols"
	"alleria/window"
)

// finding is how a run finds out that events of a kind happen. What the language knows of the
// kind is in config; who adds a kind adds its finding here, and fires it where the engine tells of it
// (reported.go, for what the kernel reports).
type finding struct {
	// want asks for what the engine has to report, for one event; nil: it reports without being asked.
	want func(*process, *window.Leaf, *wants)
	// arm watches code for an event, in an image that it is about; nil: it happens at no certain instruction.
	arm func(*events, *window.Leaf, *symbols.Loaded) error
	// bounds is what the event counts: how much of which metric; nil: nothing.
	bounds func(*config.Event) []bound
}

// wants is what the engine is asked to report of a process.
type wants struct {
	calls   map[uint32]bool // system calls by number: false, if the event may only fire later
	signals bool
	returns bool      // of system calls
	ends    bool      // of threads, before they are gone
	alarm   time.Time // zero: none
}

// findingOf is a switch and no table: what arms events leads back to who asks for it, which Go
// refuses of variables.
func findingOf(kind config.EventKind) finding {
	switch kind {
	case config.EventCall, config.EventReturn:
		return finding{arm: (*events).armFunction}
	case config.EventAddress:
		return finding{arm: (*events).armAddress}
	case config.EventSyscall:
		return finding{want: wantCall}
	case config.EventSignal:
		return finding{want: func(_ *process, l *window.Leaf, w *wants) { w.signals = w.signals || l.Armed() }}
	case config.EventTermination:
		return finding{want: func(_ *process, l *window.Leaf, w *wants) { w.ends = w.ends || l.Armed() }}
	case config.EventThreads: // whose number has to be right when it is armed
		return finding{want: func(_ *process, l *window.Leaf, w *wants) { w.ends = w.ends || l.Live() }}
	case config.EventTime:
		return finding{want: wantAlarm}
	case config.EventInstructions:
		return finding{bounds: func(e *config.Event) []bound {
			return []bound{{engine.MetricInstructions, int64(e.Threshold)}}
		}}
	case config.EventSample: // a burst's length; where the next one begins is count's to say
		return finding{bounds: func(e *config.Event) []bound {
			return []bound{{engine.MetricInstructions, int64(e.Burst)}}
		}}
	case config.EventAccesses:
		return finding{bounds: boundsOfAccesses}
	}
	return finding{}
}

// wantCall asks for a system call. One whose event is not armed is known and off: a native thread
// stops at every call while any is watched.
func wantCall(_ *process, l *window.Leaf, w *wants) {
	if nr, ok := callNumber(l.Event); ok && l.Live() {
		w.calls[nr] = w.calls[nr] || l.Armed()
	}
}

// wantAlarm asks to be woken at the earliest time that any event waits for.
func wantAlarm(ps *process, l *window.Leaf, w *wants) {
	at := ps.facts.started.Add(l.Event.After)
	if l.Armed() && ps.threadLives(l.Event.Thread) && (w.alarm.IsZero() || at.Before(w.alarm)) {
		w.alarm = at
	}
}

// boundsOfAccesses are those that are given.
func boundsOfAccesses(e *config.Event) []bound {
	var out []bound
	for _, b := range []bound{{engine.MetricAccesses, int64(e.Total)}, {engine.MetricReads, int64(e.Reads)}, {engine.MetricWrites, int64(e.Writes)}} {
		if b.n > 0 {
			out = append(out, b)
		}
	}
	return out
}
