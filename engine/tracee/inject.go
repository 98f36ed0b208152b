package tracee

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"alleria/internal/sys"
)

// Numbers of the system calls that are made in a thread's name (arch/x86/entry/syscalls/syscall_64.tbl).
const (
	SysOpen       = 2
	SysClose      = 3
	SysMmap       = 9
	SysMprotect   = 10
	SysBrk        = 12
	SysMunmap     = 11
	SysSigaction  = 13
	SysMadvise    = 28
	sysRecvmsg    = 47
	sysSocketpair = 53

	SysSigaltstack = 131
)

// Arguments of them.
const (
	OpenReadWrite = 2         // O_RDWR
	CloseOnExec   = 0o2000000 // O_CLOEXEC, and SOCK_CLOEXEC

	ProtRead, ProtWrite, ProtExec = 1, 2, 4

	MapShared         = 1
	MapPrivate        = 2
	MapAnonymous      = 0x20
	MapNoReserve      = 0x4000
	MapFixedNoReplace = 0x100000
	MadvDontDump      = 16
	scratchMapping    = 4096
)

// Memory is the memory of a thread's process.
type Memory interface {
	io.ReaderAt
	io.WriterAt
}

// Injector executes system calls in a stopped thread and gives its registers
// and the code that it borrowed back when it is closed.
//
// The target must not be able to notice: registers, code and the restart of an interrupted
// call are put back. No signal is delivered meanwhile; those that come are held.
type Injector struct {
	t     *Thread
	mem   Memory // needed for what writes there
	saved sys.Regs
	at    uint64 // address of a syscall instruction
	orig  []byte // what was there, if it was written
	// called: the thread is at the end of a call of ours.
	called bool
}

// Inject borrows a stopped thread; at is the address of a syscall instruction.
func (t *Thread) Inject(at uint64) (*Injector, error) {
	in := &Injector{t: t, at: at}
	return in, t.GetRegs(&in.saved)
}

// InjectAt borrows the thread, writing a syscall instruction over the code at
// addr: for a process that has no code cache yet, or is about to lose it.
// The thread is the only one that may execute there.
func (t *Thread) InjectAt(mem Memory, addr uint64) (*Injector, error) {
	in := &Injector{t: t, mem: mem, at: addr, orig: make([]byte, 2)}
	if err := t.GetRegs(&in.saved); err != nil {
		return nil, err
	}
	if _, err := mem.ReadAt(in.orig, int64(addr)); err != nil {
		return nil, fmt.Errorf("code at %#x: %w", addr, err)
	}
	if _, err := mem.WriteAt([]byte{0x0f, 0x05}, int64(addr)); err != nil {
		return nil, fmt.Errorf("code at %#x: %w", addr, err)
	}
	return in, nil
}

// UserCS and UserSS are the segments of 64-bit programs (__USER_CS, __USER_DS). A thread that is borrowed may be in code of others.
const (
	UserCS = 0x33
	UserSS = 0x2b
)

// Call executes a system call; its error is the kernel's.
// orig_rax is -1 so that the kernel does not take it for an interrupted call of the
// program.
func (in *Injector) Call(nr uint64, args ...uint64) (uint64, error) {
	r := in.saved
	r.Rip, r.Rax, r.Orig_rax = in.at, nr, ^uint64(0)
	r.Cs, r.Ss = UserCS, UserSS
	// the order of the system-call convention: r10 in place of rcx
	for i, dst := range []*uint64{&r.Rdi, &r.Rsi, &r.Rdx, &r.R10, &r.R8, &r.R9} {
		*dst = 0
		if i < len(args) {
			*dst = args[i]
		}
	}
	in.called = true
	// Undisturbed: a signal would end the call, and what it returns then is not told from what it failed with.
	if err := in.t.Undisturbed(func() error { return in.t.CallWith(&r) }); err != nil {
		return 0, err
	}
	// minus an error number
	if r.Rax > ^uint64(4095) {
		return 0, sys.Errno(-int64(r.Rax))
	}
	return r.Rax, nil
}

// Close restores what was borrowed.
//
// A call that the kernel was to make again it makes again behind a stop alone, and the thread is at the end of another call by now: it stops once more, which
// means nothing. The program would read -514 from select else.
func (in *Injector) Close() error {
	if in.orig != nil {
		if _, err := in.mem.WriteAt(in.orig, int64(in.at)); err != nil {
			return fmt.Errorf("code at %#x: %w", in.at, err)
		}
	}
	if err := in.t.SetRegs(&in.saved); err != nil || !in.called || !Restarting(&in.saved) {
		return err
	}
	return in.t.Interrupt()
}

// Restarting tells the result of a call that the kernel will make again: ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND and ERESTART_RESTARTBLOCK
// (include/linux/errno.h), which only a tracer ever sees.
func Restarting(r *sys.Regs) bool {
	if r.Orig_rax == ^uint64(0) {
		return false
	}
	switch int64(r.Rax) {
	case -512, -513, -514, -516:
		return true
	}
	return false
}

// ScratchBytes is how much memory Scratch borrows.
const ScratchBytes = 2048

// redZone is how much below its stack pointer a function may use.
const redZone = 128

// Scratch borrows ScratchBytes of memory of a process in the middle of its program, and returns what gives
// it back. What lies below the red zone is nobody's by the calling convention, but a small stack of a
// coroutine may have other data there: it is put back. Where nothing is mapped there, some memory is.
func (in *Injector) Scratch() (at uint64, giveBack func() error, err error) {
	at = (in.saved.Rsp - redZone - ScratchBytes) &^ 63
	was := make([]byte, ScratchBytes)
	_, rerr := in.mem.ReadAt(was, int64(at))
	if rerr == nil {
		_, rerr = in.mem.WriteAt(was, int64(at))
	}
	if rerr == nil {
		return at, func() error {
			if _, err := in.mem.WriteAt(was, int64(at)); err != nil {
				return fmt.Errorf("stack at %#x: %w", at, err)
			}
			return nil
		}, nil
	}
	if at, err = in.Call(SysMmap, 0, scratchMapping, ProtRead|ProtWrite, MapPrivate|MapAnonymous, ^uint64(0), 0); err != nil {
		return 0, nil, fmt.Errorf("mapping memory of thread %d: %w", in.t.TID, err)
	}
	return at, func() error {
		if _, err := in.Call(SysMunmap, at, scratchMapping); err != nil {
			return fmt.Errorf("unmapping memory of thread %d: %w", in.t.TID, err)
		}
		return nil
	}, nil
}

// A program that was executed by one that gave up its rights, or that sees another file system or is in another user
// namespace, cannot open our memory by the tracer's descriptors in /proc. It makes a pair of sockets then, of which the
// tracer takes one, and is sent the descriptor.

// OpenFile opens a file of ours in the target: by its path, or sent through a socket. scratch is memory of the
// target's with room for HandBytes.
func (in *Injector) OpenFile(path uint64, file *os.File, scratch uint64) (uint64, error) {
	fd, err := in.Call(SysOpen, path, OpenReadWrite, 0)
	if err == nil {
		return fd, nil
	}
	fd, serr := in.receive(file, scratch)
	if serr != nil {
		return 0, fmt.Errorf("%w (sent by a socket: %w)", err, serr)
	}
	return fd, nil
}

// HandBytes is how much memory receive needs.
const HandBytes = 128

// receive has the target receive a descriptor.
func (in *Injector) receive(file *os.File, scratch uint64) (fd uint64, err error) {
	const (
		unixSocket, datagram = 1, 2 | CloseOnExec
		vector, control      = 64, 80 // behind the message's head
		controlSize          = 24
		receiveCloseOnExec   = 0x40000000
	)
	if _, err := in.Call(sysSocketpair, unixSocket, datagram, 0, scratch); err != nil {
		return 0, fmt.Errorf("socketpair: %w", err)
	}
	b := make([]byte, HandBytes)
	if _, err := in.mem.ReadAt(b[:8], int64(scratch)); err != nil {
		return 0, fmt.Errorf("stack at %#x: %w", scratch, err)
	}
	ours, theirs := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b)
	defer func() {
		for _, s := range []uint32{ours, theirs} {
			if _, cerr := in.Call(SysClose, uint64(s)); err == nil && cerr != nil {
				err = fmt.Errorf("close: %w", cerr)
			}
		}
		_, _ = in.mem.WriteAt(make([]byte, HandBytes), int64(scratch))
	}()
	if err := sys.SendFile(in.t.TID, int(ours), file); err != nil {
		return 0, err
	}
	clear(b)
	for at, w := range map[int]uint64{16: scratch + vector, 24: 1, 32: scratch + control, 40: controlSize,
		vector: scratch + HandBytes - 8, vector + 8: 1} { // struct msghdr and iovec
		binary.LittleEndian.PutUint64(b[at:], w)
	}
	if _, err := in.mem.WriteAt(b, int64(scratch)); err != nil {
		return 0, fmt.Errorf("stack at %#x: %w", scratch, err)
	}
	if _, err := in.Call(sysRecvmsg, uint64(theirs), scratch, receiveCloseOnExec); err != nil {
		return 0, fmt.Errorf("recvmsg: %w", err)
	}
	if _, err := in.mem.ReadAt(b, int64(scratch)); err != nil {
		return 0, fmt.Errorf("stack at %#x: %w", scratch, err)
	}
	return uint64(binary.LittleEndian.Uint32(b[control+16:])), nil
}
