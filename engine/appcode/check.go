package appcode

import (
	"bytes"
	"slices"

	"alleria/engine/codecache"
	"alleria/internal/sys"
)

// What a process does natively with its code is not seen: a library goes and another one comes to where it was, a just-in-time
// compiler writes anew what it protects again. Before translations are used after a stretch of native code, the mappings
// are compared with those that they were made from, code that lies in no file with itself, and of files' code what may have changed (infile.go).

// ran is what of a process's native code may have changed translated code.
type ran uint8

const (
	ranNot  ran = iota // the translations are as good as when they were made
	ranAll             // the process has run natively
	ranRest            // since they were compared, some of its threads may still have
)

// CompareCode compares what blocks were translated from with what is there.
func (c *Pages) CompareCode() {
	before := slices.DeleteFunc(slices.Clone(c.wereMapped()), func(m sys.Mapping) bool { return !m.Exec() })
	c.valid = false
	c.readMaps()
	c.near, c.was, c.wasKnown = 0, nil, false
	same := slices.EqualFunc(before, c.maps, sameCode)
	var gone []uint64
	if !same || len(c.soft) > 0 {
		gone = c.other(before, same)
	}
	if !same {
		c.dropFiles()
	}
	for _, addr := range c.patched(gone) {
		c.Invalidate(addr, addr+PageSize)
	}
	if !same {
		c.host.ImagesChanged()
	}
}

// keepMapped keeps the mappings that translations were made from, which are about to be read again: where a process runs natively that is done for breakpoints
// in libraries that have just come, and compares nothing. A library that had gone from there meanwhile was taken for the new one.
func (c *Pages) keepMapped() {
	if c.ran != ranNot && !c.wasKnown {
		c.was, c.wasKnown = slices.Clone(c.maps), true
	}
}

// wereMapped is the mappings that translations were made from.
func (c *Pages) wereMapped() []sys.Mapping {
	if c.wasKnown {
		return c.was
	}
	return c.maps
}

// other is the pages that lie in other mappings than before, or in none, or in no file and hold something else.
func (c *Pages) other(before []sys.Mapping, same bool) (gone []uint64) {
	old := Pages{maps: before}
	for addr, page := range c.pages {
		if _, soft := c.soft[addr]; soft {
			if !c.samePage(addr, page) {
				gone = append(gone, addr)
			}
		} else if !same {
			a, b := old.Mapping(addr), c.Mapping(addr)
			if a == nil || b == nil || a.Path != b.Path || a.Inode != b.Inode || a.Prot != b.Prot || addr-a.Start+a.Offset != addr-b.Start+b.Offset {
				gone = append(gone, addr)
			}
		}
	}
	return gone
}

// samePage tells whether a page that lies in no file holds what it held when it was read, and still cannot change
// unnoticed.
func (c *Pages) samePage(addr uint64, page *[PageSize]byte) bool {
	if page == nil || !c.Executable(addr) || c.Changing(addr) {
		return false
	}
	var now [PageSize]byte
	if _, err := c.mem.ReadAt(now[:], int64(addr)); err != nil {
		return false
	}
	c.host.Unprobed(now[:], addr)
	return now == *page
}

// A just-in-time compiler takes the right to execute from a page, writes some of it, and gives the right back. The page's
// translations are set aside when the right goes, and put back when code of it is asked for, but for those whose bytes have changed
// meanwhile. So a change costs a comparison of a page and what has changed, whatever else the page holds.

// maxAside is how many pages are kept as they were.
const maxAside = 256

// SetAside takes the translations of [start, end) out of use, where the address space changes. Those that cannot be put back are
// forgotten.
func (c *Pages) SetAside(start, end uint64) {
	c.last = nil
	clear(c.cache.Stepped)
	var pages, others []uint64
	were := false // some are aside
	c.each(start, end, func(page uint64) {
		if _, soft := c.soft[page]; soft && !c.noAside && c.pages[page] != nil && len(c.aside)+len(pages) < maxAside {
			pages = append(pages, page)
		} else if c.aside[page] == nil {
			others = append(others, page)
		} else {
			were = true
		}
	})
	if !were && len(pages) == 0 { // all at once, since those of files are looked for among all translations
		if len(others) > 0 {
			c.Invalidate(start, end)
		}
		return
	}
	for _, page := range pages {
		if c.aside == nil {
			c.aside = make(map[uint64]*[PageSize]byte)
		}
		copied := *c.pages[page]
		c.aside[page] = &copied
		delete(c.pages, page)
		blocks, _ := c.cache.ListedIn(page)
		var dead []*codecache.Block
		for _, b := range blocks {
			if b.Idles() {
				c.cache.SetAside(b)
			} else {
				dead = append(dead, b)
			}
		}
		if len(dead) > 0 {
			c.host.Forget(dead)
		}
	}
	for _, page := range others {
		c.Invalidate(page, page+PageSize)
	}
}

// PutBack makes a page's translations known again that were set aside, if it may be executed; false where there are none.
func (c *Pages) PutBack(page uint64) bool {
	before := c.aside[page]
	if before == nil || !c.Executable(page) {
		return false
	}
	delete(c.aside, page)
	var now [PageSize]byte
	if _, err := c.mem.ReadAt(now[:], int64(page)); err != nil {
		c.Invalidate(page, page+PageSize)
		return false
	}
	c.host.Unprobed(now[:], page)
	c.host.Fetched(now[:], page)
	same := func(start, end uint64) bool {
		lo, hi := max(start, page)-page, min(end, page+PageSize)-page
		return bytes.Equal(before[lo:hi], now[lo:hi])
	}
	all := now == *before
	if c.Changing(page) {
		same, all = func(uint64, uint64) bool { return false }, false
	} else {
		pg := c.room(page)
		*pg = now
		c.pages[page] = pg
		c.soften(page)
	}
	blocks, _ := c.cache.ListedIn(page)
	for _, b := range blocks {
		switch {
		case !b.Is(codecache.Idle) || b.Is(codecache.Dead):
		case !all && (b.Is(codecache.InPieces) || !same(b.App, b.App+uint64(b.AppSize))):
			c.cache.Kill(b)
		case c.asideIn(b):
		case b.Compared == 0 && c.changesIn(b): // the other page may be written: it is put back when that is guarded
		default:
			c.cache.Return(b)
		}
	}
	return true
}

// asideIn tells whether a block reaches into a page that is set aside.
func (c *Pages) asideIn(b *codecache.Block) bool {
	return c.aside[b.App&^(PageSize-1)] != nil || c.aside[(b.App+uint64(b.AppSize)-1)&^(PageSize-1)] != nil
}

// RunsNatively notes that what the process does to its code is not seen.
func (c *Pages) RunsNatively() {
	was := c.ran
	c.ran = ranAll
	if c.noteFiles(); was == ranNot {
		c.countFaults()
	}
}

// AsMade tells whether it was seen since translations were made, or compared.
func (c *Pages) AsMade() bool { return c.ran == ranNot }

// Check forgets what was translated from code that is not there any more, before a thread goes on in the cache; ran: it may have executed something since that was
// done last, others: some still run natively. It tells whether it has compared.
//
// Refused: for the first thread that comes back and for the last alone. Where a third one waits in the kernel, for minutes maybe, the second goes on with
// what lay there before it loaded a library.
func (c *Pages) Check(ran, others bool) bool {
	was := c.ran
	switch {
	case was == ranNot:
		return false
	case others:
		c.ran = ranRest
	default:
		c.ran = ranNot
	}
	if was == ranRest && !ran {
		return false
	}
	if len(c.pages) > 0 || len(c.maps) > 0 { // of images the client hears by it, too
		c.CompareCode()
	}
	return true
}
