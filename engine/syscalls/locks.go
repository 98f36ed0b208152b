package syscalls

import (
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// mlockall locks all that is mapped, what we have mapped with it, and is refused where that is more than an unprivileged process may lock (RLIMIT_MEMLOCK). It is made for the
// program's mappings one by one then.

// lockOwn does what a stopped thread's mlockall with flags, which was refused, would have done to the program's mappings; false if that would be refused, too.
func (t *Thread) lockOwn(flags uint64) (done bool, err error) {
	in, err := t.tracee.Inject(t.calls.host.OwnCall())
	if err != nil {
		return false, err
	}
	// the process asks itself: others may not be asked about one that has changed its user
	if _, err := in.Call(sysPrlimit64, 0, limitMemlock, 0, t.slot.Base+layout.Scratch); err != nil {
		return false, in.Close()
	}
	own, size := t.calls.ownMappings()
	if size == 0 || size > t.slot.Get(layout.Scratch) {
		return false, in.Close()
	}
	if rest := flags &^ mclCurrent; rest&mclFuture != 0 {
		if _, err := in.Call(sysMlockall, rest); err != nil {
			return false, in.Close()
		}
	}
	for i := range own {
		// what cannot be read or has no memory is locked, and not made, as by mlockall
		_, _ = in.Call(sysMlock2, own[i].Start, own[i].End-own[i].Start, flags&mclOnFault/mclOnFault)
	}
	return true, in.Close()
}

// ownMappings is what the program itself has mapped, and how much; nothing if that cannot be read.
func (c *Calls) ownMappings() (own []sys.Mapping, size uint64) {
	const end = 1 << 47 // of a program's addresses
	all, err := sys.Maps(c.pid)
	if err != nil {
		return nil, 0
	}
	for i := range all {
		if m := &all[i]; m.Start < end && !c.host.Ours(m.Start) {
			size += m.End - m.Start
			own = append(own, *m)
		}
	}
	return own, size
}
