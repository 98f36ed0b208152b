package session

import (
	"alleria/config"
	"alleria/window"
)

// An event with process="N" is fed by process N and reaches the windows of all processes. So the
// events of a process are some of its own windows' and some of others': the leaves of each set of
// windows are watched in the process that they name, and what they fire belongs to the set.

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
	return all
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
		}
		ps.warn(o.image.events.arm())
		o.watch()
	}
	ps.tellOthers()
}
