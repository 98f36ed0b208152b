package session

import (
	"slices"

	"alleria/config"
	"alleria/window"
)

// An event with process="N" is fed by process N and reaches the windows of all processes. So the
// events of a process are some of its own windows' and some of others': the leaves of each set of
// windows are watched in the process that they name, and what they fire belongs to the set.

//
// A process that begins later is no exception: its windows begin as those of a process are that has been there from the
// start and has done nothing by itself (idle). So it does not matter whether a window was opened a moment before
// or behind a process's first instruction. Refused: to begin with what the creator's windows are, which its own events have
// opened as well; to fire again what has happened before, which has no order and counts for nobody.

// crossings is what a run keeps for such events.
type crossings struct {
	crossing bool        // there are some
	firing   *process    // whose event others are being told of; nil: nobody's
	idle     *window.Set // nil: there are none, or no other process can have windows
}

// crosses tells whether a configuration has such events.
func crosses(c *config.Config) bool {
	return anyEvent(c, func(e *config.Event) bool { return e.Process != 0 })
}

// anyEvent tells whether the test holds for an event of the configuration.
func anyEvent(c *config.Config, test func(*config.Event) bool) bool {
	found := false
	look := func(e *config.Event) { found = found || test(e) }
	for _, w := range c.Windows {
		w.On.Walk(look)
		w.Till.Walk(look)
	}
	return found
}

// feeds tells whether an event is fed by the process, for its own windows or for those of others.
func (ps *process) feeds(e *config.Event) bool { return e.Process == 0 || e.Process == ps.number }

// leaves are the events that the process feeds, its own windows' first.
func (ps *process) leaves() []*window.Leaf {
	own := ps.windows.Leaves()
	if !ps.crossing {
		return own
	}
	var all []*window.Leaf
	for _, l := range own {
		if ps.feeds(l.Event) {
			all = append(all, l)
		}
	}
	for _, o := range ps.inOrder() {
		if o == ps || o.windows == nil {
			continue
		}
		for _, l := range o.windows.Leaves() {
			if l.Event.Process == ps.number {
				all = append(all, l)
			}
		}
	}
	if ps.idle != nil {
		for _, l := range ps.idle.Leaves() {
			if l.Event.Process == ps.number {
				all = append(all, l)
			}
		}
	}
	return all
}

// newWindows makes the process's windows, all closed.
func (ps *process) newWindows() {
	ps.windows = window.New(ps.opts.Config)
	if ps.idle == nil && ps.crossing && ps.recordsOthers() {
		ps.idle = window.New(ps.opts.Config)
		ps.idle.Start()
	}
}

// begin opens windows at the process's first instruction.
func (ps *process) begin() []window.Change {
	if ps.idle == nil {
		return ps.windows.Start()
	}
	for _, o := range ps.live() { // what was counted is credited first
		if o != ps && o.image.events != nil {
			o.image.events.count()
		}
	}
	return ps.windows.StartAs(ps.idle)
}

// done tells whether nothing that the process does can open or close a window any more, its own or others'.
func (ps *process) done() bool {
	return ps.windows.Done() && !(ps.crossing && slices.ContainsFunc(ps.leaves(), (*window.Leaf).Live))
}

// fire tells the windows of events that one occurrence in a thread of the process is. t may be nil.
//
// The process's own windows change exactly there, before addr; those of others before the thread goes on, wherever their
// own threads are then.
func (ps *process) fire(t thread, addr uint64, leaves ...*window.Leaf) {
	var own []*window.Leaf
	others := make(map[*window.Set][]*window.Leaf)
	for _, l := range leaves {
		if l.Set() == ps.windows {
			own = append(own, l)
		} else {
			others[l.Set()] = append(others[l.Set()], l)
		}
	}
	ps.changed(t, ps.windows.Happen(own...), addr)
	if len(others) == 0 {
		return
	}
	defer func(before *process) { ps.firing = before }(ps.firing)
	ps.firing = ps
	if of := others[ps.idle]; len(of) > 0 {
		for _, c := range ps.idle.Happen(of...) {
			if c.Opened {
				ps.countFrom(ps.idle, c.Index)
			}
		}
	}
	for _, o := range ps.inOrder() {
		if of := others[o.windows]; o.windows != nil && len(of) > 0 {
			o.changed(nil, o.windows.Happen(of...), 0)
			o.apply()
		}
	}
}

// tellOthers has the other processes look at what they count and watch for the process's windows, which have
// changed.
func (ps *process) tellOthers() {
	if !ps.crossing {
		return
	}
	for _, o := range ps.live() {
		if o == ps || o.image.events == nil {
			continue
		}
		o.setMode()
		if b := o.image.budget; b != nil {
			o.image.p.CountExecuted(b.toCount()...)
			o.image.p.Rebudget()
		}
		o.watch()
		o.image.events.count()
		o.apply()
	}
}

// apply has what was asked of the process happen before the thread goes on that has caused it, in another process. In the
// process whose thread that is it happens behind the call-back: the thread waits for the answer that it is about.
func (ps *process) apply() {
	if ps.image != nil && ps.firing != ps {
		ps.image.p.Apply()
	}
}

// countFrom has the counts of events from the opening of a window begin.
func (r *run) countFrom(set *window.Set, index int) {
	for _, o := range r.inOrder() {
		if o.budget != nil {
			o.budget.windowOpened(set, index)
		}
	}
}

// offer has the processes that feed events of a new process's windows watch for them.
func (ps *process) offer() {
	if !ps.crossing {
		return
	}
	for _, o := range ps.live() {
		if o == ps || o.image.events == nil {
			continue
		}
		if b := o.image.budget; b != nil {
			b.take(o.leaves())
			if ps.idle != nil {
				b.countAs(ps.idle, ps.windows)
			}
		}
		ps.warn(o.image.events.arm())
		o.watch()
	}
	ps.tellOthers()
}
