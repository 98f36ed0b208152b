package tuner

import "fmt"

// Phase is a state of the machine, by the paper's letters.
type Phase byte

// Phases.
const (
	RampUp   Phase = 'X'
	Stable   Phase = 'Y'
	RampDown Phase = 'Z'
)

// Action is what is to be done with processing threads.
type Action string

// Actions.
const (
	None    Action = ""
	Add     Action = "add"     // resume one, or create one
	Suspend Action = "suspend" // one
)

// Thresholds are by which part a time has to change to mean something.
type Thresholds struct {
	// TP: the idle time of processing threads, in phase X.
	TP float64
	// TAY1 and TAY2: the wait time of application threads, upwards and downwards, in phase Y.
	TAY1, TAY2 float64
	// TAZ: upwards, in phase Z.
	TAZ float64
}

// Defaults are within the ranges that the paper has found good: 50 to 100 % for TP, 1 to 10 % for the others.
func Defaults() Thresholds { return Thresholds{TP: 0.5, TAY1: 0.1, TAY2: 0.1, TAZ: 0.05} }

// What a run begins with (first event of the paper), and what each application thread brings (second event).
const (
	FirstThreads     = 2
	FirstBuffers     = 4
	BuffersPerThread = 1
)

// Decision is what was decided, and why.
type Decision struct {
	Phase, Next Phase // before and after
	Action      Action
	Buffers     int // that are to be added
	Limit       int // how many processing threads there may be
	Why         string
}

// Tuner is the machine. The zero value is not ready: see New.
type Tuner struct {
	limits Thresholds
	phase  Phase
	// idle and waited are the shares that the next ones are compared with; first: there are none yet.
	idle, waited float64
	first        bool
	// what the last decision has done
	added, suspended bool
	// trial: threads are suspended though none is idle, to see whether fewer do better.
	trial bool
	// calm is how many periods phase Y has lasted, again after how many a thread more is tried.
	calm, again int
	others, app smooth
	// idles and waits are of the last periods with this number of threads, pauses of the last ones in any case.
	idles, waits, pauses window
}

// New returns a machine in its first phase, X.
func New(t Thresholds) *Tuner { return &Tuner{limits: t, phase: RampUp, first: true, again: attempt} }

// Phase is the phase that the next facts will be judged in.
func (t *Tuner) Phase() Phase { return t.phase }

// Start is how many threads work from the beginning: two, unless there may not be as many.
func Start(most int, processors float64) int {
	return max(min(FirstThreads, most, int(processors)), 1)
}

// Tick decides.
func (t *Tuner) Tick(f Facts) Decision {
	f.Others, f.Application = t.others.next(f.Others), t.app.next(f.Application)
	m := moment{working: f.Working, idle: share(f.PTIT, f.Period), waited: f.waiting()}
	t.idles.add(m.idle)
	t.waits.add(m.waited)
	t.pauses.add(m.waited)
	m.idles, m.peak = t.idles.least(), t.waits.most()
	// Who has waited lately will do so again: room for a thread does not come and go with each period.
	d := Decision{Phase: t.phase, Next: t.phase, Limit: f.limit(t.pauses.most())}
	switch t.phase {
	case RampUp:
		t.rampUp(&d, m)
	case Stable:
		t.stable(&d, m)
	default:
		t.rampDown(&d, m)
	}
	t.added, t.suspended = d.Action == Add, d.Action == Suspend
	if d.Action != None {
		t.idles.clear() // of another number of threads
		t.waits.clear()
		t.first = t.first || d.Next == Stable
	}
	t.phase = d.Next
	return d
}

// someIdle is how much of a thread's time has to be idle for it to be more than chance.
const someIdle = 0.25

// attempt is after how many periods of phase Y a thread more is tried first.
const attempt = 5

// someWait is how many application threads have to wait for a thread more to be worth an attempt.
const someWait = 0.1

// moment is what a decision is made from.
type moment struct {
	working      int
	idle, waited float64
	// idles is the least idle time of the last periods with this number of threads, peak the longest wait time.
	idles, peak float64
}

// compare has later moments compared with this one.
func (t *Tuner) compare(m moment) { t.idle, t.waited, t.first = m.idle, m.waited, false }

// rampUp is phase X.
func (t *Tuner) rampUp(d *Decision, m moment) {
	if m.waited <= nothing && t.pauses.most() > nothing && m.working <= d.Limit {
		return // a pause, which says nothing of the number of threads
	}
	idle, waited, first := t.idle, t.waited, t.first
	t.compare(m)
	switch {
	case m.working > d.Limit:
		d.Next, d.Why = RampDown, tooMany(m.working, d.Limit)
	case m.waited <= nothing:
		d.Next, d.Why = RampDown, "no application thread waits"
	case !first && m.idle-idle > someIdle && rose(m.idle, idle, t.limits.TP):
		d.Next, d.Why = RampDown, fmt.Sprintf("idle time changed by %s, TP is %s", change(m.idle, idle), percent(t.limits.TP))
	case t.added && rose(m.waited, waited, t.limits.TAZ): // "performance continues to deteriorate"
		d.Next, d.Why = RampDown, fmt.Sprintf("one more, and wait time changed by %s", change(m.waited, waited))
		t.trial = true
	case m.working >= d.Limit:
		d.Next, d.Why = Stable, fmt.Sprintf("there is room for no more than %d", d.Limit)
		t.settle(m)
	default:
		d.Action, d.Buffers, d.Why = Add, 1, fmt.Sprintf("application threads wait, idle time changed by %s, TP is %s", change(m.idle, idle), percent(t.limits.TP))
	}
}

// settle begins phase Y. A load that comes in bursts is compared with its bursts.
func (t *Tuner) settle(m moment) {
	t.compare(m)
	t.waited, t.trial, t.calm = m.peak, false, 0
}

// stable is phase Y.
func (t *Tuner) stable(d *Decision, m moment) {
	if t.first {
		t.compare(m)
	}
	switch {
	case m.working > d.Limit:
		d.Next, d.Action, d.Why = RampDown, Suspend, tooMany(m.working, d.Limit)
		t.compare(m)
		return
	case rose(m.waited, t.waited, t.limits.TAY1):
		d.Why = fmt.Sprintf("wait time changed by %s, TAY1 is %s", change(m.waited, t.waited), percent(t.limits.TAY1))
	case t.waits.full() && fell(m.peak, t.waited, t.limits.TAY2):
		d.Why = fmt.Sprintf("wait time changed by %s, TAY2 is %s", change(m.peak, t.waited), percent(t.limits.TAY2))
	case t.tryAgain(m, d.Limit):
		d.Why = fmt.Sprintf("for %d periods application threads waited and no processing thread was idle", t.calm)
	default:
		return
	}
	if t.calm < t.again {
		t.again = attempt // another load
	} else {
		t.again *= 2
	}
	t.compare(m)
	d.Next = RampUp
	if m.working < d.Limit && m.waited > nothing {
		d.Action, d.Buffers = Add, 1
	}
}

// tryAgain tells whether it is time to try a thread more though nothing has changed: a load that was new when phase X ended may
// have been taken for one that more threads make worse. Each attempt waits twice as long as the one before.
func (t *Tuner) tryAgain(m moment, limit int) bool {
	t.calm++
	return t.calm >= t.again && m.working < limit && m.waited > someWait && m.idle <= someIdle
}

// rampDown is phase Z.
func (t *Tuner) rampDown(d *Decision, m moment) {
	waited := t.waited
	if t.suspended || m.waited > waited {
		t.waited = m.waited
	}
	switch {
	case m.working > d.Limit:
		d.Action, d.Why = Suspend, tooMany(m.working, d.Limit)
		return
	case rose(m.waited, waited, t.limits.TAZ):
		d.Next, d.Why = Stable, fmt.Sprintf("wait time changed by %s, TAZ is %s", change(m.waited, waited), percent(t.limits.TAZ))
		if t.suspended && m.working < d.Limit {
			d.Action = Add
		}
	case m.working <= 1:
		d.Next, d.Why = Stable, "one thread stays"
	case t.trial && !t.suspended:
		d.Action, d.Why = Suspend, "to see whether fewer do better"
		return
	case t.trial || !t.idles.full():
		if t.trial && fell(m.waited, waited, t.limits.TAZ) {
			d.Action, d.Why = Suspend, fmt.Sprintf("fewer do better: wait time changed by %s", change(m.waited, waited))
			return
		}
		if !t.trial {
			return // how idle threads are takes a while to be known
		}
		d.Next, d.Why = Stable, fmt.Sprintf("wait time changed by %s, TAZ is %s", change(m.waited, waited), percent(t.limits.TAZ))
	case m.idles >= 1:
		d.Action, d.Why = Suspend, fmt.Sprintf("%.1f threads were idle, wait time changed by %s, TAZ is %s", m.idles, change(m.waited, waited), percent(t.limits.TAZ))
		return
	default:
		d.Next, d.Why = Stable, "no thread is idle all of the time"
	}
	if d.Next == Stable {
		t.settle(m)
	}
}

// tooMany says that there is less room than there are threads.
func tooMany(working, limit int) string {
	return fmt.Sprintf("%d threads, where there is room for %d", working, limit)
}

// change says by which part a share is another one.
func change(is, was float64) string {
	switch {
	case was <= nothing && is <= nothing:
		return "nothing"
	case was <= nothing:
		return fmt.Sprintf("%s from nothing", percent(is))
	}
	return fmt.Sprintf("%+.0f%%", 100*(is-was)/was)
}

// percent is a part in words.
func percent(part float64) string { return fmt.Sprintf("%.3g%%", 100*part) }
