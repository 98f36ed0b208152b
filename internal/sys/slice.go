package sys

import "golang.org/x/sys/unix"

// shortSlice is the shortest time slice that the kernel gives, in nanoseconds.
const shortSlice = 100_000

// ShortSlices asks for the shortest time slices for the calling thread. One that sleeps more
// than it runs gets its processor sooner by that when it wakes, before threads that
// compute; its share of the processor stays the same. Kernels before 6.12 know no such
// thing, and a thread with another policy than the usual one has no use for it.
func ShortSlices() {
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL {
		return
	}
	attr.Runtime = shortSlice
	_ = unix.SchedSetAttr(0, attr, 0)
}

// YieldToOthers makes the calling thread one that computes: when it wakes it does not take the
// processor from who has it (SCHED_BATCH). Its share stays the same. A thread with another policy than the
// usual one is left alone.
func YieldToOthers() {
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL {
		return
	}
	attr.Policy = unix.SCHED_BATCH
	_ = unix.SchedSetAttr(0, attr, 0)
}
