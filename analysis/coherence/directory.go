package coherence

// lineState is what a line is to all processors.
type lineState struct {
	holders uint64    // processors that have it, a bit each
	touched uint64    // those that have ever had it
	owner   int8      // the one that has written it since it alone has it, plus one; 0: none
	waiting bool      // some processor has lost it to another's store and not come back
	views   []*loss   // by processor, once there are several
	note    *lineNote // what is counted of it, once there are several
}

// loss is a processor's view of a line that others write.
type loss struct {
	lost    bool
	written uint64 // bytes that others have written and that it has not touched since
	taker   uint64 // the store that took the line away
	bytes   uint64 // what that store wrote
	// A coherence miss whose kind is not known yet: until a byte of written is touched, or the line goes.
	open   bool
	muted  bool   // it does not count
	victim uint64 // the instruction that missed
	used   uint64 // bytes that were touched since
}

// directory finds the state of lines, in pages of lines that lie together. A table in front of the map finds what was used last.
type directory struct {
	pages map[uint64]*statePage
	aside [asideLines]struct {
		number uint64
		page   *statePage
	}
}

const (
	pageLines  = 64
	asideLines = 1 << 10
)

type statePage [pageLines]lineState

// at returns the state of a line.
func (d *directory) at(line uint64) *lineState {
	n := line / pageLines
	e := &d.aside[n%asideLines]
	if e.page == nil || e.number != n {
		p := d.pages[n]
		if p == nil {
			p = new(statePage)
			d.pages[n] = p
		}
		e.number, e.page = n, p
	}
	return &e.page[line%pageLines]
}

// view returns what the line is to a processor, made if it is new.
func (s *lineState) view(cpu int) *loss {
	for len(s.views) <= cpu {
		s.views = append(s.views, nil)
	}
	if s.views[cpu] == nil {
		s.views[cpu] = new(loss)
	}
	return s.views[cpu]
}
