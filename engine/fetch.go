package engine

import (
	"errors"
	"sort"
	"strings"

	"alleria/internal/sys"
)

const pageSize = 4096

// maxCodePages is how many pages of code are kept as they were read. Reading one
// again costs some microseconds; a compiler's code is tens of megabytes.
const maxCodePages = 512

// codePages caches the application's code as it was read from the target.
// Its pages are those that blocks were translated from: hasCode goes by them.
type codePages struct {
	// pages are those that code was ever read from; nil once others took their
	// place. kept lists the others, oldest from oldest on.
	pages  map[uint64]*[pageSize]byte
	kept   []uint64
	oldest int
	maps   []sys.Mapping // executable ones, sorted, and those that were until mprotect; see protect
	valid  bool
	near   int // of maps, the one that was looked for last
	// buf is for code that lies in two pages. last is the page that was used last, at lastAddr; nil for none that keeps.
	buf      [2 * pageSize]byte
	last     *[pageSize]byte
	lastAddr uint64
	ran      ran                 // since translations were compared with it last; see checkCode
	soft     map[uint64]struct{} // of pages, those that lie in no file and do not change unnoticed; see checkCode
	// PROT_READ gives the right to execute, too (READ_IMPLIES_EXEC)
	readExecutes bool
	aside        map[uint64]*[pageSize]byte // pages whose translations are out of use, as they were; see setAside
}

// fetch reads up to n bytes of code at addr; fewer where executable memory
// ends. The result is valid until the next fetch.
//
// Breakpoints of ours do not show: the bytes are the original ones.
func (p *Process) fetch(addr uint64, n int) []byte {
	c := &p.code
	if off := int(addr & (pageSize - 1)); off+n <= pageSize {
		if page := p.page(addr - uint64(off)); page != nil {
			return page[off : off+n]
		}
		return nil
	}
	// page by page, up to the first that may not be executed
	k := 0
	for k < n {
		at := addr + uint64(k)
		page := p.page(at &^ (pageSize - 1))
		if page == nil {
			break
		}
		off := int(at & (pageSize - 1))
		k += copy(c.buf[k:n], page[off:])
	}
	return c.buf[:k]
}

// page returns a page of code, nil if it is not executable or not readable.
// Pages that may change unnoticed are read anew each time.
func (p *Process) page(addr uint64) *[pageSize]byte {
	c := &p.code
	if c.last != nil && c.lastAddr == addr && c.valid {
		return c.last
	}
	c.last = nil
	p.putBack(addr)
	pg, changing := c.pages[addr], p.changing(addr)
	if pg != nil && !changing {
		c.last, c.lastAddr = pg, addr
		return pg
	}
	if !p.executable(addr) {
		return nil
	}
	if pg == nil {
		pg = c.room(addr)
	}
	if _, err := p.mem.ReadAt(pg[:], int64(addr)); err != nil {
		return nil
	}
	p.points.Unprobed(pg[:], addr)
	c.pages[addr] = pg
	delete(c.soft, addr)
	if !changing {
		c.last, c.lastAddr = pg, addr
		c.soften(addr)
	}
	return pg
}

// soften notes that a page which does not change unnoticed lies in no file.
func (c *codePages) soften(page uint64) {
	if m := c.mapping(page); m != nil && !inFile(m) {
		if c.soft == nil {
			c.soft = make(map[uint64]struct{})
		}
		c.soft[page] = struct{}{}
	}
}

// room returns memory for one more page: new, or that of the page that was kept
// longest.
func (c *codePages) room(addr uint64) *[pageSize]byte {
	if c.pages == nil {
		c.pages = make(map[uint64]*[pageSize]byte)
	}
	c.last = nil // it may be what is given out again
	if len(c.kept) < maxCodePages {
		c.kept = append(c.kept, addr)
		return new([pageSize]byte)
	}
	old := c.kept[c.oldest]
	c.kept[c.oldest] = addr
	c.oldest = (c.oldest + 1) % maxCodePages
	pg := c.pages[old]
	if pg == nil { // invalidated since
		return new([pageSize]byte)
	}
	c.pages[old] = nil
	return pg
}

// reread forgets what was read of a mapping: natively it may have been replaced by
// another without a word. Which pages blocks were translated from stays known.
func (c *codePages) reread(m *sys.Mapping) {
	c.last = nil
	for pg := range c.pages {
		if pg >= m.Start && pg < m.End {
			c.pages[pg] = nil
		}
	}
}

// executable tells whether the application may execute at addr.
func (p *Process) executable(addr uint64) bool {
	c := &p.code
	if !c.valid {
		p.readMaps()
	}
	return c.mapping(addr) != nil
}

// mapping returns the executable mapping that holds addr, nil if none does.
func (c *codePages) mapping(addr uint64) *sys.Mapping {
	if c.near < len(c.maps) {
		if m := &c.maps[c.near]; m.Start <= addr && addr < m.End && m.Exec() {
			return m
		}
	}
	i := sort.Search(len(c.maps), func(i int) bool { return c.maps[i].End > addr })
	if i == len(c.maps) || c.maps[i].Start > addr {
		return nil
	}
	c.near = i
	if !c.maps[i].Exec() {
		return nil
	}
	return &c.maps[i]
}

// overlaps tells whether mappings that have been read lie within [start, end).
func (c *codePages) overlaps(start, end uint64) bool {
	i := sort.Search(len(c.maps), func(i int) bool { return c.maps[i].End > start })
	return i < len(c.maps) && c.maps[i].Start < end
}

// inFiles tells whether one of them is of a file that keeps it.
func (c *codePages) inFiles(start, end uint64) bool {
	i := sort.Search(len(c.maps), func(i int) bool { return c.maps[i].End > start })
	for ; i < len(c.maps) && c.maps[i].Start < end; i++ {
		if inFile(&c.maps[i]) {
			return true
		}
	}
	return false
}

// protect notes what mprotect has made of [start, end), and returns the stretches whose rights have changed. known is false
// where the mappings have to be read: what becomes executable is none that has been read.
func (c *codePages) protect(start, end, prot uint64) (changed [][2]uint64, known bool) {
	c.near, c.last = 0, nil
	text := []byte("---")
	for i, bit := range []uint64{protRead, protWrite, protExec} {
		if prot&bit != 0 {
			text[i] = "rwx"[i]
		}
	}
	var out []sys.Mapping
	covered := start
	add := func(m sys.Mapping, from, to uint64, prot string) {
		if from >= to {
			return
		}
		if m.Inode != 0 {
			m.Offset += from - m.Start
		}
		m.Start, m.End, m.Prot = from, to, prot
		if k := len(out) - 1; k >= 0 && out[k].End == from && out[k].Prot == prot && out[k].Path == m.Path && out[k].Inode == m.Inode &&
			(m.Inode == 0 || out[k].Offset+out[k].End-out[k].Start == m.Offset) {
			out[k].End = to
			return
		}
		out = append(out, m)
	}
	for _, m := range c.maps {
		if m.End <= start || m.Start >= end || len(m.Prot) < 4 {
			add(m, m.Start, m.End, m.Prot)
			continue
		}
		from, to, now := max(m.Start, start), min(m.End, end), string(text)+m.Prot[3:]
		if from == covered {
			covered = to
		}
		if now != m.Prot {
			changed = append(changed, [2]uint64{from, to})
		}
		add(m, m.Start, from, m.Prot)
		add(m, from, to, now)
		add(m, to, m.End, m.Prot)
	}
	c.maps = out
	return changed, covered >= end || prot&protExec == 0
}

// readMaps reads where the application's executable memory is.
//
// It is done when something has changed and code is wanted, not at each change: dynamic
// linkers map and protect dozens of times before anything executes.
func (p *Process) readMaps() {
	c := &p.code
	c.maps = c.maps[:0]
	c.valid = true
	maps, err := sys.Maps(p.pid)
	if err != nil {
		return
	}
	for _, m := range maps {
		if m.Exec() && !p.ours(m.Start) && m.Path != "[vsyscall]" {
			c.maps = append(c.maps, m)
		}
	}
	p.written.NoteImages(p.pid, p.code.maps)
	p.takeImages()
}

// ours tells whether an address belongs to the mappings that the tracer made.
func (p *Process) ours(addr uint64) bool {
	if p.shm.Holds(addr) {
		return true
	}
	for _, a := range p.cache.Regions {
		if a.Contains(addr) {
			return true
		}
	}
	return p.points.HoldsArea(addr)
}

// changing tells whether the code at addr may change unnoticed.
func (p *Process) changing(addr uint64) bool {
	if !p.executable(addr) {
		return false
	}
	m := p.code.mapping(addr)
	return m != nil && (m.Writable() || m.Shared() || strings.HasSuffix(m.Path, deleted))
}

// errUnmapped says that a program has unmapped memory of ours, as some do with all that they do not know.
var errUnmapped = errors.New("the program has unmapped memory that tracing needs (it can be recorded up to there, with a window that closes before)")

// lostOurs tells a fault of ours at memory of ours that is not mapped any more. A program's own wild pointer finds
// something there, which it may not use.
func (p *Process) lostOurs(h *heldSignal) bool {
	const notMapped = 1 // SEGV_MAPERR
	return h.sig == sigSegv && h.info.Code() == notMapped && p.ours(h.info.Addr())
}
