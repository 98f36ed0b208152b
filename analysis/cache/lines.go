package cache

import "math"

// latest is the line that each set of a cache with LRU was referred to last, plus one; 0: none yet. Most references are to
// it, and change nothing.
type latest struct {
	tags [mostLatest]uint64
	mask uint64 // of a set
}

// mostLatest is how many sets a cache may have whose latest lines are kept: more than first levels have, a power of two, and
// constant so that nothing has to be checked.
const mostLatest = 1 << 10

// of is the latest line of the set of a line, plus one.
func (l *latest) of(line uint64) uint64 { return l.tags[line&l.mask%mostLatest] }

// lineTable counts misses by line of data, in pages of lines that lie together in memory: programs that miss much do so all
// over some megabytes, for which 8 bytes a line stay in the processor's caches. A look-aside table in front finds the page.
type lineTable struct {
	pages map[uint64]*linePage
	aside [lineAside]struct {
		number uint64
		page   *linePage
	}
}

const (
	pageLines = 64 // of a page
	lineAside = 1 << 10
)

// linePage is the counts of some lines.
type linePage [pageLines]lineCount

// lineCount is the misses of a line. A count that is full stays so.
type lineCount struct{ l1, ll uint32 }

// page returns the counts of the lines around one.
func (t *lineTable) page(line uint64) *linePage {
	n := line / pageLines
	e := &t.aside[n%lineAside]
	if e.number == n && e.page != nil {
		return e.page
	}
	p := t.pages[n]
	if p == nil {
		if t.pages == nil {
			t.pages = map[uint64]*linePage{}
		}
		p = new(linePage)
		t.pages[n] = p
	}
	e.number, e.page = n, p
	return p
}

// miss counts a miss of a line in the first level, and in the last one too.
func (t *lineTable) miss(line uint64, last bool) {
	c := &t.page(line)[line%pageLines]
	if c.l1 < math.MaxUint32 {
		c.l1++
	}
	if last && c.ll < math.MaxUint32 {
		c.ll++
	}
}

// missLast counts a miss in the last level, of a line whose miss in the first one is counted.
func (t *lineTable) missLast(line uint64) {
	if c := &t.page(line)[line%pageLines]; c.ll < math.MaxUint32 {
		c.ll++
	}
}

// each calls f for every line with misses.
func (t *lineTable) each(f func(line uint64, m LineMisses)) {
	for n, p := range t.pages {
		for i, c := range p {
			if c.l1 > 0 {
				f(n*pageLines+uint64(i), LineMisses{uint64(c.l1), uint64(c.ll)})
			}
		}
	}
}
