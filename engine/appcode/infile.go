package appcode

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"alleria/internal/sys"
)

// Code in files changes natively in two ways. A page is written (the program takes the right to, or writes its memory as a file): then it is a copy in the process's own memory
// from there on, which the kernel tells. Or the file is written, which shows where a page is no copy: then its time has changed. So of files' code nothing is kept but the sums
// of pages that were copies when translations were made from them. Of all others the translations were made from what the file has.
//
// Where many pages were translated from, which are copies is not asked if the process had no page fault while it ran natively (--engine no-fault-count): a page becomes a copy by
// one, or by a write of ours, which is known. What other processes write into its memory is seen behind the next fault.
//
// Refused: asking for copies by PAGEMAP_SCAN, which takes as long (17 to 24 ns a page, since the kernel looks at what each page is of), or by soft-dirty bits, a tenth of that, which
// few kernels have; the paths of files instead of files held open, 3 µs each instead of 0.3.

const (
	// mostFiles is how many files are held open, one question each.
	mostFiles = 32
	// nearPages is how far stretches lie apart that one question is for: it costs as much as that many pages of its answer.
	nearPages = 36
	// fewPages is how many pages, and questions in pages, cost less than the question for faults.
	fewPages = 4 * nearPages
	// mostNew is how many pages are noted by themselves.
	mostNew = 256
	// settled is how old a file's time has to be for the next write to give it another: the kernel's clock for files ticks 100 times a second or more.
	settled = 50 * time.Millisecond
)

// heldPages are pages that are compared.
type heldPages struct {
	unseen bool              // the process has run natively
	held   map[uint64]uint64 // the sums of what they were when blocks were translated from them
	seed   maphash.Seed
}

// inFiles is what is known of code in files, once the process has run natively.
type inFiles struct {
	heldPages
	noted bool // so are the files of all pages
	// stretches are where the pages of files lie that blocks were translated from, and some between them, but for new ones; old: others may be missing
	stretches []Stretch
	new       []uint64
	old       bool
	files     []file
	kernel    *sys.Copies
	faults    uint64 // when copies were looked for last, or the process left the cache; 0: not known
	always    bool   // they are looked for whether there were faults or not
	found     []uint64
	page      [2][PageSize]byte
}

// file is one that code is mapped of.
type file struct {
	path  string
	inode uint64
	f     *os.File // nil: another one lies at its path, or it cannot be read
	state sys.FileState
	young bool // it may be written without that its time changes
}

// IgnoreFaults has pages be looked at as if there always were page faults.
func (c *Pages) IgnoreFaults() { c.files.always = true }

// Close closes the files that are held open.
func (c *Pages) Close() {
	c.files.kernel.Close()
	for _, f := range c.files.files {
		f.f.Close()
	}
	c.files.files, c.files.kernel = nil, nil
}

// keepsFile tells a mapping that shows a file, or copies of its pages.
func (c *Pages) keepsFile(m *sys.Mapping) bool {
	return m != nil && m.Path != "" && m.Path[0] == '/' && c.inFile(m) && !m.Writable() && !m.Shared()
}

// more notes that blocks are translated from a page that they were not before.
func (c *Pages) more(page uint64) {
	s := &c.files
	s.noted = false
	if s.old {
		return
	}
	if len(s.new) == mostNew {
		s.new, s.old = s.new[:0], true
		return
	}
	s.new = append(s.new, page)
}

// noteFiles notes what code in files is now, before it is out of sight.
func (c *Pages) noteFiles() {
	s := &c.files
	if s.noted {
		return
	}
	if len(c.pages) == 0 { // as of most that start natively
		s.unseen = true
		return
	}
	s.open(c.pid)
	s.noted = true
	c.stretch()
	for i := range c.maps {
		m := &c.maps[i]
		if !c.keepsFile(m) || !s.reaches(m) {
			continue
		}
		f := s.file(m)
		if f == nil {
			f = s.add(c.pid, m)
		}
		if !f.young {
			continue
		}
		for page := range c.pages {
			if page >= m.Start && page < m.End {
				c.hold(page)
			}
		}
	}
	if !s.unseen {
		s.unseen = true
		_, _ = c.mem.Written()
		for _, page := range c.copies() {
			c.hold(page)
		}
	}
}

// open opens what the kernel is asked by.
func (s *inFiles) open(pid int) {
	if s.kernel == nil {
		s.kernel = sys.OpenCopies(pid)
	}
	if s.held == nil {
		s.held, s.seed = make(map[uint64]uint64), maphash.MakeSeed()
	}
}

// hold has a page that was translated from be compared.
func (c *Pages) hold(page uint64) {
	pg, ok := c.pages[page]
	if _, held := c.files.held[page]; !ok || held {
		return
	}
	if pg == nil {
		if pg = &c.files.page[0]; !c.readPage(pg, page) {
			return
		}
	}
	c.files.held[page] = maphash.Bytes(c.files.seed, pg[:])
}

// readPage reads a page of code without breakpoints of ours.
func (c *Pages) readPage(b *[PageSize]byte, page uint64) bool {
	if _, err := c.mem.ReadAt(b[:], int64(page)); err != nil {
		return false
	}
	c.host.Unprobed(b[:], page)
	return true
}

// reaches tells whether something may have been translated from a mapping.
func (s *inFiles) reaches(m *sys.Mapping) bool {
	return slices.ContainsFunc(s.stretches, func(st Stretch) bool { return st.Start < m.End && m.Start < st.End })
}

// stretch looks where the pages of files lie.
func (c *Pages) stretch() {
	s := &c.files
	if s.old {
		s.old = false
		s.stretches, s.new = s.stretches[:0], slices.AppendSeq(s.new[:0], maps.Keys(c.pages))
	}
	if len(s.new) == 0 {
		return
	}
	slices.Sort(s.new)
	for _, page := range s.new {
		if c.keepsFile(c.Mapping(page)) {
			s.stretches = append(s.stretches, Stretch{page, page + PageSize})
		}
	}
	s.new = s.new[:0]
	slices.SortFunc(s.stretches, func(a, b Stretch) int { return cmp.Compare(a.Start, b.Start) })
	n := 0
	for _, st := range s.stretches {
		if n > 0 && st.Start <= s.stretches[n-1].End+nearPages*PageSize {
			s.stretches[n-1].End = max(s.stretches[n-1].End, st.End)
			continue
		}
		s.stretches[n] = st
		n++
	}
	s.stretches = s.stretches[:n]
}

// copies are the pages that blocks were translated from and that are no longer their files'. The result is valid until the next.
func (c *Pages) copies() []uint64 {
	s := &c.files
	s.found = s.found[:0]
	for _, st := range s.stretches {
		s.found = s.kernel.In(st.Start, st.End, s.found)
	}
	return s.found
}

// file is the one that is mapped, nil if it is not known.
func (s *inFiles) file(m *sys.Mapping) *file {
	for i := range s.files {
		if f := &s.files[i]; f.inode == m.Inode && f.path == m.Path {
			return f
		}
	}
	return nil
}

// add notes a file as the process sees it.
func (s *inFiles) add(pid int, m *sys.Mapping) *file {
	f := file{path: m.Path, inode: m.Inode}
	if len(s.files) < mostFiles {
		if opened, err := sys.OpenPlain(fmt.Sprintf("/proc/%d/root%s", pid, m.Path), os.O_RDONLY, 0); err == nil {
			if f.state, err = sys.StateOf(opened); err == nil && f.state.Inode == m.Inode {
				f.f = opened
				f.look()
			} else {
				opened.Close()
			}
		}
	}
	s.files = append(s.files, f)
	return &s.files[len(s.files)-1]
}

// look notes whether the file has just been written.
func (f *file) look() {
	f.young = !time.Unix(f.state.Ctime.Sec, f.state.Ctime.Nsec).Before(time.Now().Add(-settled))
}

// changed tells whether the file has been written since it was noted.
func (f *file) changed() bool {
	if f.f == nil {
		return false
	}
	state, err := sys.StateOf(f.f)
	if err != nil {
		return false
	}
	before := f.state
	if f.state = state; state != before || f.young {
		f.look()
	}
	return state != before
}

// read reads what the file has where a page lies. Behind its end there are zeros.
func (f *file) read(b *[PageSize]byte, m *sys.Mapping, page uint64) bool {
	n, err := f.f.ReadAt(b[:], int64(page-m.Start+m.Offset))
	clear(b[n:])
	return err == nil || err == io.EOF
}

// patched appends to gone the pages of files' code that do not hold any more what blocks were translated from.
func (c *Pages) patched(gone []uint64) []uint64 {
	s := &c.files
	if !s.unseen {
		return gone
	}
	c.noteFiles() // of what was just taken over
	for i := range s.files {
		if f := &s.files[i]; f.changed() {
			gone = c.pagesOf(f, gone)
		}
	}
	for page, sum := range s.held {
		if _, ok := c.pages[page]; !ok {
			delete(s.held, page)
		} else if b := &s.page[0]; !c.readPage(b, page) || maphash.Bytes(s.seed, b[:]) != sum {
			gone = append(gone, page)
		}
	}
	found, all := c.mem.Written()
	looks := !c.unfaulted() || all
	if looks {
		found = c.copies()
	}
	for _, page := range found {
		if _, held := s.held[page]; held {
			continue
		}
		if _, ok := c.pages[page]; ok && !c.holdFile(page) {
			gone = append(gone, page)
		}
	}
	for page := range s.held { // the file's again, with the same bytes
		if _, ok := slices.BinarySearch(found, page); looks && !ok && !s.youngAt(c.Mapping(page)) {
			delete(s.held, page)
		}
	}
	return gone
}

// youngAt tells whether a mapping's file may be written without that its time changes.
func (s *inFiles) youngAt(m *sys.Mapping) bool {
	if m == nil {
		return false
	}
	f := s.file(m)
	return f != nil && f.young
}

// pagesOf appends the pages of a file that are not compared by their sums.
func (c *Pages) pagesOf(f *file, pages []uint64) []uint64 {
	for page := range c.pages {
		if _, held := c.files.held[page]; held {
			continue
		}
		if m := c.Mapping(page); c.keepsFile(m) && m.Inode == f.inode && m.Path == f.path {
			pages = append(pages, page)
		}
	}
	return pages
}

// holdFile tells whether a page that has become a copy has what its file does, as with a breakpoint of ours, and has it compared from now on.
func (c *Pages) holdFile(page uint64) bool {
	m := c.Mapping(page)
	if !c.keepsFile(m) {
		return true // of something else
	}
	f, now, was := c.files.file(m), &c.files.page[0], &c.files.page[1]
	if f == nil || f.f == nil || !f.read(was, m, page) || !c.readPage(now, page) || *now != *was {
		return false
	}
	c.files.held[page] = maphash.Bytes(c.files.seed, now[:])
	return true
}

// unfaulted tells whether no page can have become a copy since that was looked for last, or since the process has left the cache.
func (c *Pages) unfaulted() bool {
	before := c.files.faults
	c.countFaults()
	return before != 0 && c.files.faults == before
}

// countFaults notes how many page faults the process has had; 0 where it costs less to look at the pages.
func (c *Pages) countFaults() {
	s := &c.files
	cost := nearPages * len(s.stretches)
	for _, st := range s.stretches {
		cost += int((st.End - st.Start) / PageSize)
	}
	s.faults = 0
	if !s.always && cost > fewPages {
		s.faults, _ = s.kernel.Faults()
	}
}

// fetched notes whether a page of a file that was read for the first time is a copy.
func (c *Pages) fetched(page uint64, pg *[PageSize]byte) {
	s := &c.files
	if c.more(page); !s.unseen || !c.keepsFile(c.Mapping(page)) {
		return
	}
	s.open(c.pid)
	delete(s.held, page)
	if s.found = s.kernel.In(page, page+PageSize, s.found[:0]); len(s.found) > 0 {
		s.held[page] = maphash.Bytes(s.seed, pg[:])
	}
}

// dropFiles closes the files that no code is mapped of any more, and looks anew where pages lie.
func (c *Pages) dropFiles() {
	c.files.files = slices.DeleteFunc(c.files.files, func(f file) bool {
		if slices.ContainsFunc(c.maps, func(m sys.Mapping) bool { return m.Inode == f.inode && m.Path == f.path }) {
			return false
		}
		f.f.Close()
		return true
	})
	c.files.old, c.files.noted = true, false // of those that are, another one may have the same name
}

// inherit takes over what is known of a creator's.
func (s *inFiles) inherit(h heldPages) {
	h.unseen = h.unseen || s.unseen
	s.heldPages = h
	s.old, s.noted = true, false
}
