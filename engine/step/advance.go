package step

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"alleria/engine/x86"
	"alleria/internal/sys"
)

// Numbers that neither Go's syscall packages nor x/sys/unix name.
const (
	// TF in EFLAGS
	trapFlag = 0x100
	// siKernel is the si_code of a SIGTRAP that int3 raised; stepping's own have
	// others.
	siKernel = 0x80

	// they are answered here and never executed, as under the translator: restartable sequences, and the
	// barriers for them
	sysRseq             = 334
	sysMembarrier       = 324
	barrierRseq         = 1 << 7
	barrierRegisterRseq = 1 << 8
)

// advance makes the target execute one instruction, one iteration of a repeated
// one, or the delivery of a signal.
//
// Exactly one of three things happens each time: an instruction completes, an iteration of
// a repeated one does, or the program is somewhere else because of a signal.
func (t *tracee) advance() error {
	if t.fresh { // this step ends with execve's return to the new program
		t.fresh = false
		_, err := t.step(0)
		return err
	}
	var regs sys.Regs
	if err := sys.GetRegs(t.pid, &regs); err != nil {
		return err
	}
	if regs.Rip >= vsyscallPage {
		return t.vsyscall(&regs)
	}
	if !t.open || regs.Rip != t.cur.Addr {
		if err := t.begin(&regs); err != nil {
			return err
		}
	}
	mark := len(t.cur.Accesses)
	if t.open {
		if err := t.before(&regs); err != nil {
			return err
		}
		if done, err := t.answer(&regs); done || err != nil {
			return err
		}
	}
	stop, err := t.step(0)
	for err == nil && !t.done && !t.fresh && stop.Event() != 0 {
		stop, err = t.event(stop)
	}
	switch {
	case err != nil || t.fresh:
		return err
	case t.done:
		if t.open && t.cur.Cat == x86.CatSYSCALL { // the call that ended it
			return t.complete(0)
		}
		return nil
	}
	return t.stopped(stop, mark)
}

// step lets the target execute one instruction, with signal sig delivered
// first, and waits for it.
// A target that was killed meanwhile is no error: wait tells of its end.
func (t *tracee) step(sig sys.Signal) (sys.Stop, error) {
	if err := sys.Step(t.pid, sig); err != nil && !sys.Gone(err) {
		return sys.Stop{}, err
	}
	return t.wait()
}

// begin decodes the instruction at RIP. One that cannot be read or decoded is
// left to the processor, which will raise what belongs there.
//
// The bytes are read anew each time: code may have changed since the last.
func (t *tracee) begin(regs *sys.Regs) error {
	t.open = false
	n, _ := t.mem.ReadAt(t.code[:], int64(regs.Rip))
	if k, _ := x86.Decode(t.code[:n], regs.Rip, t.one[:]); k == 0 {
		return nil
	}
	in := &t.one[0]
	t.cur = Ins{Insn: *in, Bytes: t.code[:in.Len], Accesses: t.cur.Accesses[:0], Regs: *regs}
	t.cur.state = t
	if t.opts.VectorState {
		if err := t.loadState(); err != nil {
			return err
		}
	}
	t.ops, t.arena = in.Accesses(t.ops[:0]), t.arena[:0]
	switch in.Cat {
	case x86.CatCONDBR, x86.CatUNCONDBR, x86.CatCALL, x86.CatRET:
		t.cur.Branch = in.Mnem != x86.MXABORT
	}
	t.open = true
	if t.opts.MaxIns != 0 && t.status.Ins >= t.opts.MaxIns {
		return ErrTooLong
	}
	return nil
}

// answer does without the processor what the translator doesn't leave to it
// either.
//
// rcx and r11 are what `syscall` leaves in them, orig_rax of -1 keeps the kernel from
// restarting a call that was none.
func (t *tracee) answer(regs *sys.Regs) (done bool, err error) {
	r := *regs
	switch {
	case t.cur.Mnem == x86.MSYSCALL && refused(&r) != 0:
		r.Rax = ^uint64(refused(&r)) + 1
		r.Rip = t.cur.Next()
		r.Rcx, r.R11 = r.Rip, r.Eflags
	case t.cur.Mnem == x86.MXBEGIN && x86.HasRTM():
		r.Rax, r.Rip = 0, t.cur.Target()
		t.cur.Branch = true
	default:
		return false, nil
	}
	r.Orig_rax = ^uint64(0)
	if err := sys.SetRegs(t.pid, &r); err != nil {
		return true, err
	}
	return true, t.complete(r.Rip)
}

// vsyscallPage is where calls lie that the kernel emulates as a whole.
const vsyscallPage = 0xffffffffff600000

// vsyscall does what a call there does: the kernel would go on with the
// caller's next instruction before it reports the step. No instruction
// executes; a caller finds the time at the moment, or processor 0.
// There are three: gettimeofday, time and getcpu, 0x400 apart.
func (t *tracee) vsyscall(regs *sys.Regs) error {
	var tv unix.Timeval
	if err := unix.Gettimeofday(&tv); err != nil {
		return fmt.Errorf("gettimeofday: %w", err)
	}
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], uint64(tv.Sec))
	binary.LittleEndian.PutUint64(b[8:], uint64(tv.Usec))
	size := 16
	regs.Rax = 0
	if regs.Rip == vsyscallPage+0x400 { // time
		regs.Rax, size = uint64(tv.Sec), 8
	}
	if regs.Rdi != 0 && regs.Rip < vsyscallPage+0x800 {
		if _, err := t.mem.WriteAt(b[:size], int64(regs.Rdi)); err != nil {
			return fmt.Errorf("time of day: %w", err)
		}
	}
	if _, err := t.mem.ReadAt(b[:8], int64(regs.Rsp)); err != nil {
		return fmt.Errorf("return address: %w", err)
	}
	regs.Rip, regs.Rsp = binary.LittleEndian.Uint64(b[:8]), regs.Rsp+8
	return sys.SetRegs(t.pid, regs)
}

// event handles a ptrace event within a system call and lets the call go on.
// The stop at a call's exit follows, for which the step goes on.
func (t *tracee) event(s sys.Stop) (sys.Stop, error) {
	switch s.Event() {
	case unix.PTRACE_EVENT_EXEC:
		if err := t.complete(0); err != nil {
			return s, err
		}
		return s, t.executed()
	case unix.PTRACE_EVENT_CLONE:
		if id, err := sys.EventMsg(t.pid); err == nil {
			t.thread = int(id)
		}
		return s, errThreads
	case unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK:
		if err := t.detach(); err != nil {
			return s, err
		}
	}
	return t.step(0)
}

// detach detaches a child that was just born.
// It runs natively: the trap flag is not inherited, and the oracle follows one
// process.
func (t *tracee) detach() error {
	id, err := sys.EventMsg(t.pid)
	if err != nil {
		return err
	}
	var st unix.WaitStatus
	if _, err := unix.Wait4(int(id), &st, unix.WALL, nil); err != nil {
		return fmt.Errorf("first stop of child %d: %w", id, err)
	}
	return sys.Detach(int(id), 0)
}

// stopped looks at what ended a step. The accesses of cur from mark on are
// those of this step.
//
// A signal other than SIGTRAP means that the instruction did not complete: a fault of its
// own, or something asynchronous that came first. Either way it is begun again when the
// program gets back to it.
func (t *tracee) stopped(s sys.Stop, mark int) error {
	var regs sys.Regs
	if err := sys.GetRegs(t.pid, &regs); err != nil {
		return err
	}
	if sig := s.Signal(); sig != unix.SIGTRAP {
		t.cur.Accesses = t.cur.Accesses[:mark]
		return t.deliver(sig)
	}
	var info sys.Siginfo
	if err := sys.GetSiginfo(t.pid, &info); err != nil {
		return err
	}
	if !t.open {
		return fmt.Errorf("an instruction at %#x executed that could not be decoded", t.cur.Addr)
	}
	if err := t.hideTrapFlag(&regs); err != nil {
		return err
	}
	if err := t.after(&regs, mark); err != nil {
		return err
	}
	if regs.Rip == t.cur.Addr && t.repeats() {
		return nil // another iteration
	}
	if err := t.complete(regs.Rip); err != nil {
		return err
	}
	if info.Code() == siKernel { // int3: the trap is the program's
		return t.deliver(unix.SIGTRAP)
	}
	return nil
}

// deliver gives the program a signal. With a handler, this ends before the
// handler's first instruction; otherwise an instruction may execute, so a
// signal that is ignored is dropped here instead.
func (t *tracee) deliver(sig sys.Signal) error {
	sets, err := sys.ReadSignalSets(t.pid)
	if err != nil {
		return err
	}
	bit := uint64(1) << (sig - 1)
	harmless := sig == unix.SIGCHLD || sig == unix.SIGCONT || sig == unix.SIGURG || sig == unix.SIGWINCH
	if sets.Caught&bit == 0 && (sets.Ignored&bit != 0 || harmless) {
		return nil
	}
	if t.open && t.repeats() && len(t.cur.Accesses) > 0 && sets.Blocked&bit == 0 {
		t.open, t.cur.Part = false, true
		if err := t.visit(&t.cur); err != nil {
			return err
		}
	}
	if sets.Caught&bit != 0 {
		t.open = false
		defer t.cleanFrame()
	}
	s, err := t.step(sig)
	for err == nil && !t.done && s.Event() != 0 { // a group stop, over at once: there is no terminal to mind
		s, err = t.step(0)
	}
	if err == nil && !t.done && s.Signal() != unix.SIGTRAP {
		return t.deliver(s.Signal()) // such as a fault while the handler's frame was written
	}
	return err
}

// cleanFrame removes the trap flag from the flags in the frame of the handler
// that is about to run, rdx pointing to its ucontext: the kernel leaves it there
// if the signal came before a popf.
//
// rdx is the third argument of an SA_SIGINFO handler, which the kernel sets for others as
// well. The flags are the eighteenth word of uc_mcontext (struct sigcontext), 40 bytes into
// the ucontext; TF is in their second byte.
func (t *tracee) cleanFrame() {
	var regs sys.Regs
	if t.done || sys.GetRegs(t.pid, &regs) != nil {
		return
	}
	var b [1]byte
	at := int64(regs.Rdx + 40 + 17*8 + 1)
	if _, err := t.mem.ReadAt(b[:], at); err == nil && b[0]&(trapFlag>>8) != 0 {
		b[0] &^= trapFlag >> 8
		t.mem.WriteAt(b[:], at)
	}
}

// hideTrapFlag removes the trap flag of the stepping from where the instruction
// made it visible. Behind a popf the kernel takes it for the program's own, so
// it goes from the flags themselves as well.
//
// `syscall` copies the flags to r11 and pushf to the stack; sigreturn restores r11 from a
// frame, where it is the program's own.
func (t *tracee) hideTrapFlag(regs *sys.Regs) error {
	seen := regs.Eflags & trapFlag
	regs.Eflags &^= trapFlag
	switch t.cur.Mnem {
	case x86.MSYSCALL:
		if uint32(t.cur.Regs.Rax) != unix.SYS_RT_SIGRETURN {
			seen |= regs.R11 & trapFlag
			regs.R11 &^= trapFlag
		}
	case x86.MPUSHF, x86.MPUSHFQ:
		var b [2]byte
		if _, err := t.mem.ReadAt(b[:], int64(regs.Rsp)); err != nil {
			return fmt.Errorf("pushed flags: %w", err)
		}
		f := binary.LittleEndian.Uint16(b[:]) &^ trapFlag
		binary.LittleEndian.PutUint16(b[:], f)
		if _, err := t.mem.WriteAt(b[:], int64(regs.Rsp)); err != nil {
			return fmt.Errorf("pushed flags: %w", err)
		}
	}
	if seen == 0 {
		return nil
	}
	return sys.SetRegs(t.pid, regs)
}

// complete hands the current instruction to the visitor; next is the address of
// the one that follows.
func (t *tracee) complete(next uint64) error {
	if !t.open {
		return errors.New("an instruction completed twice")
	}
	t.open = false
	t.cur.To = next
	t.cur.Taken = t.cur.Branch && (t.cur.Cat != x86.CatCONDBR || t.conditionHolds(next))
	t.status.Ins++
	return t.visit(&t.cur)
}

// conditionHolds tells whether the conditional branch was taken. The address
// that follows says so, but not of a branch to the next instruction.
//
// The conditions are in the order of the opcodes 70 to 7f (and 0f 80 to 0f 8f): each pair
// is a condition and its opposite, told by bit 0.
func (t *tracee) conditionHolds(next uint64) bool {
	if t.cur.Target() != t.cur.Next() {
		return next != t.cur.Next()
	}
	f := t.cur.Regs.Eflags
	cf, pf, zf, sf, of := f&1 != 0, f&4 != 0, f&0x40 != 0, f&0x80 != 0, f&0x800 != 0
	count := t.cur.Regs.Rcx
	if t.cur.AddrBits == 32 {
		count = uint64(uint32(count))
	}
	switch t.cur.Mnem {
	case x86.MJRCXZ, x86.MJECXZ:
		return count == 0
	case x86.MLOOP:
		return count != 1
	case x86.MLOOPE:
		return count != 1 && zf
	case x86.MLOOPNE:
		return count != 1 && !zf
	}
	holds := [...]bool{of, cf, zf, cf || zf, sf, pf, sf != of, zf || sf != of}[t.cur.Opcode>>1&7]
	return holds != (t.cur.Opcode&1 != 0)
}

// refused returns the error of a system call that is answered here, 0 for others.
func refused(r *sys.Regs) unix.Errno {
	switch uint32(r.Rax) {
	case sysRseq:
		return unix.ENOSYS
	case sysMembarrier:
		if c := uint32(r.Rdi); c == barrierRseq || c == barrierRegisterRseq {
			return unix.EINVAL
		}
	}
	return 0
}
