// Package starts finds where a native start can be watched by breakpoints in place of stops at its system calls.
//
// A program that starts natively would register its restartable sequences with
// the kernel; once it runs in the cache, the answer is ENOSYS,
// and a C library whose first thread was registered gives up over a second one that
// is not. So the first calls of a native start are watched until that one, and
// it is answered alike: C libraries make it before main, and don't make it for
// later threads if it was refused.
//
// The refused alternatives: a seccomp filter stays for good and is inherited;
// letting later calls through leaves sequences whose abort addresses lie in
// the application's code while the thread is in the cache. Processes that have
// some from before their start was seen are let through (package syscalls).
//
// The images that the dynamic linker maps are the other thing to be known. Two stops at each of its system
// calls would tell of both, 160 for a compiler and 50 µs each; breakpoints in the linker on
// the one call and behind the other are a quarter of that. Stops at all calls remain for
// programs whose linker does not look like that, which lose nothing but time.
//
// Refused: to see the images where the linker says to debuggers that they are there, which
// is after code of theirs has run (resolvers of indirect functions).
//
// The engine reads the code at the entry point, puts breakpoints on the sites that are found, and asks at each hit. Only the tracer's goroutine uses
// them. Nothing here touches a process.
package starts

import (
	"bytes"
	"iter"
	"maps"

	"alleria/internal/sys"
)

// Calls is how many calls of a native start are watched at most: more
// than a dynamic linker makes for a large program.
const Calls = 4000

// MostCode bounds the code that is looked through: a linker's, or that of a small static
// program. Reading a large program's would bring all of it into memory.
const MostCode = 1 << 20

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

// Sites are where the breakpoints of a native start belong.
type Sites struct {
	rseq map[uint64]bool // on the system call
	mmap map[uint64]bool // on the comparison behind it
	left int             // hits until the start counts as over
}

// Find looks for them in code that begins at an address; nil if it does not have both.
func Find(code []byte, start uint64) *Sites {
	s := &Sites{rseq: make(map[uint64]bool), mmap: make(map[uint64]bool), left: Calls}
	for _, c := range []string{rseqCode, rseqWide} {
		eachIn(code, c, func(at int) { s.rseq[start+uint64(at)+numberSize] = true })
	}
	eachIn(code, mmapCode, func(at int) { s.mmap[start+uint64(at)+numberSize+callSize] = true })
	if len(s.rseq) == 0 || len(s.mmap) == 0 {
		return nil
	}
	return s
}

// All are the addresses of the breakpoints.
func (s *Sites) All() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for _, sites := range []map[uint64]bool{s.rseq, s.mmap} {
			for at := range maps.Keys(sites) {
				if !yield(at) {
					return
				}
			}
		}
	}
}

// Rseq tells whether the breakpoint at an address is on the call that registers restartable sequences; Has tells a breakpoint of the start at all.
func (s *Sites) Rseq(at uint64) bool { return s.rseq[at] }
func (s *Sites) Has(at uint64) bool  { return s.rseq[at] || s.mmap[at] }

// Hit counts a hit, and tells whether the start is over with it.
func (s *Sites) Hit(at uint64) (over bool) {
	s.left--
	return s.left == 0 || s.rseq[at]
}

// Skip executes the comparison behind mmap for a thread that stands at it.
func Skip(regs *sys.Regs) {
	compare(regs, regs.Rax, ^uint64(4095))
	regs.Rip += cmpSize
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
