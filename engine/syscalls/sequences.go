package syscalls

import (
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Restartable sequences (rseq). A thread registers an area, in which the kernel writes on which processor it is, and the thread which sequence it is in: one that loses
// its processor there goes on at the sequence's abort address. The kernel looks for threads at the sequence's own addresses, which no thread in the cache is at.
//
// So a process whose threads have none is answered as by a kernel without them, in the cache, at a native start (package starts) and where it asks for their barriers: it
// does without. One that has registered some where we did not see it, before it was forked by a process that is followed or late and natively, counts on the next
// registration to succeed: the C library ends the program over a thread that is refused what its creator has. Such a process has what the kernel
// has from then on, in the cache and natively, and so have children that it forks. The processor's number is right there, which is all that the C library
// takes of it; a program's own sequences are not restarted in the cache, which the client is to tell of (HasSequences).
//
// Which of both it is, the kernel says of each thread when it comes into the cache. A program that is executed begins without any.
//
// Refused: taking registrations back and writing into their areas that they have failed, which the C library looks at when it creates a thread, but what has
// found sequences once (tcmalloc) does not; success without a registration, where nobody writes the processor's number.

// BornWithSequences says whether a process that stands behind the fork that made it has registered some: its creator has, as far as we know, or the kernel says so.
//
// One that cannot be asked (before Linux 5.13) refuses a registration in its own half of the addresses otherwise to a thread that has one.
func (t *Thread) BornWithSequences(creator bool) error {
	c := t.calls
	if creator {
		c.keepSequences()
		return nil
	}
	if no, is := sys.AsErrno(t.SeeSequences()); !is || no != eio || !c.May() {
		return nil
	}
	in, err := t.tracee.Inject(c.host.OwnCall())
	if err != nil {
		return err
	}
	const at, size, signature = 0xffff800000000000, 32, 0x53053053
	_, refused := in.Call(Rseq, at, size, 0, signature)
	if no, is := sys.AsErrno(refused); is && no == einval { // and no EFAULT
		c.keepSequences()
	} else if !is {
		return refused
	}
	return in.Close()
}

// SeeSequences looks whether a stopped thread that comes into the cache has registered some. Where the kernel cannot be asked it has none.
func (t *Thread) SeeSequences() error {
	if t.calls.sequences {
		return nil
	}
	var s sys.Sequences
	err := t.tracee.Sequences(&s)
	if err == nil && s.Area != 0 {
		t.calls.keepSequences()
	}
	return err
}

// HasSequences tells whether the process has registered some with the kernel.
func (c *Calls) HasSequences() bool { return c.sequences }

// keepSequences has translated code make the calls that are about them like others.
func (c *Calls) keepSequences() {
	c.sequences = true
	for _, nr := range []uint32{Rseq, sysMembarrier} {
		c.special[int(nr)] = layout.SyscallPlain
		c.setTable(nr)
	}
}

// register makes or answers the call that registers them.
func (t *Thread) register(regs *sys.Regs, plain uint64) (Next, error) {
	if t.calls.sequences {
		return t.Let(regs, plain)
	}
	return t.Finish(regs, NoSuchCall())
}
