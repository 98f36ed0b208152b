package engine

import (
	"slices"
	"strings"

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
	before := slices.Clone(c.maps)
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
	p.unprobed(now[:], addr)
	return now == *page
}
