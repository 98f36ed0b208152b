package main

import (
	"alleria/analysis/intercepts"
	"alleria/analysis/intercepts/present"
)

// callLimit lets so many calls through. Where entries are printed as well, a call counts once, and what was entered is followed to its end.
type callLimit struct {
	left   uint64
	nested bool
	open   map[openCall]bool // calls whose entries were let through
}

// limited prints what its limit lets through.
type limited struct {
	present.Printer
	limit callLimit
}

func (l *limited) Call(i *intercepts.Item) error {
	if ok, err := l.limit.admit(i); !ok {
		return err
	}
	return l.Printer.Call(i)
}

// limited is a printer with the limit that the flags ask for.
func (f *interceptsFlags) limited(p present.Printer) present.Printer {
	if f.limit == 0 {
		return p
	}
	return &limited{p, callLimit{left: f.limit, nested: f.nested && !f.stats && !f.leaks}}
}

// openCall names a call of a run.
type openCall struct {
	process, generation, thread uint32
	number                      uint64
}

// admit tells whether an item is to be printed; errLimit: neither it nor any that follows.
func (l *callLimit) admit(i *intercepts.Item) (bool, error) {
	key := openCall{i.Process.Number(), i.Process.Generation(), i.Call.Thread, i.Call.Number}
	if i.Entered && !l.nested { // for who only needs to know of it
		return true, nil
	}
	if l.open[key] && !i.Entered {
		delete(l.open, key)
		return true, nil
	}
	if l.left == 0 {
		if len(l.open) == 0 {
			return false, errLimit
		}
		return false, nil
	}
	l.left--
	if i.Entered {
		if l.open == nil {
			l.open = make(map[openCall]bool)
		}
		l.open[key] = true
	}
	return true, nil
}
