package x86

/*
#include <cpuid.h>

// CPUID leaf 0xd, subleaf n (Intel SDM volume 1, section 13.2): EAX size, EBX offset
// in the standard format, ECX bit 1 alignment in the compacted one. All stay zero on
// a processor without the leaf.
static void component(unsigned n, unsigned *size, unsigned *off, unsigned *flags) {
	unsigned a = 0, b = 0, c = 0, d = 0;
	__get_cpuid_count(0xd, n, &a, &b, &c, &d);
	*size = a; *off = b; *flags = c;
}

// Subleaf 0: EDX and EAX are the components that may be enabled.
static unsigned long long components(void) {
	unsigned a = 0, b = 0, c = 0, d = 0;
	__get_cpuid_count(0xd, 0, &a, &b, &c, &d);
	return (unsigned long long)d << 32 | a;
}

// Leaf 7: bit 11 of EBX.
static int rtm(void) {
	unsigned a = 0, b = 0, c = 0, d = 0;
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b >> 11 & 1;
}
*/
import "C"

import "sync"

// State components of an XSAVE area beyond the legacy region, and the sizes of what
// comes before them.
const (
	StateYMM     = 2 // upper halves of ymm0 … ymm15
	StateK       = 5 // k0 … k7
	StateZMM     = 6 // upper halves of zmm0 … zmm15
	StateHiZMM   = 7 // zmm16 … zmm31
	StateLegacy  = 512
	StateHeader  = 64
	StateXMM0Off = 160 // xmm0 in the legacy region
)

// State is a component of an XSAVE area: its number, where it lies in the standard format, its size, and
// whether it begins at a multiple of 64 bytes in the compacted one.
type State struct {
	N            int
	Offset, Size uint32
	Aligned      bool
}

// HasRTM tells whether the processor has transactions. It asks the processor, as States does.
func HasRTM() bool { return C.rtm() != 0 }

// States is the components that the processor has beyond the legacy region, in the order of their numbers, which is that
// of their places in the compacted format. It asks the processor, which takes some microseconds
// a component in a virtual machine.
func States() []State {
	var list []State
	for has, n := uint64(C.components()), 2; n < 63; n++ {
		if has>>n&1 == 0 {
			continue
		}
		off, size, aligned := stateComponent(n)
		list = append(list, State{n, off, size, aligned})
	}
	return list
}

// StateComponent is where a state component of more than the legacy region lies
// in an XSAVE area of the standard format, and its size: 0 if the processor has
// no such component.
func StateComponent(n int) (offset, size uint32) {
	offset, size, _ = stateComponent(n)
	return offset, size
}

// stateComponent also tells whether the component begins at a multiple of 64 bytes
// in the compacted format.
//
// It is asked for at every stop of a thread whose vector registers are of interest, and the processor once: in a virtual machine
// each question leaves it, which was a fourteenth of what functions' first captured calls took.
func stateComponent(n int) (offset, size uint32, aligned bool) {
	if n < len(components) {
		components[n].once.Do(func() { components[n].offset, components[n].size, components[n].aligned = askComponent(n) })
		c := &components[n]
		return c.offset, c.size, c.aligned
	}
	return askComponent(n)
}

// components is what the processor has said.
var components [StateHiZMM + 1]struct {
	once         sync.Once
	offset, size uint32
	aligned      bool
}

// askComponent is stateComponent, of the processor.
func askComponent(n int) (offset, size uint32, aligned bool) {
	var s, o, flags C.uint
	C.component(C.uint(n), &s, &o, &flags)
	return uint32(o), uint32(s), flags&2 != 0
}
