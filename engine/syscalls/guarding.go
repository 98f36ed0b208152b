package syscalls

import (
	"bytes"
	"encoding/binary"
	"syscall"

	"alleria/engine/appcode"
	"alleria/engine/tracee"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// The kernel writes to memory for a program, by the rights that the program has: a read into a guarded page (appcode) would fail that natively does
// not. A call that has failed cannot be made again: what was read from a terminal, or taken from a socket, is lost by then. So translated code asks
// before each call that may write memory while pages are guarded, and those that it may write to are given back first. So are those that a
// call does something to: what it finds are the rights that the program knows of.
//
// Such a call costs a request, some microseconds. Translated code makes it without one where no argument points to guarded pages (layout.SyscallReach):
// 300,000 reads of a Java program took three times what they take without guards before. What a call may write is taken to lie where any of its arguments points to, for as far
// as the argument behind says; pages are given back in vain where that is no length. Not seen are pointers within what an ioctl's argument points
// to, arrays of more than layout.GuardMargin bytes whose length is told in elements, and lengths of two gigabytes and more, of which no call fills as much.

// Guard has translated code ask before calls that may write memory, or no longer.
func (c *Calls) Guard(on bool) {
	if c.guarding == on && !c.reach {
		return
	}
	c.guarding, c.reach = on, false
	c.handlers.changes++ // until now alternate stacks have changed unseen
	for nr := range uint32(callNumbers) {
		c.setTable(nr)
	}
}

// GuardWithin has it ask before those calls alone that get at what lies in [start, end), where the guarded pages are. No thread may be on its way to a
// call that it has looked at by other bounds.
func (c *Calls) GuardWithin(start, end uint64) {
	below := layout.GuardMargin - start
	c.shm.Ctl.U64(layout.GuardBelow).Store(below)
	c.shm.Ctl.U64(layout.GuardSpan).Store(end + below)
	c.guarding, c.reach = true, true
	for nr := range uint32(callNumbers) {
		c.setTable(nr)
	}
}

// byArguments tells calls that write nowhere but where an argument points to, and that have nothing else to do with guarded pages.
func byArguments(nr uint32) bool {
	switch nr {
	case sysSeccomp, sysShmat, sysShmdt, sysFork, syscall.SYS_REMAP_FILE_PAGES, sysIOSetup, sysIOUringSetup, sysRecvmmsg, sysProcessReadv, sysProcessWritev, sysVmsplice,
		sysSigaction, sysSigaltstack, Prctl, Clone, Clone3, sysMremap, sysReadv, sysPreadv, sysPreadv2, sysRecvmsg, syscall.SYS_MOVE_PAGES:
		return false
	}
	return true
}

// callNumbers is more than any call's number.
const callNumbers = 1024

// Unguarded tells whether the kernel may write to the process's memory while no call is being made.
func (c *Calls) Unguarded() bool { return c.unguarded }

// NoteWriter notes a call that code asks for, if the kernel writes by itself behind it: also where nothing is guarded yet.
func (c *Calls) NoteWriter(nr uint64) {
	if nr := uint32(nr); nr == sysIOSetup || nr == sysIOUringSetup {
		c.unguarded = true
	}
}

// LookForWriters notes whether the process has what the kernel writes by itself for: it may have asked for that natively, where its calls are not seen.
func (c *Calls) LookForWriters() error {
	text, err := sys.ReadMaps(c.pid)
	if err != nil {
		return err
	}
	for _, file := range []string{"anon_inode:[io_uring]", "/[aio]"} {
		c.unguarded = c.unguarded || bytes.Contains(text, []byte(file))
	}
	return nil
}

// mayWrite tells calls that may write to memory of the program's, or change what is mapped. Those on futexes only read, but for locks that
// pass a thread's priority on: these are given up for all others.
func mayWrite(nr uint32) bool {
	switch nr {
	case sysWrite, sysPwrite64, sysWritev, sysPwritev, sysPwritev2, // to a process's memory as a file: see wroteFile
		syscall.SYS_CLOSE, syscall.SYS_LSEEK, syscall.SYS_SCHED_YIELD, syscall.SYS_DUP, syscall.SYS_DUP2, syscall.SYS_DUP3, syscall.SYS_GETPID, syscall.SYS_GETPPID, syscall.SYS_GETTID,
		syscall.SYS_CONNECT, syscall.SYS_SENDTO, syscall.SYS_SENDMSG, syscall.SYS_SHUTDOWN, syscall.SYS_BIND, syscall.SYS_LISTEN, syscall.SYS_SETSOCKOPT,
		syscall.SYS_KILL, syscall.SYS_TKILL, syscall.SYS_TGKILL, syscall.SYS_FUTEX, syscall.SYS_EPOLL_CTL, syscall.SYS_EVENTFD2,
		syscall.SYS_FSYNC, syscall.SYS_FDATASYNC, syscall.SYS_FTRUNCATE, syscall.SYS_ACCESS, syscall.SYS_UNLINK, syscall.SYS_MKDIR, syscall.SYS_RMDIR, syscall.SYS_CHDIR, syscall.SYS_RENAME,
		syscall.SYS_GETUID, syscall.SYS_GETEUID, syscall.SYS_GETGID, syscall.SYS_GETEGID, sysExit, sysExitGroup, Sigreturn:
		return false
	}
	return nr < callNumbers
}

// Reached is what a call may write to or change of what is guarded, and whether it is writing; nothing where it may be made as things are. regs has its arguments.
func (c *Calls) Reached(nr uint64, regs *sys.Regs, guarded func(start, end uint64) []appcode.Stretch) (pages []appcode.Stretch, written bool) {
	if nr >= callNumbers || !mayWrite(uint32(nr)) {
		return nil, false
	}
	args := [7]uint64{regs.Rdi, regs.Rsi, regs.Rdx, regs.R10, regs.R8, regs.R9}
	r := reach{c, guarded, nil}
	switch nr {
	case sysSeccomp, sysShmat, sysShmdt, sysFork, syscall.SYS_REMAP_FILE_PAGES:
		return guarded(0, everything), false
	case sysIOSetup, sysIOUringSetup:
		c.NoteWriter(nr)
		return guarded(0, everything), false
	case sysRecvmmsg, sysProcessReadv, sysProcessWritev, sysVmsplice:
		return guarded(0, everything), true
	case sysSigaction:
		if uint32(regs.Rdi) == tracee.SIGSEGV { // see tracee.Trap
			return guarded(0, everything), false
		}
	case Prctl:
		if regs.Rdi == prSetSeccomp {
			return guarded(0, everything), false
		}
	case Clone, Clone3:
		creates := *regs
		creates.Orig_rax = nr
		if born, err := c.BornAs(&creates, tracee.EventFork); err != nil || born == tracee.EventFork {
			return guarded(0, everything), false
		}
	case sysMremap:
		r.at(args[4], args[2])
	case sysReadv, sysPreadv, sysPreadv2:
		r.vectors(args[1], args[2])
	case sysRecvmsg:
		r.message(args[1])
	}
	for i, v := range args[:6] {
		r.argument(v, args[i+1])
	}
	return r.pages, nr != tracee.SysMmap && nr != tracee.SysMunmap && nr != sysMprotect && nr != sysMremap
}

// reach gathers what of guarded pages a call gets at.
type reach struct {
	c       *Calls
	guarded func(start, end uint64) []appcode.Stretch
	pages   []appcode.Stretch
}

// at adds n bytes of memory.
func (r *reach) at(addr, n uint64) {
	if addr < everything && n > 0 {
		r.pages = append(r.pages, r.guarded(addr, addr+min(n, everything))...)
	}
}

// argument adds what an argument points to, if it is a pointer. next may be how long that is, in bytes or in elements; most structures of the
// kernel's are shorter than least.
func (r *reach) argument(addr, next uint64) {
	const lowest, least, few, longest, largest = 4096, 512, 1 << 16, 16, 1 << 46
	n := next
	switch {
	case addr < lowest:
		return
	case n < few:
		n *= longest
	case n >= largest: // a pointer, or minus one
		n = 0
	}
	r.at(addr, max(n, least))
}

// vectors adds what n vectors (struct iovec) point to.
func (r *reach) vectors(addr, n uint64) {
	const size, most = 16, 1024 // UIO_MAXIOV
	b := make([]byte, size*min(n, most))
	got, _ := r.c.mem.ReadAt(b, int64(addr))
	for b = b[:got]; len(b) >= size; b = b[size:] {
		r.at(binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]))
	}
}

// message adds what a message to be received (struct msghdr) is written to.
func (r *reach) message(addr uint64) {
	var b [56]byte
	if _, err := r.c.mem.ReadAt(b[:], int64(addr)); err != nil {
		return // nor can the kernel
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	r.at(word(0), uint64(uint32(word(1))))
	r.vectors(word(2), word(3))
	r.at(word(4), word(5))
}
