package window

import "alleria/config"

// Left is how often the event has still to happen to count as fired; 0 if it is not
// armed.
func (l *Leaf) Left() uint64 {
	switch {
	case !l.Armed():
		return 0
	case !l.counted() || l.Event.Occurrence() <= l.count:
		return 1
	}
	return l.Event.Occurrence() - l.count
}

// Credit says that the event has happened n more times, none of which made it
// fire.
func (l *Leaf) Credit(n uint64) {
	if left := l.Left(); left > 0 {
		l.count += min(n, left-1)
	}
}

// Switch is a window that opens and closes by one event each, over and over.
type Switch struct {
	Index    int // of the window in the configuration
	On, Till *Leaf
}

// Switches returns the windows of which Switch may be asked to return one.
func (s *Set) Switches() []Switch {
	var out []Switch
	for _, in := range s.windows {
		if in.simple() {
			out = append(out, Switch{in.index, in.on.leaf, in.till.leaf})
		}
	}
	return out
}

// simple tells whether a window opens and closes by one event each.
func (in *instance) simple() bool {
	return in.def.Reopenable && in.on != nil && in.till != nil && in.on.leaf != nil && in.till.leaf != nil
}

// Switch returns the window that may be opened and closed by whoever watches the events, without
// asking, for now; ok is false if there is none: the others must stay as they are, closed,
// whatever On and Till do. Of several windows that could open it is the one whose set was open
// last.
func (s *Set) Switch(last uint64) (sw Switch, ok bool) {
	var is, may *instance
	for _, in := range s.windows {
		switch {
		case in.state == over:
		case in.state == open:
			if is != nil || !in.simple() { // two: what opens one must not be taken for what opens both
				return Switch{}, false
			}
			is = in
		case !in.simple():
		case !in.on.leaf.Countable():
			return Switch{}, false // it may open at any moment
		case may == nil || last == 1<<in.index:
			may = in
		}
	}
	if is == nil {
		is = may
	}
	if is == nil {
		return Switch{}, false
	}
	return Switch{is.index, is.on.leaf, is.till.leaf}, true
}

// Switched notes that the window of a Switch has opened and closed so many times
// together; opened is how it is now.
func (s *Set) Switched(sw Switch, opened bool, times uint64) {
	in := s.windows[sw.Index]
	was := in.state == open
	in.state = closed
	in.openings += times / 2
	in.on.reset()
	in.till.reset()
	if opened {
		in.state = open
		if !was {
			in.openings++
		}
		in.on.fired = true
	}
}

// Countable tells whether the event is one that code can count by itself, in any
// thread.
func (l *Leaf) Countable() bool { return l.Event.Kind.Is(config.AtCode) && l.Event.Thread == 0 }
