package appcode

import (
	"maps"

	"alleria/internal/sys"
)

// Code in a named file stays as it is while it is mapped, unless the file is written; a private mapping shows what is written to its file. A program that
// is about to do so has opened it: from then on its code there may change unnoticed, and compares itself.
//
// Not known are files that were opened natively, before an execve, or by others.

// mostOpened is how many files are remembered that a process has opened to write, besides those that code is mapped of.
const mostOpened = 1024

// opened are files that a process may write.
type opened struct {
	inodes map[uint64]struct{}
}

// clone is a copy.
func (o opened) clone() opened { return opened{maps.Clone(o.inodes)} }

// mayWrite tells whether a mapping is of one. The inode's number alone decides: another file system's file of the same number compares its code in vain.
func (o opened) mayWrite(m *sys.Mapping) bool {
	_, ok := o.inodes[m.Inode]
	return ok && m.Inode != 0
}

// OpenedToWrite notes that the process may write a file from now on, and forgets translations of it. It returns where code of it is mapped that was taken to stay as it is.
func (c *Pages) OpenedToWrite(inode uint64) (where [][2]uint64) {
	if _, ok := c.inodes[inode]; ok {
		return nil
	}
	where = c.mappedOf(inode)
	for _, w := range where { // before it is noted: blocks of files are looked for in another way
		c.Invalidate(w[0], w[1])
	}
	if len(c.inodes) >= mostOpened {
		maps.DeleteFunc(c.inodes, func(inode uint64, _ struct{}) bool { return len(c.mappedOf(inode)) == 0 })
	}
	if c.inodes == nil {
		c.inodes = make(map[uint64]struct{})
	}
	c.inodes[inode] = struct{}{}
	c.last = nil
	return where
}

// mappedOf is where code of a file is mapped.
func (c *Pages) mappedOf(inode uint64) (where [][2]uint64) {
	for i := range c.maps {
		if m := &c.maps[i]; m.Inode == inode && m.Exec() {
			where = append(where, [2]uint64{m.Start, m.End})
		}
	}
	return where
}
