package cache

import (
	"cmp"
	"slices"
)

// list takes what threads refer to from a stretch of their executions, without a cache. What is to the latest line of its set changes nothing, and that is known without what
// was before, but for the first reference to each set: so stretches are listed side by side, without nine of ten references mostly. That does not hold where a level behind takes
// lines out of the first one (Inclusive): then everything is listed.
type list struct {
	pos     uint64 // of the words or the execution at hand
	exec    uint64 // of the execution at hand, where accesses are taken one by one
	step    uint32 // likewise, of the reference
	block   uint32
	ins     uint16
	thread  uint16
	shift   uint          // of classes
	out     [][]reference // in order, by class: an access in lines of several is in each of these
	latestD []*latest     // by thread, if there are any
	latestI []*latest
	stale   []bool // by thread: of another stretch
}

// reference is an access or fetch. pos and step are its place in the order, within what is listed at a time.
type reference struct {
	pos, addr uint64
	step      uint32
	block     uint32
	size      uint16 // nothing accesses 64 KiB at a time
	ins       uint16
	thread    uint16
	kind      uint8 // refStore …
	missed    uint8 // levels, where they include or exclude each other
}

// What a reference is.
const (
	refStore = 1 << iota
	refCode
	refMuted // it does not count
)

// is tells whether it has a kind.
func (m *reference) is(kind uint8) bool { return m.kind&kind != 0 }

// kindOf is what a step of a block is as a reference.
func (s *Simulator) kindOf(op *operation) (kind uint8) {
	if op.store {
		kind |= refStore
	}
	if op.kind == opFetch {
		kind |= refCode
	}
	if s.muted {
		kind |= refMuted
	}
	return kind
}

// order compares places.
func (m *reference) order(o *reference) int {
	return cmp.Or(cmp.Compare(m.pos, o.pos), cmp.Compare(m.step, o.step))
}

// begin begins an execution some words behind the position.
func (l *list) begin(block uint32, at uint64) { l.block, l.exec, l.step = block, l.pos+at, 0 }

// add lists a reference for all classes that have a line of it.
func (l *list) add(m *reference) {
	m.thread = l.thread
	mask := uint64(len(l.out) - 1)
	first, last := m.addr>>l.shift, (m.addr+uint64(m.size)-1)>>l.shift
	for n := first; n <= min(last, first+mask); n++ {
		l.out[n&mask] = append(l.out[n&mask], *m)
	}
}

// refer lists an access of the execution.
func (s *Simulator) refer(m reference) {
	l, c := s.list, s.h.L1D
	if m.is(refCode) {
		c = s.h.L1I
	}
	m.pos, m.step, m.block, m.ins = l.exec, l.step, l.block, l.ins
	if s.muted {
		m.kind |= refMuted
	}
	l.step++
	l.add(&m)
	if c.latest == nil {
		return
	}
	for at, last := m.addr>>c.shift, (m.addr+uint64(m.size)-1)>>c.shift; ; at++ {
		c.latest.tags[at&c.mask%mostLatest] = at + 1
		if at == last {
			return
		}
	}
}

// forget begins with a stretch of which nothing is known.
func (s *Simulator) forget() {
	l := s.list
	for i := range l.out {
		l.out[i] = l.out[i][:0]
	}
	for i := range l.stale {
		l.stale[i] = true
	}
	s.toThread(l.thread)
}

// toThread has a thread's latest lines in the place of another's.
func (s *Simulator) toThread(thread uint16) {
	l := s.list
	for len(l.stale) <= int(thread) {
		l.stale = append(l.stale, true)
		l.latestD, l.latestI = append(l.latestD, another(s.latestD)), append(l.latestI, another(s.latestI))
	}
	if l.thread == thread && !l.stale[thread] {
		return
	}
	l.thread = thread
	s.moved++
	if s.latestD != nil {
		s.latestD = l.latestD[thread]
		s.h.L1D.latest = s.latestD
	}
	if s.latestI != nil {
		s.latestI = l.latestI[thread]
		s.h.L1I.latest = s.latestI
	}
	if l.stale[thread] {
		l.stale[thread] = false
		for _, t := range []*latest{s.latestD, s.latestI} {
			if t != nil {
				t.tags = [mostLatest]uint64{}
			}
		}
	}
}

// another is empty and for as many sets; nil where there are none.
func another(l *latest) *latest {
	if l == nil {
		return nil
	}
	return &latest{mask: l.mask}
}

// class is the lines of which some bits of the address are alike, which are bits of the number of the set in every level: they never meet lines of other
// classes in a set. An access in lines of several classes is taken apart, but a level is asked for all of its lines if the level in front misses one.
// So each level is taken through by all classes before the next one is, and what they list of such accesses is put together in between. Where levels
// include or exclude each other each line goes through all of them by itself, and what is put together is how many have missed.
type class struct {
	sim       *Simulator // what is counted of them
	threads   []*Hierarchy
	make      func() *Hierarchy
	shift     uint
	mask, own uint64
}

// of is the caches of a thread.
func (c *class) of(thread uint16) *Hierarchy {
	for len(c.threads) <= int(thread) {
		c.threads = append(c.threads, c.make())
	}
	return c.threads[thread]
}

// first is the class of an access's first byte.
func (c *class) first(addr uint64) uint64 { return addr >> c.shift & c.mask }

// touches tells whether an access has a line of the class.
func (c *class) touches(m *reference) bool {
	from := m.addr >> c.shift
	return (c.own-from)&c.mask <= (m.addr+uint64(m.size)-1)>>c.shift-from
}

// several tells whether an access has lines of several classes.
func (c *class) several(m *reference) bool {
	return m.addr>>c.shift != (m.addr+uint64(m.size)-1)>>c.shift
}

// miss refers to those lines of an access that are of the class, and tells whether one was missing.
func (c *class) miss(to *Cache, m *reference) (miss bool) {
	l, last := m.addr>>to.shift, (m.addr+uint64(m.size)-1)>>to.shift
	if l == last {
		return to.line(l)
	}
	for ; ; l++ {
		if c.first(l<<to.shift) == c.own && to.line(l) {
			miss = true
		}
		if l == last {
			return miss
		}
	}
}

// firstLevels refers to what is listed of the class. It returns what was missed.
func (c *class) firstLevels(listers []*Simulator) (out []reference) {
	for _, s := range listers {
		list := s.list.out[c.own]
		for i := range list {
			m := &list[i]
			h := c.of(m.thread)
			to := h.L1D
			if m.is(refCode) {
				to = h.L1I
			}
			if c.miss(to, m) {
				out = append(out, *m)
			}
		}
	}
	return out
}

// related refers to what is listed of the class, in levels that include or exclude each other. It counts what was missed, but for accesses with lines of other classes: these it returns.
func (c *class) related(listers []*Simulator) (out []reference) {
	for _, s := range listers {
		list := s.list.out[c.own]
		for i := range list {
			m := &list[i]
			h := c.of(m.thread)
			to, shift := h.related.data, c.sim.line
			if m.is(refCode) {
				to, shift = h.related.code, h.L1I.shift
			}
			m.missed = 0
			for l, last := m.addr>>shift, (m.addr+uint64(m.size)-1)>>shift; l <= last; l++ {
				if c.first(l<<shift) == c.own {
					m.missed = max(m.missed, uint8(to.refer(l)))
				}
			}
			if c.several(m) {
				out = append(out, *m)
			} else {
				c.sim.countLevels(m)
			}
		}
	}
	return out
}

// counted counts accesses that begin in the class and have lines of others.
func (c *class) counted(lists [][]reference) []reference {
	var own []reference
	for _, list := range lists {
		for i := range list {
			if m := &list[i]; c.first(m.addr) == c.own {
				own = append(own, *m)
			}
		}
	}
	slices.SortFunc(own, func(a, b reference) int { return a.order(&b) })
	for i := range own {
		m := &own[i]
		if i+1 < len(own) && own[i+1].order(m) == 0 {
			own[i+1].missed = max(own[i+1].missed, m.missed)
			continue
		}
		c.sim.countLevels(m)
	}
	return nil
}

// merged is what the class has to refer to in the next level: what it has missed itself, and what others have missed of accesses that have a line of it too.
func (c *class) merged(lists [][]reference) []reference {
	own := lists[c.own]
	var foreign []reference
	for i, list := range lists {
		if uint64(i) == c.own {
			continue
		}
		for k := range list {
			if m := &list[k]; c.several(m) && c.touches(m) {
				foreign = append(foreign, *m)
			}
		}
	}
	if len(foreign) == 0 {
		return own
	}
	slices.SortFunc(foreign, func(a, b reference) int { return a.order(&b) })
	out := make([]reference, 0, len(own)+len(foreign))
	for len(own) > 0 || len(foreign) > 0 {
		from := &own
		if len(own) == 0 || len(foreign) > 0 && foreign[0].order(&own[0]) < 0 {
			from = &foreign
		}
		if m := &(*from)[0]; len(out) == 0 || out[len(out)-1].order(m) != 0 { // else several have missed it
			out = append(out, *m)
		}
		*from = (*from)[1:]
	}
	return out
}

// level counts what a level missed, 0 for the first, of accesses that begin in the class, and refers to the next one, if there is one. It returns what that missed.
func (c *class) level(n int, missed []reference) (out []reference) {
	for i := range missed {
		m := &missed[i]
		if c.first(m.addr) == c.own {
			c.sim.countLevel(n, m)
		}
		if h := c.of(m.thread); n < len(h.Levels) && c.miss(h.Levels[n], m) {
			out = append(out, *m)
		}
	}
	return out
}

// countLevel counts a miss of a level.
func (s *Simulator) countLevel(n int, m *reference) {
	s.Count(!m.is(refMuted))
	to := &s.recipe(m.block).ins[m.ins]
	switch {
	case n == 0 && m.is(refCode):
		to.L1I++
	case n == 0:
		s.firstMissed(to, m.is(refStore))
		s.lines.miss(m.addr>>s.line, false)
	case m.is(refCode):
		s.levelMissedCode(to, n-1)
	case s.levelMissed(to, n-1, m.is(refStore)):
		s.lines.missLast(m.addr >> s.line)
	}
}

// countLevels counts a reference that so many levels have missed as it says.
func (s *Simulator) countLevels(m *reference) {
	if m.missed == 0 {
		return
	}
	s.Count(!m.is(refMuted))
	to := &s.recipe(m.block).ins[m.ins]
	if m.is(refCode) {
		s.codeMissed(to, int(m.missed))
	} else {
		s.dataMissed(to, m.addr, m.is(refStore), int(m.missed))
	}
}
