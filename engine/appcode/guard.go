package appcode

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"alleria/engine/codecache"
	"alleria/internal/sys"
)

// Pages that are writable and executable hold code that compares itself each time it is executed. Most of them are written once, when
// a compiler puts its code there, and never again. A page that has been quiet is guarded: the right to write it is taken away,
// which whoever asks this package does, and its code cannot change without a fault. Translations of it are plain ones then.
//
// The first write makes it an ordinary page again. It has to be quiet for twice as long before the next time, unless it was guarded for much longer than that, so
// that a page that is written again and again costs a handful of faults, and all pages together a hundred a second. Blocks of both kinds are kept: what a change of rights costs is some stores to gates.
//
// Only private anonymous memory is guarded: of anything else there may be another mapping, by which a write is not seen.

const (
	quietAtFirst = 10 * time.Millisecond
	quietSoon    = time.Millisecond // for tests
	quietAtMost  = 24 * time.Hour   // as good as for ever
	// maxGuarded and maxStretches bound how much is guarded at a time: each stretch makes up to two mappings more, of which a
	// process may have 65,530.
	maxGuarded   = 1 << 15
	maxStretches = 1 << 12
	// maxBatch is how many stretches are guarded at once, while a thread is stopped for it.
	maxBatch = 64
)

// guard is what is known of a page that is writable and executable.
type guard struct {
	on    bool            // it cannot be written
	seen  bool            // since is known
	since time.Duration   // it has been quiet since then
	quiet time.Duration   // how long it is to be
	at    time.Duration   // when it was guarded last
	was   *[PageSize]byte // what it held when it was given back, if there are plain blocks of it
}

// guards is what is known of such pages.
type guards struct {
	pages map[uint64]*guard
	on    int
	first time.Duration // how long pages are to be quiet at first
	next  time.Duration // no page is due before
	// writes that were caught, since when
	lately struct {
		n    int
		from time.Duration
	}
}

// Stretch is pages in a row.
type Stretch struct{ Start, End uint64 }

// GuardSoon has pages be guarded that have been quiet for a moment only.
func (c *Pages) GuardSoon() { c.guards.first = quietSoon }

// Watches tells whether some page may be guarded in the end, and how long before a time of Quiet's none is due; Guards tells whether one is guarded.
func (c *Pages) Watches() (next time.Duration, ok bool) {
	return c.guards.next, len(c.guards.pages) > c.guards.on
}
func (c *Pages) Guards() bool { return c.guards.on > 0 }

// Guarded tells whether the page of an address is.
func (c *Pages) Guarded(addr uint64) bool {
	if c.guards.on == 0 {
		return false
	}
	g := c.guards.pages[addr&^(PageSize-1)]
	return g != nil && g.on
}

// GuardedIn is the pages within [start, end) that are guarded.
func (c *Pages) GuardedIn(start, end uint64) (in []Stretch) {
	if c.guards.on == 0 || end <= start {
		return nil
	}
	for page, g := range c.guards.pages {
		if g.on && page < end && page+PageSize > start {
			in = append(in, Stretch{page, page + PageSize})
		}
	}
	return joined(in, 0)
}

// joined puts stretches in order and those together that follow each other; most is how many there may be, 0: any number.
func joined(in []Stretch, most int) []Stretch {
	slices.SortFunc(in, func(a, b Stretch) int { return cmp.Compare(a.Start, b.Start) })
	n := 0
	for _, s := range in {
		switch {
		case n > 0 && in[n-1].End == s.Start:
			in[n-1].End = s.End
		case most > 0 && n == most:
			return in[:n]
		default:
			in[n] = s
			n++
		}
	}
	return in[:n]
}

// CaughtAt tells whether a fault for want of rights at an address was a write to a page that is guarded, or was a moment ago: the
// program believes that it may write there.
func (c *Pages) CaughtAt(addr uint64) bool {
	if c.guards.pages[addr&^(PageSize-1)] == nil {
		return false
	}
	c.Know()
	m := c.Mapping(addr)
	return m != nil && m.Writable()
}

// watch notes the pages of code that compares itself.
func (c *Pages) watch(first, last uint64) {
	if c.noAside || c.readExecutes {
		return
	}
	for page := first &^ (PageSize - 1); page <= last; page += PageSize {
		if c.guards.pages[page] != nil {
			continue
		}
		if m := c.Mapping(page); m != nil && guardable(m) {
			if c.guards.pages == nil {
				c.guards.pages = make(map[uint64]*guard)
			}
			c.guards.next = 0
			c.guards.pages[page] = &guard{quiet: cmp.Or(c.guards.first, quietAtFirst)}
		}
	}
}

// guardable tells memory that nothing else shares.
func guardable(m *sys.Mapping) bool { return m.Prot == "rwxp" && m.Inode == 0 && m.Path == "" }

// Changed notes that code at an address was found to have changed.
func (c *Pages) Changed(addr uint64) {
	if g := c.guards.pages[addr&^(PageSize-1)]; g != nil {
		g.seen, c.guards.next = false, 0
	}
}

// written has a page be quiet for twice as long, unless it was guarded for much longer than it had been quiet, and few pages were written lately: a garbage
// collector writes to the heads of methods now and then. A write that is caught costs a tenth of a millisecond.
func (c *Pages) written(g *guard, now time.Duration) {
	const worth, most, within = 16, 100, time.Second
	w := &c.guards.lately
	if now-w.from > within {
		w.from, w.n = now, 0
	}
	if w.n++; w.n > most || now-g.at < worth*g.quiet {
		g.quiet = min(2*g.quiet, quietAtMost)
	}
}

// Quiet is the stretches of pages that have been quiet for long enough and can be guarded, in order. now is a time that only grows.
func (c *Pages) Quiet(now time.Duration) (due []Stretch) {
	c.guards.next = now + quietAtMost
	if c.guards.on >= maxGuarded {
		return nil
	}
	c.Know()
	for page, g := range c.guards.pages {
		switch m := c.Mapping(page); {
		case m == nil || !guardable(m): // it is something else by now
			if !g.on {
				delete(c.guards.pages, page)
			}
		case g.on:
		case !g.seen:
			g.seen, g.since = true, now
			c.guards.next = min(c.guards.next, now+g.quiet)
		case now-g.since >= g.quiet:
			due = append(due, Stretch{page, page + PageSize})
			c.guards.next = now // it may be left out
		default:
			c.guards.next = min(c.guards.next, g.since+g.quiet)
		}
	}
	if len(due) == 0 || c.stretches() >= maxStretches {
		return nil
	}
	return joined(due, maxBatch)
}

// Still is what of Quiet's stretches can still be guarded: threads may have told of calls since, by which memory there has become something else.
func (c *Pages) Still(due []Stretch) (left []Stretch) {
	c.Know()
	for _, s := range due {
		for page := s.Start; page < s.End; page += PageSize {
			if m := c.Mapping(page); c.guards.pages[page] != nil && m != nil && guardable(m) {
				left = append(left, Stretch{page, page + PageSize})
			}
		}
	}
	return joined(left, 0)
}

// stretches is how many there are of pages that are guarded.
func (c *Pages) stretches() (n int) {
	for page, g := range c.guards.pages {
		if before := c.guards.pages[page-PageSize]; g.on && (before == nil || !before.on) {
			n++
		}
	}
	return n
}

// Guard notes that the right to write a stretch has been taken away, at a time of Quiet's: blocks that compare themselves make way for plain ones. Those of the last time
// that the page was guarded are put back where their code is the same.
func (c *Pages) Guard(s Stretch, now time.Duration) {
	for page := s.Start; page < s.End; page += PageSize {
		if g := c.guards.pages[page]; g != nil && !g.on {
			g.on, g.at = true, now
			c.guards.on++
			c.reread(page)
		}
	}
	// A block may lie in two pages of the stretch: it is put back when both have been compared.
	for page := s.Start; page < s.End; page += PageSize {
		if g := c.guards.pages[page]; g != nil {
			c.takeOut(page, true)
			c.killChanged(page, g)
		}
	}
	for page := s.Start; page < s.End; page += PageSize {
		if c.guards.pages[page] != nil {
			c.putPlainBack(page)
		}
	}
}

// Shun has a stretch never be guarded.
func (c *Pages) Shun(s Stretch) {
	for page := s.Start; page < s.End; page += PageSize {
		if g := c.guards.pages[page]; g != nil {
			g.seen, g.quiet = false, quietAtMost
		}
	}
}

// Unguard takes the plain blocks of a stretch out of use, which is about to be writable again, and puts those back that compare themselves; written: because it
// is written.
func (c *Pages) Unguard(s Stretch, written bool, now time.Duration) {
	for page := s.Start; page < s.End; page += PageSize {
		g := c.guards.pages[page]
		if g == nil || !g.on {
			continue
		}
		g.on, g.seen = false, false
		c.guards.on--
		c.guards.next = 0
		if written {
			c.written(g, now)
		}
		c.reread(page)
		g.was = c.contents(page)
		c.takeOut(page, false)
		blocks, _ := c.cache.ListedIn(page)
		for _, b := range blocks {
			if b.Compared > 0 && b.Is(codecache.Idle) && !c.asideIn(b) {
				c.cache.Return(b)
			}
		}
	}
}

// reread forgets how a page was read.
func (c *Pages) reread(page uint64) {
	c.last = nil
	clear(c.cache.Stepped)
	delete(c.soft, page)
	if _, ok := c.pages[page]; ok {
		c.pages[page] = nil
	}
}

// contents is what lies in a page, nil if it cannot be read.
func (c *Pages) contents(page uint64) *[PageSize]byte {
	b := new([PageSize]byte)
	if _, err := c.mem.ReadAt(b[:], int64(page)); err != nil {
		return nil
	}
	return b
}

// takeOut takes the blocks of a page out of use that compare themselves, or those that do not, but for those that still have to.
func (c *Pages) takeOut(page uint64, comparing bool) {
	var dead []*codecache.Block
	blocks, _ := c.cache.ListedIn(page)
	for _, b := range blocks {
		switch {
		case b.Is(codecache.Idle) || b.Compared > 0 != comparing || comparing && c.changesIn(b):
		case b.Idles():
			c.cache.SetAside(b)
		default:
			dead = append(dead, b)
		}
	}
	if len(dead) > 0 {
		c.host.Forget(dead)
	}
}

// changesIn tells whether a block reaches into a page that may change unnoticed.
func (c *Pages) changesIn(b *codecache.Block) bool {
	return c.Changing(b.App) || c.Changing(b.App+uint64(b.AppSize)-1)
}

// killChanged forgets the plain blocks of a page that has just been guarded, and are out of use, whose code there is not what it was. Those of a creator's, say, of which that is not known, are forgotten.
func (c *Pages) killChanged(page uint64, g *guard) {
	was := g.was
	g.was = nil
	var now *[PageSize]byte
	if was != nil {
		now = c.contents(page)
	}
	blocks, _ := c.cache.ListedIn(page)
	for _, b := range blocks {
		if b.Compared > 0 || !b.Is(codecache.Idle) {
			continue
		}
		lo, hi := max(b.App, page)-page, min(b.App+uint64(b.AppSize), page+PageSize)-page
		if now == nil || !bytes.Equal(was[lo:hi], now[lo:hi]) {
			c.cache.Kill(b)
		}
	}
}

// putPlainBack puts the plain blocks of a page back into use whose code is what it was, in the other page as well that they may lie in.
func (c *Pages) putPlainBack(page uint64) {
	blocks, _ := c.cache.ListedIn(page)
	for _, b := range blocks {
		if b.Compared == 0 && b.Is(codecache.Idle) && !c.asideIn(b) && !c.changesIn(b) {
			c.cache.Return(b)
		}
	}
}

// asAsked is mappings with the rights that the program has asked for: guarded pages are writable to it.
func (c *Pages) asAsked(maps []sys.Mapping) []sys.Mapping {
	if c.guards.on == 0 {
		return maps
	}
	var out []sys.Mapping
	add := func(m sys.Mapping) {
		if k := len(out) - 1; k >= 0 && m.Inode == 0 && m.Path == "" && out[k].End == m.Start && out[k].Prot == m.Prot && out[k].Inode == 0 && out[k].Path == "" {
			out[k].End = m.End
			return
		}
		out = append(out, m)
	}
	for _, m := range maps {
		if m.Prot != "r-xp" || m.Inode != 0 || m.Path != "" {
			add(m)
			continue
		}
		from := m.Start
		for _, s := range c.GuardedIn(m.Start, m.End) {
			if s.Start > from {
				add(sys.Mapping{Start: from, End: s.Start, Prot: m.Prot, Dev: m.Dev})
			}
			add(sys.Mapping{Start: s.Start, End: s.End, Prot: "rwxp", Dev: m.Dev})
			from = s.End
		}
		if from < m.End {
			add(sys.Mapping{Start: from, End: m.End, Prot: m.Prot, Dev: m.Dev})
		}
	}
	return out
}
