package appcode

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"alleria/engine/x86"
	"alleria/internal/sys"
)

// Executable tells whether the application may execute at addr.
func (c *Pages) Executable(addr uint64) bool {
	if !c.valid {
		c.readMaps()
	}
	return c.Mapping(addr) != nil
}

// Mapping returns the executable mapping that holds addr, nil if none does.
func (c *Pages) Mapping(addr uint64) *sys.Mapping {
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

// Overlaps tells whether mappings that have been read lie within [start, end).
func (c *Pages) Overlaps(start, end uint64) bool {
	i := sort.Search(len(c.maps), func(i int) bool { return c.maps[i].End > start })
	return i < len(c.maps) && c.maps[i].Start < end
}

// inFiles tells whether one of them is of a file that keeps it.
func (c *Pages) inFiles(start, end uint64) bool {
	i := sort.Search(len(c.maps), func(i int) bool { return c.maps[i].End > start })
	for ; i < len(c.maps) && c.maps[i].Start < end; i++ {
		if c.inFile(&c.maps[i]) {
			return true
		}
	}
	return false
}

// The rights to memory, as mprotect takes them.
const rightRead, rightWrite, rightExec = 1, 2, 4

// Protect notes what mprotect has made of [start, end), and returns the stretches whose rights have changed. known is false
// where the mappings have to be read: what becomes executable is none that has been read.
func (c *Pages) Protect(start, end, prot uint64) (changed [][2]uint64, known bool) {
	c.near, c.last = 0, nil
	text := []byte("---")
	for i, bit := range []uint64{rightRead, rightWrite, rightExec} {
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
	return changed, covered >= end || prot&rightExec == 0
}

// readMaps reads where the application's executable memory is.
//
// It is done when something has changed and code is wanted, not at each change: dynamic
// linkers map and protect dozens of times before anything executes.
func (c *Pages) readMaps() {
	c.keepMapped()
	c.maps = c.maps[:0]
	c.valid = true
	maps, err := sys.CodeMaps(c.pid)
	if err != nil {
		return
	}
	for _, m := range c.asAsked(maps) {
		if !c.host.Ours(m.Start) {
			c.maps = append(c.maps, m)
		}
	}
	c.host.Mapped(c.maps)
}

// Changing tells whether the code at addr may change unnoticed, as things are: see Guard.
func (c *Pages) Changing(addr uint64) bool { return c.MayChange(addr) && !c.Guarded(addr) }

// MayChange tells whether the code at addr may change without a system call.
func (c *Pages) MayChange(addr uint64) bool {
	if !c.Executable(addr) {
		return false
	}
	m := c.Mapping(addr)
	return m != nil && (m.Writable() || m.Shared() || strings.HasSuffix(m.Path, deleted) || c.mayWrite(m))
}

// inFile tells a mapping whose contents are a file's, which keeps its name and its contents: code there changes with the mapping.
func (c *Pages) inFile(m *sys.Mapping) bool {
	return m.Path == "[vdso]" || strings.HasPrefix(m.Path, "/") && !strings.HasSuffix(m.Path, deleted) && !c.mayWrite(m)
}

// sameCode tells whether two executable mappings are one.
func sameCode(a, b sys.Mapping) bool {
	return a.Start == b.Start && a.End == b.End && a.Prot == b.Prot && a.Offset == b.Offset && a.Inode == b.Inode && a.Path == b.Path
}

// Made tells code that a program has made, or may change: it lies in no file that keeps it.
func (c *Pages) Made(addr uint64) bool {
	if c.noAside || !c.Executable(addr) {
		return false
	}
	m := c.Mapping(addr)
	return m != nil && (!c.inFile(m) || m.Writable() || m.Shared())
}

// ReadPersonality looks whether what may be read may be executed, too.
func (c *Pages) ReadPersonality() {
	const readImpliesExec = 0x400000
	text, err := sys.ReadProc(fmt.Sprintf("/proc/%d/personality", c.pid))
	if err != nil {
		return
	}
	v, err := strconv.ParseUint(strings.TrimSpace(string(text)), 16, 32)
	c.readExecutes = err == nil && v&readImpliesExec != 0
}

// deleted is what the kernel appends to the path of a file that has no name any more, or never had one. Code does not
// stay in such files by itself: a program has made it, and may write it by another mapping or the file's descriptor,
// which a private mapping shows as well.
const deleted = " (deleted)"

// Changes tells whether any of the instructions, which follow each other, may change unnoticed. What does is watched, to be guarded once it is quiet.
func (c *Pages) Changes(ins []x86.Insn) bool {
	first, last := ins[0].Addr, ins[len(ins)-1].Next()-1
	changes := c.Changing(first)
	for at := first&^(PageSize-1) + PageSize; at <= last && !changes; at += PageSize {
		changes = c.Changing(at)
	}
	if changes {
		c.watch(first, last)
	}
	return changes
}

// Know reads the mappings if they may have changed since; known tells whether they have not.
func (c *Pages) Know() {
	if !c.valid {
		c.readMaps()
	}
}

func (c *Pages) Known() bool { return c.valid }

// Remapped says that the mappings may have changed.
func (c *Pages) Remapped() { c.valid = false }

// Lowest is where the first of them begins.
func (c *Pages) Lowest() uint64 { return c.maps[0].Start } // they are sorted

// MayExecute tells whether some of [start, end) may be executable.
func (c *Pages) MayExecute(start, end uint64) bool { return !c.valid || c.Overlaps(start, end) }

// Followed tells whether what changes the rights to [start, end) can be followed by protect.
func (c *Pages) Followed(start, end uint64) bool {
	return c.valid && !c.readExecutes && !c.inFiles(start, end)
}

// Maps are the executable mappings as they were read last, and those that were executable until mprotect.
func (c *Pages) Maps() []sys.Mapping { return c.maps }
