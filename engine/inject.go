package engine

import (
	"encoding/binary"
	"fmt"
	"os"

	"alleria/engine/appcode"
	"alleria/engine/codecache"
	"alleria/engine/shm"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// System calls that the tracer executes in the target.
const (
	sysOpen    = 2
	sysClose   = 3
	sysMmap    = 9
	sysMunmap  = 11
	sysMadvise = 28

	protRead, protWrite, protExec = 1, 2, 4
	mapShared                     = 1
	mapPrivate                    = 2
	mapAnonymous                  = 0x20
	mapNoReserve                  = 0x4000
	mapFixedNoReplace             = 0x100000
	madvDontDump                  = 16
)

// injector executes system calls in a stopped thread and gives its registers
// and the code that it borrowed back when it is closed.
//
// The target must not be able to notice: registers, code and the restart of an interrupted
// call are put back. No signal is delivered meanwhile; those that come are held.
type injector struct {
	t     *Thread
	mem   *os.File
	saved sys.Regs
	at    uint64 // address of a syscall instruction
	orig  []byte // what was there, if it was written
}

// injectAt borrows the thread, writing a syscall instruction over the code at
// addr: for a process that has no code cache yet, or is about to lose it.
// The thread is the only one that may execute there.
func injectAt(t *Thread, mem *os.File, addr uint64) (*injector, error) {
	in := &injector{t: t, mem: mem, at: addr, orig: make([]byte, 2)}
	if err := sys.GetRegs(t.tid, &in.saved); err != nil {
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

// call executes a system call; its error is the kernel's.
// orig_rax is -1 so that the kernel does not take it for an interrupted call of the
// program.
func (in *injector) call(nr uint64, args ...uint64) (uint64, error) {
	r := in.saved
	r.Rip, r.Rax, r.Orig_rax = in.at, nr, ^uint64(0)
	// the order of the system-call convention: r10 in place of rcx
	for i, dst := range []*uint64{&r.Rdi, &r.Rsi, &r.Rdx, &r.R10, &r.R8, &r.R9} {
		*dst = 0
		if i < len(args) {
			*dst = args[i]
		}
	}
	if err := in.t.p.tr.callWith(in.t, &r); err != nil {
		return 0, err
	}
	// minus an error number
	if r.Rax > ^uint64(4095) {
		return 0, sys.Errno(-int64(r.Rax))
	}
	return r.Rax, nil
}

// close restores what was borrowed.
func (in *injector) close() error {
	if in.orig != nil {
		if _, err := in.mem.WriteAt(in.orig, int64(in.at)); err != nil {
			return fmt.Errorf("code at %#x: %w", in.at, err)
		}
	}
	return sys.SetRegs(in.t.tid, &in.saved)
}

// ignoreTrap makes the kernel ignore SIGTRAP again.
// It is done in the program's name because dispositions can be set by nobody else.
func (t *Thread) ignoreTrap() error {
	const (
		sysSigaction = 13
		scratch      = 0x800 // nothing else in a slot uses it
	)
	if t.noteFilters(); !t.p.mayCall() {
		return nil
	}
	a := t.p.cache.Regions[0]
	in := &injector{t: t, at: a.Base + a.Routines.Inject}
	if err := sys.GetRegs(t.tid, &in.saved); err != nil {
		return err
	}
	for i, w := range []uint64{1, 0, 0, 0} { // SIG_IGN, no flags, no restorer, no mask
		t.slot.Set(scratch+8*i, w)
	}
	if _, err := in.call(sysSigaction, sigTrap, t.slot.Base+scratch, 0, 8); err != nil {
		return fmt.Errorf("disposition of SIGTRAP: %w", err)
	}
	return in.close()
}

// mapShared maps the shared file in the target, whose one thread stands before its first
// instruction, and in the tracer.
func (p *Process) mapShared(t *Thread, at beginning, creator *Process) error {
	// The stop lies within execve, which still writes its result into rax: it
	// has to end before another call can be made.
	if at == executing {
		if err := p.tr.callStops(t, 1); err != nil {
			return err
		}
	}
	var regs sys.Regs
	if err := sys.GetRegs(p.pid, &regs); err != nil {
		return err
	}
	in, err := injectAt(t, p.mem, regs.Rip)
	if err != nil {
		return err
	}
	if at == executing {
		err = p.mapWith(in, (regs.Rsp-appcode.PageSize)&^63-scratchBytes, nil) // below what the program's start finds on its stack
	} else {
		err = p.mapForked(in, creator)
	}
	if cerr := in.close(); err == nil {
		err = cerr
	}
	return err
}

// scratchBytes is how much memory of the target's mapWith needs.
const scratchBytes = 2048

// mapForked is mapWith for a process in the middle of its program.
func (p *Process) mapForked(in *injector, creator *Process) error {
	at, giveBack, err := in.scratch()
	if err != nil {
		return err
	}
	if err := p.mapWith(in, at, creator); err != nil {
		return err
	}
	return giveBack()
}

// redZone is how much below its stack pointer a function may use.
const redZone = 128

// scratch borrows scratchBytes of memory of a process in the middle of its program, and returns what gives
// it back. What lies below the red zone is nobody's by the calling convention, but a small stack of a
// coroutine may have other data there: it is put back. Where nothing is mapped there, some memory is.
func (in *injector) scratch() (at uint64, giveBack func() error, err error) {
	at = (in.saved.Rsp - redZone - scratchBytes) &^ 63
	was := make([]byte, scratchBytes)
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
	if at, err = in.call(sysMmap, 0, appcode.PageSize, protRead|protWrite, mapPrivate|mapAnonymous, ^uint64(0), 0); err != nil {
		return 0, nil, fmt.Errorf("mapping memory of thread %d: %w", in.t.tid, err)
	}
	return at, func() error {
		if _, err := in.call(sysMunmap, at, appcode.PageSize); err != nil {
			return fmt.Errorf("unmapping memory of thread %d: %w", in.t.tid, err)
		}
		return nil
	}, nil
}

// mapWith opens the shared files in the target by the tracer's descriptors and
// maps their parts. scratch is memory of the target's that nobody uses; it is left as zeros.
//
// The files are opened through the tracer's descriptors in /proc, so that the target needs no
// descriptor handed down to it, and closed again before its first instruction.
func (p *Process) mapWith(in *injector, scratch uint64, creator *Process) error {
	const file, bell, table = 0, 64, 128 // parts of it
	pl, err := p.placeAs(creator)
	if err != nil {
		return err
	}
	paths := make([]byte, table)
	copy(paths[file:], fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), p.shm.File.Fd()))
	copy(paths[bell:], fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), p.shm.Bell.File.Fd()))
	if _, err := p.mem.WriteAt(paths, int64(scratch)); err != nil {
		return fmt.Errorf("stack of process %d: %w", p.pid, err)
	}
	done, err := p.mapAtOnce(in, scratch+file, scratch+bell, scratch+table, &pl)
	if err == nil && !done {
		err = p.mapEach(in, scratch+file, scratch+bell, scratch+table, &pl)
	}
	if err != nil {
		return err
	}
	if _, err := p.mem.WriteAt(make([]byte, len(paths)), int64(scratch)); err != nil {
		return fmt.Errorf("stack of process %d: %w", p.pid, err)
	}
	p.shm.SlotsBase = pl.slots + shm.ControlBytes
	for i, base := range pl.regions {
		a, err := codecache.NewRegion(p.shm.File, int64(shm.RegionsOff+uint64(i)*shm.RegionBytes), shm.RegionBytes, base)
		if err != nil {
			return err
		}
		a.Num = uint8(len(p.cache.Regions))
		p.cache.Regions = append(p.cache.Regions, a)
	}
	return p.initControl()
}

// mapEach opens the files, whose paths lie at file and bell, maps their parts one by one, near to where they are proposed to
// be, and says in pl where they came to lie.
func (p *Process) mapEach(in *injector, file, bell, hand uint64, pl *placement) error {
	fd, err := in.openShared(file, p.shm.File, hand)
	if err != nil {
		return fmt.Errorf("opening the shared memory in the target: %w", err)
	}
	pl.slots, err = p.mapNear(in, fd, pl.slots, -1<<30, shm.SharedBytes, protRead|protWrite, shm.ControlOff)
	if err != nil {
		if sys.NoMemory(err) {
			return fmt.Errorf("the rings do not fit into the target's address space (ulimit -v unlimited helps if it is limited): %w", err)
		}
		return fmt.Errorf("mapping the rings in the target: %w", err)
	}
	for i, base := range pl.regions {
		if pl.regions[i], err = p.mapNear(in, fd, base, -shm.RegionBytes, shm.RegionBytes, protRead|protExec, shm.RegionsOff+uint64(i)*shm.RegionBytes); err != nil {
			return fmt.Errorf("mapping the code cache in the target: %w", err)
		}
	}
	if _, err := in.call(sysClose, fd); err != nil {
		return fmt.Errorf("closing the shared memory in the target: %w", err)
	}
	if fd, err = in.openShared(bell, p.shm.Bell.File, hand); err != nil {
		return fmt.Errorf("opening the doorbell in the target: %w", err)
	}
	if _, err := p.mapNear(in, fd, pl.slots-layout.BellBelow, 0, layout.BellBelow, protRead|protWrite, 0); err != nil {
		return fmt.Errorf("mapping the doorbell in the target: %w", err)
	}
	if _, err := in.call(sysClose, fd); err != nil {
		return fmt.Errorf("closing the doorbell in the target: %w", err)
	}
	return nil
}

// mapNear maps size bytes of fd at addr, or a few steps further on if something
// is there.
// MAP_FIXED_NOREPLACE never replaces what is there; kernels before 4.17 take the
// address for a hint and map elsewhere, which the comparison finds.
//
// Core dumps leave the mapping out: it is not the program's, and most of it is room. A kernel
// that does not know the advice takes it along. A filter that survived an execve may allow
// mmap and kill for this.
func (p *Process) mapNear(in *injector, fd, addr uint64, step int64, size, prot, off uint64) (uint64, error) {
	var err error
	for range 5 {
		var got uint64
		got, err = in.call(sysMmap, addr, size, prot, mapShared|mapNoReserve|mapFixedNoReplace, fd, off)
		if err == nil && got == addr {
			if !p.filtered {
				_, _ = in.call(sysMadvise, addr, size, madvDontDump)
			}
			return addr, nil
		}
		addr += uint64(step)
	}
	return 0, err
}

// initControl maps the control area in the tracer and fills the table of
// system calls.
// A filter of system calls survives execve, and so does what it forbids.
func (p *Process) initControl() error {
	if err := p.shm.MapControl(); err != nil {
		return err
	}
	if p.filtered {
		p.shm.Ctl.U32(layout.NoCalls).Store(1)
	}
	for nr, what := range p.special {
		p.shm.Ctl.Mem[layout.SyscallTable+nr] = what
	}
	return nil
}

// placement is where the target's memory has room for ours.
type placement struct {
	slots   uint64
	regions []uint64
}

// placeAs is where the creator of a forked child has its memory, which is free in the child, or place.
func (p *Process) placeAs(creator *Process) (placement, error) {
	if creator == nil || p.tr.opts.NoInherit {
		return p.place()
	}
	pl := placement{slots: creator.shm.Control()}
	for _, a := range creator.cache.Regions {
		pl.regions = append(pl.regions, a.Base)
	}
	return pl, nil
}

// place chooses addresses: a region a gigabyte below the loader, where the
// libraries come, and one below the main program if that lies high; both out
// of the way of brk, the stack, the first two gigabytes, Go's arenas and
// sanitizers' shadows. The slots lie further down.
//
// Addresses are rounded to large pages. They are only proposals: mapNear tries the
// neighbourhood if something is there.
func (p *Process) place() (placement, error) {
	maps, err := sys.Maps(p.pid)
	if err != nil {
		return placement{}, err
	}
	// The lowest mapping of the loader's part of the address space, and of the
	// program's if that lies high (a position-independent executable).
	var lib, exe uint64
	for _, m := range maps {
		switch {
		case m.Start >= 0x7e0000000000 && m.Path != "[stack]" && m.Path != "[vdso]" && m.Path != "[vvar]" && m.Path != "[vsyscall]" && lib == 0:
			lib = m.Start
		case m.Start >= 1<<31 && m.Start < 0x7e0000000000 && exe == 0:
			exe = m.Start
		}
	}
	// A static program has nothing up there: below its stack there is room.
	if lib == 0 {
		for _, m := range maps {
			if m.Path == "[stack]" {
				lib = m.Start - 64<<30
			}
		}
	}
	lib &^= sys.HugePage - 1
	pl := placement{slots: freeBelow(maps, lib-160<<30, layout.BellBelow, shm.SharedBytes), regions: []uint64{freeBelow(maps, lib-1<<30, 0, shm.RegionBytes)}}
	if exe != 0 {
		pl.regions = append(pl.regions, freeBelow(maps, exe&^(sys.HugePage-1)-512<<20, 0, shm.RegionBytes))
	}
	return pl, nil
}

// freeBelow is the highest address at or below one where size bytes, and some in front of them, are free: a
// process that was traced before, or its creator, may have left mappings of ours where they always lie.
func freeBelow(maps []sys.Mapping, at, before, size uint64) uint64 {
	for i := len(maps) - 1; i >= 0; i-- {
		if m := &maps[i]; m.Start < at+size && m.End > at-before && m.Start > size {
			at = (m.Start - size) &^ (sys.HugePage - 1)
		}
	}
	return at
}

// putWord writes a word of the application's memory.
func (p *Process) putWord(addr, v uint64) error {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	_, err := p.mem.WriteAt(b[:], int64(addr))
	return err
}

// A program that was executed by one that gave up its rights, or that sees another file system or is in another user
// namespace, cannot open our memory by the tracer's descriptors in /proc. It makes a pair of sockets then, of which the
// tracer takes one, and is sent the descriptor.

const (
	sysRecvmsg    = 47
	sysSocketpair = 53
)

// openShared opens a file of ours in the target: by its path, or sent through a socket. scratch is memory of the
// target's with room for handBytes.
func (in *injector) openShared(path uint64, file *os.File, scratch uint64) (uint64, error) {
	fd, err := in.call(sysOpen, path, openReadWrite, 0)
	if err == nil {
		return fd, nil
	}
	fd, serr := in.receive(file, scratch)
	if serr != nil {
		return 0, fmt.Errorf("%w (sent by a socket: %w)", err, serr)
	}
	return fd, nil
}

// handBytes is how much memory receive needs.
const handBytes = 128

// receive has the target receive a descriptor.
func (in *injector) receive(file *os.File, scratch uint64) (fd uint64, err error) {
	const (
		unixSocket, datagram = 1, 2 | closeOnExec
		vector, control      = 64, 80 // behind the message's head
		controlSize          = 24
		receiveCloseOnExec   = 0x40000000
	)
	if _, err := in.call(sysSocketpair, unixSocket, datagram, 0, scratch); err != nil {
		return 0, fmt.Errorf("socketpair: %w", err)
	}
	b := make([]byte, handBytes)
	if _, err := in.mem.ReadAt(b[:8], int64(scratch)); err != nil {
		return 0, fmt.Errorf("stack at %#x: %w", scratch, err)
	}
	ours, theirs := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b)
	defer func() {
		for _, s := range []uint32{ours, theirs} {
			if _, cerr := in.call(sysClose, uint64(s)); err == nil && cerr != nil {
				err = fmt.Errorf("close: %w", cerr)
			}
		}
		_, _ = in.mem.WriteAt(make([]byte, handBytes), int64(scratch))
	}()
	if err := sys.SendFile(in.t.tid, int(ours), file); err != nil {
		return 0, err
	}
	clear(b)
	for at, w := range map[int]uint64{16: scratch + vector, 24: 1, 32: scratch + control, 40: controlSize,
		vector: scratch + handBytes - 8, vector + 8: 1} { // struct msghdr and iovec
		binary.LittleEndian.PutUint64(b[at:], w)
	}
	if _, err := in.mem.WriteAt(b, int64(scratch)); err != nil {
		return 0, fmt.Errorf("stack at %#x: %w", scratch, err)
	}
	if _, err := in.call(sysRecvmsg, uint64(theirs), scratch, receiveCloseOnExec); err != nil {
		return 0, fmt.Errorf("recvmsg: %w", err)
	}
	if _, err := in.mem.ReadAt(b, int64(scratch)); err != nil {
		return 0, fmt.Errorf("stack at %#x: %w", scratch, err)
	}
	return uint64(binary.LittleEndian.Uint32(b[control+16:])), nil
}

// closeOnExec is O_CLOEXEC, and SOCK_CLOEXEC.
const closeOnExec = 0o2000000

// What a process may call is read where a call of ours, or of translated code, depends on it: it may have installed a
// filter while it ran natively, or by another thread, without our hearing of it. Filters that the tracer was started
// under, a container's, say, are its own as well and forbid nothing that it needs.

// limited tells whether a thread's calls are limited by more than the tracer's own.
func (tr *Tracer) limited(tid int) bool {
	f, err := sys.ReadFilters(tid)
	return err == nil && f.Beyond(tr.filters)
}

// noteFilters has translated code make no calls of its own any more if a filter of the thread's could forbid them.
func (t *Thread) noteFilters() {
	p := t.p
	if p.mayCall() && p.tr.limited(t.tid) {
		p.forbidCalls()
	}
}

// forbidCalls says that no call of ours may be made in the process any more.
func (p *Process) forbidCalls() {
	p.filtered = true
	p.shm.Ctl.U32(layout.NoCalls).Store(1)
}

// mayCall tells whether nothing is known that would forbid our calls.
func (p *Process) mayCall() bool { return p.shm.Ctl.U32(layout.NoCalls).Load() == 0 }
