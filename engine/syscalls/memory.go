package syscalls

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strings"

	"alleria/engine/appcode"
	"alleria/engine/tracee"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// everything is the end of what a program may map.
const everything = 1 << 47

// Ended looks at what a call with its arguments in regs, which translated code makes by itself, did to the address
// space.
//
// Errors are results above -4096. Shared memory segments (shmat,
// shmdt) come without a length: everything is forgotten.
func (c *Calls) Ended(nr, res uint64, regs *sys.Regs) {
	if nr >= layout.SyscallEntries || c.special[int(nr)] != layout.SyscallNotify && c.special[int(nr)] != layout.SyscallOpens {
		return
	}
	if Failed(res) {
		c.failed(nr, res, regs)
		return
	}
	addr, length, third := regs.Rdi, regs.Rsi, regs.Rdx
	switch nr {
	case tracee.SysMadvise:
		if forgets(third) {
			c.replaced(addr, length)
		}
	case sysPersonality:
		c.code.ReadPersonality()
	case tracee.SysOpen, sysOpenat, sysCreat, sysOpenat2:
		c.opened(nr, res, regs)
	case sysWrite, sysWritev, sysPwritev, sysPwritev2:
		c.wroteFile(addr, 0, everything)
	case sysPwrite64:
		c.wroteFile(addr, regs.R10, res)
	case tracee.SysMmap:
		if third&tracee.ProtWrite != 0 && regs.R10&tracee.MapAnonymous == 0 {
			c.host.Replaced(res, endOf(res, length))
		}
		c.mapped(res, length, third&tracee.ProtExec != 0)
		c.tellMapped(nr, res, regs)
	case sysMremap:
		c.unmapped(addr, length)
		c.mapped(res, third, false)
		c.code.Remapped()
		c.tellMapped(nr, res, regs)
	case tracee.SysBrk: // looked at where somebody wants to know of memory
		c.tellMapped(nr, res, regs)
	case tracee.SysMunmap:
		c.unmapped(addr, length)
	case sysMprotect, sysPkeyProtect:
		if third&tracee.ProtWrite != 0 {
			c.host.Touched(addr, addr+length)
		}
		c.protected(addr, length, third)
	default:
		c.host.ChangedCode()
		c.code.Remapped()
		c.code.Invalidate(0, everything)
		c.tellMapped(nr, res, regs)
	}
}

// Mapped says what a call has mapped.
type Mapped struct {
	How           MappedHow
	Start, End    uint64 // End not included
	Prot          uint32
	From, FromEnd uint64 // MappedMoved: where it was
	By            uint64 // where the function that made the call returns to, or the call itself; 0: not known
}

// MappedHow is what is known of a mapping without asking the kernel.
type MappedHow uint8

// Ways of mapping.
const (
	MappedAnonymous MappedHow = iota // private, without a name
	MappedNamed                      // a file, or shared memory
	MappedMoved                      // by mremap
	MappedBreak                      // End is where the heap ends
	MappedAnything                   // somewhere
)

// WatchMappings has the host told of what calls map, in the cache or where native calls are watched.
func (c *Calls) WatchMappings() {
	if !c.mappings {
		c.mappings = true
		c.special[tracee.SysBrk] = layout.SyscallNotify
		c.setTable(tracee.SysBrk)
	}
}

// tellMapped tells the host what a call of the 64-bit table with its arguments in regs has mapped.
func (c *Calls) tellMapped(nr, res uint64, regs *sys.Regs) {
	if !c.mappings {
		return
	}
	m := Mapped{How: MappedAnything}
	switch nr {
	case tracee.SysMmap:
		m = Mapped{How: MappedNamed, Start: res, End: endOf(res, regs.Rsi), Prot: uint32(regs.Rdx)}
		if regs.R10&tracee.MapAnonymous != 0 && regs.R10&tracee.MapShared == 0 {
			m.How = MappedAnonymous
		}
	case sysMremap:
		m = Mapped{How: MappedMoved, Start: res, End: endOf(res, regs.Rdx), From: regs.Rdi, FromEnd: endOf(regs.Rdi, regs.Rsi)}
	case tracee.SysBrk:
		m = Mapped{How: MappedBreak, End: res}
	}
	if m.How == MappedAnonymous {
		m.By = c.calledFrom(regs)
	}
	c.host.Mapped(m)
}

// calledFrom is the address behind the call of the function that a system call was made in: C libraries' functions for it
// push nothing. Where the stack has none, the call is the program's own.
func (c *Calls) calledFrom(regs *sys.Regs) uint64 {
	var b [8]byte
	if regs.Rsp == 0 {
		return 0
	}
	if _, err := c.mem.ReadAt(b[:], int64(regs.Rsp)); err == nil {
		if ret := binary.LittleEndian.Uint64(b[:]); ret != 0 && c.code.MayExecute(ret-1, ret) && c.callsBefore(ret) {
			return ret
		}
	}
	return regs.Rip
}

// callsBefore tells whether in front of an address may be a call: direct, or by a register or memory.
func (c *Calls) callsBefore(ret uint64) bool {
	const longest = 7
	var code [longest]byte
	if n, _ := c.mem.ReadAt(code[:], int64(ret-longest)); n < longest {
		return false
	}
	if code[longest-5] == 0xe8 {
		return true
	}
	for n := 2; n <= longest; n++ { // ff /2
		if at := longest - n; code[at] == 0xff && code[at+1]>>3&7 == 2 {
			return true
		}
	}
	return false
}

// failed looks at a call that has failed, and may have done so halfway: the pages in front of one that is not there, or must not be
// had so, have changed. A mapping over another one may have taken that away.
func (c *Calls) failed(nr, res uint64, regs *sys.Regs) {
	const einval, mapFixed, mremapFixed = -22, 0x10, 2
	addr, length, third := regs.Rdi, regs.Rsi, regs.Rdx
	if addr < everything {
		length = min(length, everything-addr)
	}
	switch {
	case int64(res) == einval || addr >= everything: // it was not begun
	case nr == sysMprotect || nr == sysPkeyProtect:
		if third&tracee.ProtWrite != 0 {
			c.host.Touched(addr, addr+length)
		}
		c.mapped(addr, length, true)
	case nr == tracee.SysMmap && regs.R10&mapFixed != 0, nr == tracee.SysMunmap:
		c.mapped(addr, length, true)
	case nr == sysMremap && regs.R10&mremapFixed != 0:
		c.mapped(regs.R8, third, true)
	case nr == tracee.SysMadvise && forgets(third):
		c.replaced(addr, length)
	}
}

// ended32 is Ended for a call of the 32-bit table.
func (c *Calls) ended32(tid int, regs *sys.Regs) {
	const low = 1<<32 - 1
	addr, length, prot := regs.Rbx&low, regs.Rcx&low, regs.Rdx
	if Failed(regs.Rax) {
		switch regs.Orig_rax { // they may have failed halfway
		case sys32Mprotect, sys32PkeyMprot, sys32Munmap, sys32Mmap2:
			c.mapped(addr, length, true)
		}
		return
	}
	c.host.ChangedCode() // maybe
	switch regs.Orig_rax {
	case sys32Munmap:
		c.unmapped(addr, length)
	case sys32Mprotect, sys32PkeyMprot:
		if prot&tracee.ProtWrite != 0 {
			c.host.Touched(addr, addr+length)
		}
		c.mapped(addr, length, prot&tracee.ProtExec != 0)
	case sys32Mmap2:
		c.mapped(regs.Rax&low, length, prot&tracee.ProtExec != 0)
		c.tellMapped(otherTable, 0, regs)
	case sys32Mmap, sys32Mremap, sys32IPC, sys32Shmat, sys32Shmdt:
		c.code.Remapped()
		c.code.Invalidate(0, everything)
		c.host.ImagesChanged()
		c.tellMapped(otherTable, 0, regs)
	case sys32Prctl, sys32Seccomp:
		c.Look(tid)
	}
}

// otherTable is no number of the 64-bit table.
const otherTable = ^uint64(0)

// endOf is where a stretch of the address space ends, which begins at a page's start.
func endOf(addr, length uint64) uint64 {
	return addr + (length+appcode.PageSize-1)&^(appcode.PageSize-1)
}

// protected notes that the rights to a stretch of the address space changed.
//
// Compilers change them for each piece of code that they write, mostly without any effect: a page among many that have
// the same rights already. What that does to the mappings is followed, since reading them takes longer than all else.
func (c *Calls) protected(addr, length, prot uint64) {
	end := endOf(addr, length)
	if prot&tracee.ProtExec != 0 || c.code.MayExecute(addr, end) {
		c.host.ChangedCode()
	}
	if !c.code.Followed(addr, end) {
		c.mapped(addr, length, prot&tracee.ProtExec != 0)
		return
	}
	c.host.Lost(addr, end)
	changed, known := c.code.Protect(addr, end, prot)
	if !known {
		c.mapped(addr, length, true)
		return
	}
	for _, s := range changed {
		c.code.SetAside(s[0], s[1])
	}
}

// mapped notes that a stretch of the address space changed.
// Code that is mapped where nothing was translated needs no invalidation.
func (c *Calls) mapped(addr, length uint64, exec bool) {
	end := endOf(addr, length)
	c.host.Lost(addr, end)
	if exec || c.code.MayExecute(addr, end) {
		c.host.ChangedCode()
	}
	if exec || c.code.Overlaps(addr, end) {
		c.code.Remapped()
	}
	if exec {
		c.host.ImagesChanged()
	}
	if c.code.HasCode(addr, end) {
		c.code.Remapped()
		c.code.SetAside(addr, end)
	}
}

// unmapped notes that a stretch of the address space is gone.
func (c *Calls) unmapped(addr, length uint64) {
	c.mapped(addr, length, false)
	c.host.Unmapped(addr, endOf(addr, length))
}

// Code also changes by calls that say nothing of code: advice that drops a private mapping's pages, so that the file's
// come back, and writes to a process's own memory as a file.

const (
	madvDontNeed = 4
	madvFree     = 8
	madvRemove   = 9
)

// forgets tells advice behind which memory may hold something else.
func forgets(advice uint64) bool {
	return advice == madvDontNeed || advice == madvFree || advice == madvRemove
}

// replaced notes that a stretch of memory may hold something else.
func (c *Calls) replaced(addr, length uint64) {
	end := endOf(addr, length)
	c.host.Lost(addr, end)
	if c.code.MayExecute(addr, end) {
		c.host.ChangedCode()
	}
	if c.code.HasCode(addr, end) {
		c.code.Invalidate(addr, end)
	}
}

// opened looks at a file that a call with its arguments in regs has opened as fd: whether it is a process's memory, so that what is written
// to files is looked at from then on, and whether code is mapped of it, or will be, which may change then.
func (c *Calls) opened(nr, fd uint64, regs *sys.Regs) {
	path, flags := regs.Rsi, regs.Rdx
	switch nr {
	case tracee.SysOpen:
		path, flags = regs.Rdi, regs.Rsi
	case sysCreat:
		path, flags = regs.Rdi, uint64(os.O_WRONLY)
	case sysOpenat2: // its flags are in memory, where they may be others by now
		flags = uint64(os.O_RDWR)
	}
	if flags&uint64(os.O_WRONLY|os.O_RDWR) != 0 {
		c.openedToWrite(fd)
	}
	var b [32]byte
	n, _ := c.mem.ReadAt(b[:], int64(path))
	text, _, _ := bytes.Cut(b[:n], []byte{0})
	if !bytes.HasPrefix(text, []byte("/proc/")) || !bytes.HasSuffix(text, []byte("/mem")) {
		return
	}
	c.writes.always = true
	c.tellWrites(true)
}

// writes is which of the files that the process writes are looked at.
type writes struct {
	always bool // all: it has had a process's memory open
	left   int  // so many
}

// mostLooks is how many written files are looked at behind native code.
const mostLooks = 64

// LookAtWrites has the files looked at that the process writes next: what it has opened natively nobody has seen. It takes some 10 µs for each of the first mostLooks writes.
//
// Refused: a look at all of its descriptors whenever it comes from native code, 77 µs to list them and 8 for each; looks without an end, which a program that writes much pays for.
func (c *Calls) LookAtWrites() {
	w := &c.writes
	if w.always {
		return
	}
	if w.left == 0 {
		c.tellWrites(true)
	}
	w.left = mostLooks
}

// tellWrites has code tell of calls that write files, or no longer.
func (c *Calls) tellWrites(on bool) {
	for _, nr := range []uint32{sysWrite, sysPwrite64, sysWritev, sysPwritev, sysPwritev2} {
		if on {
			c.special[int(nr)] = layout.SyscallNotify
		} else {
			delete(c.special, int(nr))
		}
		c.setTable(nr)
	}
}

// openedToWrite says that the file of a descriptor may be written from now on.
func (c *Calls) openedToWrite(fd uint64) {
	inode, ok := sys.RegularFile(fmt.Sprintf("/proc/%d/fd/%d", c.pid, fd))
	if !ok {
		return
	}
	for _, where := range c.code.OpenedToWrite(inode) {
		c.host.Lost(where[0], where[1])
		c.host.ChangedCode()
	}
}

// wroteFile notes what was written to a descriptor, if that is a process's memory: code that lies there is forgotten.
func (c *Calls) wroteFile(fd, at, n uint64) {
	w := &c.writes
	file, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", c.pid, fd))
	if err == nil && strings.HasPrefix(file, "/proc/") && strings.HasSuffix(file, "/mem") {
		w.always = true
		c.replaced(at, n)
	}
	if w.always {
		return
	}
	c.openedToWrite(fd) // natively, or before
	if w.left--; w.left == 0 {
		c.tellWrites(false)
	}
}
