package detach

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"alleria/engine/tracee"
)

// process is one in a test, which writes down what is done with it.
type process struct {
	t       *testing.T
	busy    bool
	threads []*thread
	log     []string
}

// thread is one of its threads, by number; the first has 1.
type thread struct {
	p           *process
	n           int
	notSimple   bool
	notStill    bool
	haltFails   error
	detachFails error
}

func (p *process) did(what string) { p.log = append(p.log, what) }

func (p *process) Quiet() bool { return !p.busy }
func (p *process) Threads() (all []Thread) {
	for _, t := range p.threads {
		all = append(all, t)
	}
	return all
}
func (p *process) TakeBack()                  { p.did("code") }
func (p *process) Drop()                      { p.did("drop"); p.threads = nil }
func (p *process) Failed(t Thread, err error) { p.did(fmt.Sprint("failed ", t.(*thread).n, " ", err)) }
func (p *process) Fail(err error)             { p.did("fail " + err.Error()) }

func (t *thread) did(what string) { t.p.did(fmt.Sprint(what, " ", t.n)) }
func (t *thread) Simple() bool    { return !t.notSimple }
func (t *thread) First() bool     { return t.n == 1 }
func (t *thread) GoOn()           { t.did("go on") }
func (t *thread) TakeBack()       { t.did("registers") }
func (t *thread) Ended()          { t.did("ended") }
func (t *thread) Halt() (bool, error) {
	if t.did("halt"); t.haltFails != nil {
		return false, t.haltFails
	}
	return !t.notStill, nil
}
func (t *thread) Follow() error { t.did("follow"); return t.detachFails }
func (t *thread) Detach() error { t.did("detach"); return t.detachFails }

// TestTry lets a process of two threads go, whose first stands last, and looks at what keeps it.
func TestTry(t *testing.T) {
	broken := errors.New("broken")
	home := []string{"halt 2", "halt 1", "code", "registers 2", "registers 1", "ended 2", "ended 1", "drop"}
	for _, c := range []struct {
		name   string
		follow bool
		given  func(p *process)
		want   []string
		gone   bool
	}{
		{name: "detached", want: append(slices.Clone(home), "detach 2", "detach 1"), gone: true},
		{name: "followed", follow: true, want: append(slices.Clone(home), "follow 2", "follow 1"), gone: true},
		{name: "something is awaited", given: func(p *process) { p.busy = true }},
		{name: "a thread in the cache", given: func(p *process) { p.threads[1].notSimple = true }},
		{name: "a signal comes first", given: func(p *process) { p.threads[1].notStill = true },
			want: []string{"halt 2", "halt 1", "go on 2", "go on 1"}},
		{name: "one has ended", given: func(p *process) { p.threads[1].haltFails = tracee.ErrEnded },
			want: []string{"halt 2", "halt 1", "failed 1 " + tracee.ErrEnded.Error(), "go on 2"}},
		{name: "one ends while it is detached", given: func(p *process) { p.threads[0].detachFails = tracee.ErrEnded },
			want: append(slices.Clone(home), "detach 2", "detach 1"), gone: true},
		{name: "one cannot be detached", given: func(p *process) { p.threads[0].detachFails = broken },
			want: append(slices.Clone(home), "detach 2", "fail broken", "detach 1"), gone: true},
	} {
		p := &process{t: t}
		p.threads = []*thread{{p: p, n: 2}, {p: p, n: 1}}
		if c.given != nil {
			c.given(p)
		}
		var r Process
		r.Want(c.follow)
		if r.Try(p); !slices.Equal(p.log, c.want) || r.Gone() != c.gone {
			t.Errorf("%s: %q, want %q; gone %t", c.name, p.log, c.want, r.Gone())
		}
	}
}

// TestOff: a process that is to be traced to its end is not detached.
func TestOff(t *testing.T) {
	r := Process{Off: true}
	if r.Want(true); r.Wanted() {
		t.Error("it is to be detached")
	}
}
