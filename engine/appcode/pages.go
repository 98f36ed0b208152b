package appcode

import (
	"iter"
	"maps"
	"slices"

	"alleria/engine/codecache"
	"alleria/internal/sys"
)

const PageSize = 4096

// maxCodePages is how many pages of code are kept as they were read. Reading one
// again costs some microseconds; a compiler's code is tens of megabytes.
const maxCodePages = 512

// Host is the process whose code it is.
type Host interface {
	// Ours tells whether an address belongs to the mappings that the tracer made.
	Ours(addr uint64) bool
	// Mapped is called when the executable mappings have been read.
	Mapped(maps []sys.Mapping)
	// Unprobed puts the application's own bytes where breakpoints and jumps of ours lie in a page.
	Unprobed(page []byte, addr uint64)
	// Fetched is called with a page that was read to be translated from, without breakpoints of ours.
	Fetched(page []byte, addr uint64)
	// Forget replaces translations by exits that dispatch for others, with the threads that run there stopped.
	Forget(dead []*codecache.Block)
	// ImagesChanged is called when other images are there than were, without a call that said so.
	ImagesChanged()
}

// New is what is known of the code of a process whose memory is mem, nothing yet.
func New(h Host, pid int, mem *sys.ProcessMemory, cache *codecache.Cache, noAside bool) Pages {
	return Pages{host: h, pid: pid, mem: mem, cache: cache, noAside: noAside}
}

// Pages caches the application's code as it was read from the target.
// Its pages are those that blocks were translated from: hasCode goes by them.
type Pages struct {
	host    Host
	pid     int
	mem     *sys.ProcessMemory
	cache   *codecache.Cache
	noAside bool // translations of code that may not be executed any more are forgotten

	// pages are those that code was ever read from; nil once others took their
	// place. kept lists the others, oldest from oldest on.
	pages  map[uint64]*[PageSize]byte
	kept   []uint64
	oldest int
	maps   []sys.Mapping // executable ones, sorted, and those that were until mprotect; see protect
	valid  bool
	near   int // of maps, the one that was looked for last
	// buf is for code that lies in two pages. last is the page that was used last, at lastAddr; nil for none that keeps.
	buf      [2 * PageSize]byte
	last     *[PageSize]byte
	lastAddr uint64
	ran      ran           // since translations were compared with it last; see checkCode
	was      []sys.Mapping // the mappings as of then, where they have been read since; see wereMapped
	wasKnown bool
	soft     map[uint64]struct{} // of pages, those that lie in no file and do not change unnoticed; see checkCode
	// PROT_READ gives the right to execute, too (READ_IMPLIES_EXEC)
	readExecutes bool
	aside        map[uint64]*[PageSize]byte // pages whose translations are out of use, as they were; see setAside
	guards       guards
	opened
	files inFiles
}

// Fetch reads up to n bytes of code at addr; fewer where executable memory
// ends. The result is valid until the next fetch.
//
// Breakpoints of ours do not show: the bytes are the original ones.
func (c *Pages) Fetch(addr uint64, n int) []byte {
	if off := int(addr & (PageSize - 1)); off+n <= PageSize {
		if page := c.page(addr - uint64(off)); page != nil {
			return page[off : off+n]
		}
		return nil
	}
	// page by page, up to the first that may not be executed
	k := 0
	for k < n {
		at := addr + uint64(k)
		page := c.page(at &^ (PageSize - 1))
		if page == nil {
			break
		}
		off := int(at & (PageSize - 1))
		k += copy(c.buf[k:n], page[off:])
	}
	return c.buf[:k]
}

// page returns a page of code, nil if it is not executable or not readable.
// Pages that may change unnoticed are read anew each time.
func (c *Pages) page(addr uint64) *[PageSize]byte {
	if c.last != nil && c.lastAddr == addr && c.valid {
		return c.last
	}
	c.last = nil
	c.PutBack(addr)
	pg, changing := c.pages[addr], c.Changing(addr)
	if pg != nil && !changing {
		c.last, c.lastAddr = pg, addr
		return pg
	}
	if !c.Executable(addr) {
		return nil
	}
	if pg == nil {
		pg = c.room(addr)
	}
	if _, err := c.mem.ReadAt(pg[:], int64(addr)); err != nil {
		return nil
	}
	c.host.Unprobed(pg[:], addr)
	c.host.Fetched(pg[:], addr)
	if _, again := c.pages[addr]; !again {
		c.fetched(addr, pg)
	}
	c.pages[addr] = pg
	delete(c.soft, addr)
	if !changing {
		c.last, c.lastAddr = pg, addr
		c.soften(addr)
	}
	return pg
}

// soften notes that a page which does not change unnoticed lies in no file.
func (c *Pages) soften(page uint64) {
	if m := c.Mapping(page); m != nil && !c.inFile(m) {
		if c.soft == nil {
			c.soft = make(map[uint64]struct{})
		}
		c.soft[page] = struct{}{}
	}
}

// room returns memory for one more page: new, or that of the page that was kept
// longest.
func (c *Pages) room(addr uint64) *[PageSize]byte {
	if c.pages == nil {
		c.pages = make(map[uint64]*[PageSize]byte)
	}
	c.last = nil // it may be what is given out again
	if len(c.kept) < maxCodePages {
		c.kept = append(c.kept, addr)
		return new([PageSize]byte)
	}
	old := c.kept[c.oldest]
	c.kept[c.oldest] = addr
	c.oldest = (c.oldest + 1) % maxCodePages
	pg := c.pages[old]
	if pg == nil { // invalidated since
		return new([PageSize]byte)
	}
	c.pages[old] = nil
	return pg
}

// Reread forgets what was read of a mapping: natively it may have been replaced by
// another without a word. Which pages blocks were translated from stays known.
func (c *Pages) Reread(m *sys.Mapping) {
	c.last = nil
	for pg := range c.pages {
		if pg >= m.Start && pg < m.End {
			c.pages[pg] = nil
		}
	}
}

// HasCode tells whether any block was translated from [start, end).
// Most mappings that programs change hold no code, and this is what it costs them.
func (c *Pages) HasCode(start, end uint64) bool {
	for a := start &^ (PageSize - 1); a < end; a += PageSize {
		if _, ok := c.pages[a]; ok {
			return true
		}
		if len(c.pages) < int((end-a)/PageSize) { // a huge range: look from the other side
			for pg := range c.pages {
				if pg >= start&^(PageSize-1) && pg < end {
					return true
				}
			}
			return false
		}
	}
	return false
}

// Invalidate forgets the code in [start, end) and every translation of it:
// each block's entry becomes an exit that dispatches for a new one. Threads that are inside
// such a block leave it at its end.
//
// Whole blocks are the unit, and pages of what was read; target checks stay, since they lead to
// blocks' entries, which are what is overwritten.
func (c *Pages) Invalidate(start, end uint64) {
	clear(c.cache.Stepped)
	c.last = nil
	var dead []*codecache.Block
	all := true // blocks of all pages are listed
	c.each(start, end, func(page uint64) {
		if _, ok := c.pages[page]; ok && (page < start || page+PageSize > end) {
			c.pages[page] = nil // other blocks were translated from it, which the next that is forgotten of it may mean
		} else {
			delete(c.pages, page)
		}
		blocks, listed := c.cache.ListedIn(page)
		all = all && listed
		for _, b := range blocks {
			if c.cache.Covers(b, start, end) {
				dead = append(dead, b)
			}
		}
		if page >= start && page+PageSize <= end {
			c.cache.UnlistPage(page)
		}
	})
	if !all {
		c.cache.EachBlock(func(b *codecache.Block) {
			if c.cache.Covers(b, start, end) {
				dead = append(dead, b)
			}
		})
	}
	if len(dead) > 0 {
		c.host.Forget(dead)
	}
}

// each calls f for the pages within [start, end) that code was read from, those that are set aside among them.
func (c *Pages) each(start, end uint64, f func(page uint64)) {
	start &^= PageSize - 1
	if end-start > uint64(len(c.pages)+len(c.aside))*PageSize {
		for page := range c.pages {
			if page >= start && page < end {
				f(page)
			}
		}
		for page := range c.aside {
			if _, twice := c.pages[page]; !twice && page >= start && page < end {
				f(page)
			}
		}
		return
	}
	for page := start; page < end; page += PageSize {
		_, ok := c.pages[page]
		if !ok {
			_, ok = c.aside[page]
		}
		if ok {
			f(page)
		}
	}
}

// Holds tells whether a mapping of exactly these addresses is there now.
func (c *Pages) Holds(start, end uint64) bool {
	m := c.Mapping(start)
	return m != nil && m.Start == start && m.End == end
}

// Inherited is what translations were made from.
type Inherited struct {
	maps  []sys.Mapping
	pages map[uint64]*[PageSize]byte
	soft  map[uint64]struct{}
	files heldPages
	opened
}

// Inherited is what a child gets of what is known of its creator's code. The contents of pages stay the creator's, but of those that are compared.
func (c *Pages) Inherited() Inherited {
	h := Inherited{slices.Clone(c.maps), make(map[uint64]*[PageSize]byte, len(c.pages)), maps.Clone(c.soft), c.files.heldPages, c.opened.clone()}
	h.files.held = maps.Clone(h.files.held)
	for addr := range c.pages {
		h.pages[addr] = nil
	}
	for addr := range c.soft {
		if page := c.pages[addr]; page != nil {
			h.pages[addr] = page
		}
	}
	return h
}

// Inherit takes over what is known of the code of a creator, or of its last child.
func (c *Pages) Inherit(h Inherited) {
	c.maps, c.pages, c.soft, c.opened = h.maps, h.pages, h.soft, h.opened
	c.files.inherit(h.files)
}

// MadeFrom notes that there are translations of a page, which was not read here.
func (c *Pages) MadeFrom(page uint64) {
	if c.pages == nil {
		c.pages = make(map[uint64]*[PageSize]byte)
	}
	if _, ok := c.pages[page]; !ok {
		c.pages[page] = nil
		c.more(page)
	}
}

// Translated is the pages that blocks were translated from.
func (c *Pages) Translated() iter.Seq[uint64] { return maps.Keys(c.pages) }

// DropAside forgets which translations were set aside: there are none any more.
func (c *Pages) DropAside() { clear(c.aside) }
