package engine

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/sys"
)

// deleted is what the kernel appends to the path of a file that has no name any more, or never had one. Code does not
// stay in such files by itself: a program has made it, and may write it by another mapping or the file's descriptor,
// which a private mapping shows as well.
const deleted = " (deleted)"

// changes tells whether any of the instructions, which follow each other, may change unnoticed.
func (p *Process) changes(ins []x86.Insn) bool {
	first, last := ins[0].Addr, ins[len(ins)-1].Next()-1
	if p.changing(first) {
		return true
	}
	for at := first&^(pageSize-1) + pageSize; at <= last; at += pageSize {
		if p.changing(at) {
			return true
		}
	}
	return false
}

// What a process does natively with its code is not seen: a library goes and another one comes to where it was, a just-in-time
// compiler writes anew what it protects again. Before translations are used after a stretch of native code, the mappings
// are compared with those that they were made from, and code that lies in no file with itself.

// inFile tells a mapping whose contents are a file's, which keeps its name: code there changes with the mapping.
func inFile(m *sys.Mapping) bool {
	return m.Path == "[vdso]" || strings.HasPrefix(m.Path, "/") && !strings.HasSuffix(m.Path, deleted)
}

// ran is what of a process's native code may have changed translated code.
type ran uint8

const (
	ranNot  ran = iota // the translations are as good as when they were made
	ranAll             // the process has run natively
	ranRest            // since they were compared, some of its threads still have
)

// checkCode forgets what was translated from code that is not there any more, before t goes on in the cache. It is
// done for the first thread that comes back and for the last.
func (p *Process) checkCode(t *Thread) {
	others := slices.ContainsFunc(p.running(), func(o *Thread) bool { return o != t && o.native && !o.vfork && !o.ending })
	switch {
	case p.code.ran == ranNot, p.code.ran == ranRest && others:
		return
	case others:
		p.code.ran = ranRest
	default:
		p.code.ran = ranNot
	}
	if len(p.code.pages) > 0 {
		p.compareCode()
	}
}

// compareCode compares what blocks were translated from with what is there.
func (p *Process) compareCode() {
	c := &p.code
	before := slices.DeleteFunc(slices.Clone(c.maps), func(m sys.Mapping) bool { return !m.Exec() })
	c.valid = false
	p.readMaps()
	c.near = 0
	same := slices.EqualFunc(before, c.maps, sameCode)
	if same && len(c.soft) == 0 {
		return
	}
	old := codePages{maps: before}
	var gone []uint64
	for addr, page := range c.pages {
		if _, soft := c.soft[addr]; soft {
			if !p.samePage(addr, page) {
				gone = append(gone, addr)
			}
		} else if !same {
			a, b := old.mapping(addr), c.mapping(addr)
			if a == nil || b == nil || a.Path != b.Path || a.Inode != b.Inode || a.Prot != b.Prot || addr-a.Start+a.Offset != addr-b.Start+b.Offset {
				gone = append(gone, addr)
			}
		}
	}
	for _, addr := range gone {
		p.invalidate(addr, addr+pageSize)
	}
	if !same {
		p.client.ImagesChanged(p)
	}
}

// sameCode tells whether two executable mappings are one.
func sameCode(a, b sys.Mapping) bool {
	return a.Start == b.Start && a.End == b.End && a.Prot == b.Prot && a.Offset == b.Offset && a.Inode == b.Inode && a.Path == b.Path
}

// samePage tells whether a page that lies in no file holds what it held when it was read, and still cannot change
// unnoticed.
func (p *Process) samePage(addr uint64, page *[pageSize]byte) bool {
	if page == nil || !p.executable(addr) || p.changing(addr) {
		return false
	}
	var now [pageSize]byte
	if _, err := p.mem.ReadAt(now[:], int64(addr)); err != nil {
		return false
	}
	p.points.Unprobed(now[:], addr)
	return now == *page
}

// made tells code that a program has made, or may change: it lies in no file that keeps it.
func (p *Process) made(addr uint64) bool {
	if p.tr.opts.NoAside || !p.executable(addr) {
		return false
	}
	m := p.code.mapping(addr)
	return m != nil && (!inFile(m) || m.Writable() || m.Shared())
}

// A just-in-time compiler takes the right to execute from a page, writes some of it, and gives the right back. The page's
// translations are set aside when the right goes, and put back when code of it is asked for, but for those whose bytes have changed
// meanwhile. So a change costs a comparison of a page and what has changed, whatever else the page holds.

// maxAside is how many pages are kept as they were.
const maxAside = 256

// setAside takes the translations of [start, end) out of use, where the address space changes. Those that cannot be put back are
// forgotten.
func (p *Process) setAside(start, end uint64) {
	c := &p.code
	c.last = nil
	clear(p.cache.Stepped)
	var pages, others []uint64
	were := false // some are aside
	c.each(start, end, func(page uint64) {
		if _, soft := c.soft[page]; soft && !p.tr.opts.NoAside && c.pages[page] != nil && len(c.aside)+len(pages) < maxAside {
			pages = append(pages, page)
		} else if c.aside[page] == nil {
			others = append(others, page)
		} else {
			were = true
		}
	})
	if !were && len(pages) == 0 { // all at once, since those of files are looked for among all translations
		if len(others) > 0 {
			p.invalidate(start, end)
		}
		return
	}
	for _, page := range pages {
		if c.aside == nil {
			c.aside = make(map[uint64]*[pageSize]byte)
		}
		copied := *c.pages[page]
		c.aside[page] = &copied
		delete(c.pages, page)
		blocks, _ := p.cache.ListedIn(page)
		var dead []*codecache.Block
		for _, b := range blocks {
			if b.Idles() {
				p.cache.SetAside(b)
			} else {
				dead = append(dead, b)
			}
		}
		if len(dead) > 0 {
			p.forget(dead)
		}
	}
	for _, page := range others {
		p.invalidate(page, page+pageSize)
	}
}

// putBack makes a page's translations known again that were set aside, if it may be executed; false where there are none.
func (p *Process) putBack(page uint64) bool {
	c := &p.code
	before := c.aside[page]
	if before == nil || !p.executable(page) {
		return false
	}
	delete(c.aside, page)
	var now [pageSize]byte
	if _, err := p.mem.ReadAt(now[:], int64(page)); err != nil {
		p.invalidate(page, page+pageSize)
		return false
	}
	p.points.Unprobed(now[:], page)
	same := func(start, end uint64) bool {
		lo, hi := max(start, page)-page, min(end, page+pageSize)-page
		return bytes.Equal(before[lo:hi], now[lo:hi])
	}
	all := now == *before
	if p.changing(page) {
		same, all = func(uint64, uint64) bool { return false }, false
	} else {
		pg := c.room(page)
		*pg = now
		c.pages[page] = pg
		c.soften(page)
	}
	blocks, _ := p.cache.ListedIn(page)
	for _, b := range blocks {
		switch {
		case !b.Idle || b.Dead:
		case !all && (b.Pieces || !same(b.App, b.App+uint64(b.AppSize))):
			p.cache.Kill(b)
		case c.asideIn(b):
		default:
			p.cache.Return(b)
		}
	}
	return true
}

// asideIn tells whether a block reaches into a page that is set aside.
func (c *codePages) asideIn(b *codecache.Block) bool {
	return c.aside[b.App&^(pageSize-1)] != nil || c.aside[(b.App+uint64(b.AppSize)-1)&^(pageSize-1)] != nil
}

// readPersonality looks whether what may be read may be executed, too.
func (c *codePages) readPersonality(pid int) {
	const readImpliesExec = 0x400000
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/personality", pid))
	if err != nil {
		return
	}
	v, err := strconv.ParseUint(strings.TrimSpace(string(text)), 16, 32)
	c.readExecutes = err == nil && v&readImpliesExec != 0
}
