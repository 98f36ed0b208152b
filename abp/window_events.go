package abp

import (
	"cmp"
	"fmt"
	"slices"

	"alleria/abp/internal/wire"
)

// A window that opens at each call of a function makes as many rows as there are
// calls: tens of millions are no exception, and as many hundred bytes each would not
// fit in memory. They are the one table that is not kept: Open notes where the rows
// of each section begin in time, and whoever wants them gets them read again, one
// after the other. Sections are a megabyte, and their times hardly overlap, so that
// few have to be in memory at a time.
//
// Refused: to sort the rows when they are written, since those that the target's code
// made are known only when its ring is drained, after the tracer's.

// windowSection is a WINDOWS section with events.
type windowSection struct {
	section int    // in the main file's list
	first   uint64 // the earliest TSC of its events
}

// noteWindowEvent takes an event's row while the tables are read.
func (p *Process) noteWindowEvent(section int, e *WindowEvent) {
	n := len(p.windowSections)
	if n == 0 || p.windowSections[n-1].section != section {
		p.windowSections = append(p.windowSections, windowSection{section, e.TSC})
		return
	}
	s := &p.windowSections[n-1]
	s.first = min(s.first, e.TSC)
}

// EachWindowEvent calls f for every opening and closing, in the order of time. The
// event is valid until f returns; an error of f ends it and is returned.
//
// Those of one process in a run are all there is of a window: instances do not reach over
// processes.
func (p *Process) EachWindowEvent(f func(e *WindowEvent) error) error {
	var open []eventCursor
	for next := 0; ; {
		k := earliest(open)
		// What begins before the earliest of what is there has to be there as well.
		if next < len(p.windowSections) && (k < 0 || p.windowSections[next].first <= open[k].rows[0].TSC) {
			rows, err := p.windowEvents(p.windowSections[next].section)
			if err != nil {
				return err
			}
			open = append(open, eventCursor{rows})
			next++
			continue
		}
		if k < 0 {
			return nil
		}
		if err := f(&open[k].rows[0]); err != nil {
			return err
		}
		if open[k].rows = open[k].rows[1:]; len(open[k].rows) == 0 {
			open = slices.Delete(open, k, k+1)
		}
	}
}

// eventCursor is the rows of a section that are still to come; there is one at least.
type eventCursor struct{ rows []WindowEvent }

// earliest returns the cursor whose turn it is, -1 if there is none. Of events at the
// same time those that were written first come first.
func earliest(open []eventCursor) int {
	found := -1
	for i := range open {
		if found < 0 || open[i].rows[0].TSC < open[found].rows[0].TSC {
			found = i
		}
	}
	return found
}

// windowEvents reads the events of one section, in the order of time.
func (p *Process) windowEvents(section int) ([]WindowEvent, error) {
	payload, err := p.main.ReadSection(section, nil)
	if err != nil {
		return nil, err
	}
	var rows []WindowEvent
	reasons := make(map[string]string)
	err = eachRow(payload, func(kind uint16, d *wire.Decoder) {
		if kind != rowWindowEvent {
			return
		}
		var e WindowEvent
		e.decode(d)
		// One string for all rows that say the same.
		if r, ok := reasons[e.Reason]; ok {
			e.Reason = r
		} else {
			reasons[e.Reason] = e.Reason
		}
		rows = append(rows, e)
	})
	if err != nil {
		return nil, fmt.Errorf("%s section at offset %d: %w: %w", SectionWindows, p.main.sections[section].Offset, ErrCorrupt, err)
	}
	slices.SortStableFunc(rows, func(a, b WindowEvent) int { return cmp.Compare(a.TSC, b.TSC) })
	return rows, nil
}
