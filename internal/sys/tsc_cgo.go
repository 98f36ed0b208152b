package sys

/*
#include <cpuid.h>
#include <x86intrin.h>
static unsigned long long tsc(void) { return __rdtsc(); }
static int leaf(unsigned n, unsigned s, unsigned *r) { return __get_cpuid_count(n, s, r, r + 1, r + 2, r + 3); }
*/
import "C"

import (
	"strings"
	"time"
)

// TSC reads the time-stamp counter.
// Through C, since Go has no intrinsic for it: some tens of nanoseconds a call. That is why
// records take their time stamps in the target.
func TSC() uint64 { return uint64(C.tsc()) }

// Clock is a moment in both of the machine's times.
type Clock struct {
	at    time.Time
	ticks uint64
}

// StartClock reads both times.
func StartClock() Clock { return Clock{time.Now(), TSC()} }

// TSCFrequency is how many ticks the time-stamp counter makes a second: what
// the processor says, else measured since the clock was started.
//
// Leaf 0x15 (Intel SDM volume 2, CPUID) gives the ratio to the crystal and the
// crystal's frequency; many processors and most virtual machines leave one of them
// zero. Three milliseconds are good to about a thousandth; who needs the frequency starts the clock
// early, so that there is nothing to wait for.
func (c Clock) TSCFrequency() uint64 {
	if r, ok := cpuid(0x15, 0); ok && r[0] != 0 && r[1] != 0 && r[2] != 0 {
		return uint64(r[2]) * uint64(r[1]) / uint64(r[0])
	}
	time.Sleep(3*time.Millisecond - time.Since(c.at))
	ticks, took := TSC()-c.ticks, time.Since(c.at)
	return uint64(float64(ticks) / took.Seconds())
}

// cpuid asks one leaf, in the order EAX, EBX, ECX, EDX; ok is false for one that the
// processor does not have.
func cpuid(leaf, sub uint32) (r [4]uint32, ok bool) {
	var c [4]C.uint
	ok = C.leaf(C.uint(leaf), C.uint(sub), &c[0]) != 0
	for i := range c {
		r[i] = uint32(c[i])
	}
	return r, ok
}

// CPUIDLeaf is what cpuid answers.
type CPUIDLeaf struct {
	Leaf, Subleaf      uint32 // EAX and ECX of the question
	EAX, EBX, ECX, EDX uint32 // the answer
}

// CPUIDLeaves reads the processor's leaves, basic and extended.
//
// They are those of the processor that runs the calling thread at the moment. The bound
// of 64 guards against a virtual machine that claims leaves without end.
func CPUIDLeaves() []CPUIDLeaf {
	var out []CPUIDLeaf
	for _, base := range []uint32{0, 0x80000000} {
		top, _ := cpuid(base, 0)
		for leaf := base; leaf <= top[0] && leaf-base < 64; leaf++ {
			for sub := range subleaves(leaf) {
				if r, ok := cpuid(leaf, sub); ok {
					out = append(out, CPUIDLeaf{leaf, sub, r[0], r[1], r[2], r[3]})
				}
			}
		}
	}
	return out
}

// subleaves is how many subleaves of a leaf are read.
// Leaves that say themselves how many they have (4, 7, 0xd …) are read to a bound
// that holds for all processors known; empty ones are written as they are.
func subleaves(leaf uint32) uint32 {
	switch leaf {
	case 4, 7, 0xb, 0x14, 0x18, 0x1f:
		return 4
	case 0xd:
		return 20
	}
	return 1
}

// CPUVendor is the processor's vendor string.
func CPUVendor() string {
	r, _ := cpuid(0, 0)
	return text(r[1], r[3], r[2])
}

// CPUBrand is the processor's name.
func CPUBrand() string {
	var words []uint32
	for leaf := uint32(0x80000002); leaf <= 0x80000004; leaf++ {
		r, ok := cpuid(leaf, 0)
		if !ok {
			return ""
		}
		words = append(words, r[:]...)
	}
	return strings.TrimSpace(strings.TrimRight(text(words...), "\x00"))
}

// text puts registers together to the string that they hold, lowest byte first.
func text(words ...uint32) string {
	var b []byte
	for _, w := range words {
		b = append(b, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
	return string(b)
}
