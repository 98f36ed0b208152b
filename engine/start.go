package engine

import (
	"bytes"

	"alleria/engine/syscalls"
	"alleria/engine/tracee"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// A native start is watched for two things: the registration of restartable sequences
// (below), and the images that the dynamic linker maps. Two stops at each of its system
// calls would tell of both, 160 for a compiler and 50 µs each; breakpoints in the linker on
// the one call and behind the other are a quarter of that. Stops at all calls remain for
// programs whose linker does not look like that, which lose nothing but time.
//
// Refused: to see the images where the linker says to debuggers that they are there, which
// is after code of theirs has run (resolvers of indirect functions).

// startSites are breakpoints of a native start.
type startSites struct {
	rseq map[uint64]bool // on the system call
	mmap map[uint64]bool // on the comparison behind it
	left int             // hits until the start counts as over
}

// startCode bounds the code that is looked through: a linker's, or that of a small static
// program. Reading a large program's would bring all of it into memory.
const startCode = 1 << 20

// The code of the C library's system calls: the number, the call, and the comparison of
// its result with the highest that is no error.
const (
	rseqCode = "\xb8\x4e\x01\x00\x00\x0f\x05\x3d\x00\xf0\xff\xff"     // mov $334,%eax; syscall; cmp $-4096,%eax
	rseqWide = "\xb8\x4e\x01\x00\x00\x0f\x05\x48\x3d\x00\xf0\xff\xff" // cmp $-4096,%rax
	mmapCode = "\xb8\x09\x00\x00\x00\x0f\x05\x48\x3d\x00\xf0\xff\xff" // mov $9,%eax; syscall; cmp $-4096,%rax
)

const (
	numberSize = 5 // of the instruction that loads a call's number
	callSize   = 2
	cmpSize    = 6 // of the comparison behind mmap
)

// watchStart puts breakpoints in place of the stops at a native start's system calls, where
// the code that begins at the entry point, rip, is one that is known.
func (p *Process) watchStart(rip uint64) error {
	if p.tr.opts.NoStartSites || p.calls.Starting() == 0 || p.mode != ModeNative {
		return nil
	}
	if !p.code.Executable(rip) {
		return nil
	}
	m := p.code.Mapping(rip)
	if m == nil || m.End-m.Start > startCode {
		return nil
	}
	code := make([]byte, m.End-m.Start)
	if _, err := p.mem.ReadAt(code, int64(m.Start)); err != nil {
		return nil // it is left to stops
	}
	s := &startSites{rseq: make(map[uint64]bool), mmap: make(map[uint64]bool), left: watchedCalls}
	for _, c := range []string{rseqCode, rseqWide} {
		eachIn(code, c, func(at int) { s.rseq[m.Start+uint64(at)+numberSize] = true })
	}
	eachIn(code, mmapCode, func(at int) { s.mmap[m.Start+uint64(at)+numberSize+callSize] = true })
	if len(s.rseq) == 0 || len(s.mmap) == 0 {
		return nil
	}
	p.start = s
	p.calls.SetStarting(0)
	for _, sites := range []map[uint64]bool{s.rseq, s.mmap} {
		for at := range sites {
			if err := p.points.Add(at); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachIn calls f with each place where code has a sequence.
func eachIn(code []byte, sequence string, f func(at int)) {
	for from := 0; ; {
		at := bytes.Index(code[from:], []byte(sequence))
		if at < 0 {
			return
		}
		f(from + at)
		from += at + len(sequence)
	}
}

// endStart takes the breakpoints of a start out.
func (p *Process) endStart() {
	s := p.start
	if s == nil {
		return
	}
	p.start = nil
	for _, sites := range []map[uint64]bool{s.rseq, s.mmap} {
		for at := range sites {
			p.points.RemoveIdle(at)
		}
	}
}

// startHit handles a native thread that has executed the int3 of a start at an address.
// done is false if it is none, or something else waits for that address: then the start's
// calls are watched by stops.
func (tr *Tracer) startHit(t *Thread, regs *sys.Regs, at uint64) (done bool, err error) {
	p := t.p
	s := p.start
	if s == nil || !t.native || !s.rseq[at] && !s.mmap[at] {
		return false, nil
	}
	if p.points.IsPoint(at) {
		p.endStart()
		p.calls.SetStarting(watchedCalls)
		return false, nil
	}
	regs.Rip = at
	t.noteGS(regs)
	if s.left--; s.left == 0 || s.rseq[at] {
		p.endStart()
	}
	if s.rseq[at] {
		return true, tr.refuseRseq(t, regs)
	}
	p.calls.Ended(tracee.SysMmap, regs.Rax, regs)
	if p.mode == ModeNative {
		compare(regs, regs.Rax, ^uint64(4095))
		regs.Rip += cmpSize
	}
	return true, tr.enter(t, regs, 0)
}

// refuseRseq answers a thread that stands at its call of rseq as a kernel without it.
func (tr *Tracer) refuseRseq(t *Thread, regs *sys.Regs) error {
	if uint32(regs.Rax) != syscalls.Rseq || regs.Rax >= layout.SyscallEntries { // it came from elsewhere: as it would go on
		return tr.enter(t, regs, 0)
	}
	t.calls.Entered(regs, syscalls.Rseq, regs.Rip+callSize)
	regs.Rax = syscalls.NoSuchCall()
	regs.Rip += callSize
	regs.Rcx, regs.R11 = regs.Rip, regs.Eflags
	return tr.enter(t, regs, 0)
}

// The flags of an arithmetic instruction's result.
const (
	flagCarry, flagParity, flagAdjust = 1 << 0, 1 << 2, 1 << 4
	flagZero, flagSign, flagOverflow  = 1 << 6, 1 << 7, 1 << 11
)

// compare sets the flags as cmp x, y does.
func compare(regs *sys.Regs, x, y uint64) {
	r := x - y
	set := func(flag uint64, on bool) {
		regs.Eflags &^= flag
		if on {
			regs.Eflags |= flag
		}
	}
	low := byte(r)
	low ^= low >> 4
	low ^= low >> 2
	low ^= low >> 1
	set(flagCarry, x < y)
	set(flagParity, low&1 == 0)
	set(flagAdjust, (x^y^r)>>4&1 != 0)
	set(flagZero, r == 0)
	set(flagSign, r>>63 != 0)
	set(flagOverflow, (x^y)&(x^r)>>63 != 0)
}

// A program that starts natively would register its restartable sequences with
// the kernel; once it runs in the cache, the answer is ENOSYS (syscalls.Thread.Answer),
// and a C library whose first thread was registered gives up over a second one that
// is not. So the first calls of a native start are watched until that one, and
// it is answered alike (start.go): C libraries make it before main, and don't make it for
// later threads if it was refused.
//
// The refused alternatives: a seccomp filter stays for good and is inherited;
// letting later calls through leaves sequences whose abort addresses lie in
// the application's code while the thread is in the cache.

// watchedCalls is how many calls of a native start are watched at most: more
// than a dynamic linker makes for a large program.
const watchedCalls = 4000
