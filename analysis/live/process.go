package live

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"alleria/abp"
	"alleria/analysis/stream"
)

// Process is one program image of a process with what is analysed of it.
type Process struct {
	proc    *abp.Process
	members []*member // immutable

	mu      sync.Mutex
	threads map[*Thread]bool // that have not ended; guarded by mu
}

// member is an analysis with what became of it.
type member struct {
	spec   Spec
	a      Analysis              // its methods are called with Process.mu held
	failed atomic.Pointer[error] // it is over
	took   atomic.Int64          // nanoseconds
}

// NewProcess begins with some analyses of a process, whose tables may grow.
func NewProcess(proc *abp.Process, specs []Spec) *Process {
	p := &Process{proc: proc, threads: make(map[*Thread]bool)}
	for _, s := range specs {
		if slices.ContainsFunc(p.members, func(m *member) bool { return m.spec.Kind == s.Kind }) {
			continue // another view of the same
		}
		m := &member{spec: s}
		m.guard(func() { m.a = s.make(proc) })
		p.members = append(p.members, m)
	}
	return p
}

// Thread begins with an application thread, whose ring all analyses read at one place.
func (p *Process) Thread(number uint32) *Thread { return p.Threads(number, 1)[0] }

// Members is how many analyses there are.
func (p *Process) Members() int { return len(p.members) }

// Threads begins with an application thread whose ring has some readers, for which it returns a Thread each: analyses take turns at them.
func (p *Process) Threads(number uint32, readers int) []*Thread {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*Thread, readers)
	for i := range all {
		t := &Thread{p: p, number: number}
		t.state.Process, t.state.Thread = p.proc, number
		all[i] = t
		p.threads[t] = true
	}
	for i, m := range p.members {
		t := all[i%readers]
		t.members = append(t.members, m)
		t.sinks = append(t.sinks, nil)
		m.guard(func() { t.sinks[len(t.sinks)-1] = m.a.Thread() })
	}
	return all
}

// feed hands what a thread has taken apart to its sinks.
func (p *Process) feed(t *Thread) {
	if len(t.parts) == 0 {
		return
	}
	for i, m := range t.members {
		m.guard(func() { feed(t.sinks[i], t.parts) })
	}
}

// End adds up what was found of a thread, whose records have all been consumed. scale is what they stand for: 1 for all
// that it did.
func (p *Process) End(t *Thread, scale float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.done {
		return
	}
	t.done = true
	delete(p.threads, t)
	for i, m := range t.members {
		m.guard(func() { m.a.Add(t.sinks[i], scale) })
	}
	t.sinks = nil
}

// Fail ends all analyses: records are missing, and why.
func (p *Process) Fail(why error) {
	for _, m := range p.members {
		m.failed.CompareAndSwap(nil, &why)
	}
}

// guard runs some of an analysis. If it panics the analysis is over, with nothing else touched.
func (m *member) guard(f func()) {
	if m.failed.Load() != nil {
		return
	}
	began := time.Now()
	defer func() {
		m.took.Add(int64(time.Since(began)))
		if v := recover(); v != nil {
			err := failure(v)
			m.failed.CompareAndSwap(nil, &err)
		}
	}()
	f()
}

// Failure is what an analysis panics with that knows itself why it cannot go on, and where that was.
type Failure struct{ Err error }

// failure is the error that a panic stands for.
func failure(v any) error {
	if f, ok := v.(Failure); ok {
		return f.Err
	}
	return fmt.Errorf("%v, at %s", v, PanicPlace(1))
}

// PanicPlace is stream.PanicPlace.
func PanicPlace(further int) string { return stream.PanicPlace(further + 1) }

// Outcome is what became of one analysis.
type Outcome struct {
	Spec   Spec
	Result Result // nil: it failed
	Err    error
	Took   time.Duration // of processing threads
}

// Finish returns what was found, once all threads have ended.
func (p *Process) Finish() []Outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Outcome
	for _, m := range p.members {
		o := Outcome{Spec: m.spec}
		m.guard(func() { o.Result = m.a.Result() })
		if err := m.failed.Load(); err != nil {
			o.Result, o.Err = nil, *err
		}
		o.Took = time.Duration(m.took.Load())
		out = append(out, o)
	}
	return out
}
