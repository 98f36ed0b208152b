package cache

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

// lineTable counts misses by line of data: a hash table with open addressing. It is asked at each miss, which takes a
// reference to memory where Go's maps take several.
type lineTable struct {
	all   []lineEntry
	used  int
	shift uint
}

// lineEntry is a line with its misses. tag is its number plus one, 0: free.
type lineEntry struct {
	tag uint64
	LineMisses
}

// at returns the counts of a line. They are good until the next call.
func (t *lineTable) at(line uint64) *LineMisses {
	if 2*t.used >= len(t.all) {
		t.grow()
	}
	e := t.find(line + 1)
	if e.tag == 0 {
		e.tag = line + 1
		t.used++
	}
	return &e.LineMisses
}

// find returns the entry of a tag, or the free one where it belongs.
func (t *lineTable) find(tag uint64) *lineEntry {
	mask := uint64(len(t.all) - 1)
	for i := tag * 0x9E3779B97F4A7C15 >> t.shift; ; i++ {
		if e := &t.all[i&mask]; e.tag == tag || e.tag == 0 {
			return e
		}
	}
}

// grow doubles the table.
func (t *lineTable) grow() {
	old := t.all
	n := max(2*len(old), 1<<10)
	t.all, t.shift = make([]lineEntry, n), 64
	for ; n > 1; n /= 2 {
		t.shift--
	}
	for i := range old {
		if old[i].tag != 0 {
			*t.find(old[i].tag) = old[i]
		}
	}
}

// each calls f for every line that there is.
func (t *lineTable) each(f func(line uint64, m *LineMisses)) {
	for i := range t.all {
		if e := &t.all[i]; e.tag != 0 {
			f(e.tag-1, &e.LineMisses)
		}
	}
}
