package tracee

import (
	"encoding/binary"
	"fmt"

	"alleria/internal/sys"
)

// An int3 of ours that a thread hits while it blocks or ignores SIGTRAP makes the kernel forget what the program does
// with that signal, and the block. So what the program does is asked at each hit, while it can be: programs that handle
// SIGTRAP are few. A handler that is gone with a hit was lost by it, and the thread had the signal blocked. It is asked where a thread leaves the code cache as well, whose
// calls are not heard of. A handler that is installed natively, with no hit since, the program's own code has noted (package probe), where the call was found.

//
// The same holds for SIGSEGV where pages of code are guarded (appcode), and a write of the program's to one of them faults. What the program does with that
// signal is asked when pages are guarded.

// Trap is what a process does with SIGTRAP, or another signal that faults of ours raise, where that is not the default.
type Trap struct {
	Signal  sys.Signal // 0: SIGTRAP
	Ignored bool       // it was started with the signal ignored
	known   bool
	words   action
}

// Noted says what the program has asked for last, as rt_sigaction wants it: handler, flags, restorer, mask.
func (d *Trap) Noted(words [4]uint64) { d.known, d.words = words[0] != 0, words }

// number is the signal's.
func (d *Trap) number() sys.Signal {
	if d.Signal != 0 {
		return d.Signal
	}
	return SIGTRAP
}

// action is as rt_sigaction wants it: handler, flags, restorer, mask.
type action [4]uint64

// ignore is SIG_IGN.
const ignore = 1

// Known tells whether the process has been seen to do something with the signal.
func (d *Trap) Known() bool { return d.known }

// Borrowed is what a call needs that a thread is had to make: the address of a syscall instruction, and words of memory that both sides see,
// with their address in the process.
type Borrowed struct {
	Call, Addr uint64
	Words      Words
	Off        int // of them there, in bytes
}

// Words is memory that is shared with a process, by offset in bytes.
type Words interface {
	Get(off int) uint64
	Set(off int, v uint64)
}

// set writes an action there.
func (b *Borrowed) set(a action) {
	for i, w := range a {
		b.Words.Set(b.Off+8*i, w)
	}
}

// Mend puts right what a hit of an int3 of ours has done to a stopped native thread. borrow says what its calls need, and whether it may make any.
func (d *Trap) Mend(t *Thread, borrow func() (Borrowed, bool)) error {
	bit := uint64(1) << (d.number() - 1)
	sets, err := t.kernel().ReadSignalSets(t.TID)
	if err != nil {
		return err
	}
	handled := (sets.Caught|sets.Ignored)&bit != 0
	if !handled && !d.known {
		if !AllBut(sets.Blocked, bit) {
			return nil
		}
		return t.SetMask(sets.Blocked | bit)
	}
	b, ok := borrow()
	if !ok {
		return nil
	}
	if handled {
		return d.read(t, &b)
	}
	if d.words[0] != ignore { // not just ignored
		if err := t.SetMask(sets.Blocked | bit); err != nil {
			return err
		}
	}
	b.set(d.words)
	return d.act(t, &b, b.Addr, 0)
}

// Learn asks what the program does with the signal, before a stopped thread may run into an int3 of ours for the first time since the program could change it.
func (d *Trap) Learn(t *Thread, borrow func() (Borrowed, bool)) error {
	sets, err := t.kernel().ReadSignalSets(t.TID)
	if err != nil {
		return err
	}
	if d.known = false; (sets.Caught|sets.Ignored)>>(d.number()-1)&1 == 0 {
		return nil
	}
	b, ok := borrow()
	if !ok {
		return nil
	}
	return d.read(t, &b)
}

// read has a stopped thread read what its process does with the signal, which is something.
func (d *Trap) read(t *Thread, b *Borrowed) error {
	d.known = true
	return d.act(t, b, 0, b.Addr)
}

// act has a stopped thread set or read what its process does with SIGTRAP: addresses of it, or 0.
func (d *Trap) act(t *Thread, b *Borrowed, set, get uint64) error {
	in, err := t.Inject(b.Call)
	if err != nil {
		return err
	}
	_, err = in.Call(SysSigaction, uint64(d.number()), set, get, 8)
	if cerr := in.Close(); cerr != nil {
		return cerr
	}
	if err != nil {
		d.known = false
		return nil
	}
	if get != 0 {
		for i := range d.words {
			d.words[i] = b.Words.Get(b.Off + 8*i)
		}
	}
	return nil
}

// GiveBackItself is GiveBackTrap by the thread, which is stopped and blocks the signal: nobody else may send one as a process sends it to itself, and the program may read who has sent it
// (sigwaitinfo). false if its call was refused.
func (t *Thread) GiveBackItself(h *Signal, b *Borrowed) (bool, error) {
	const getpid, gettid, queue = 39, 186, 297
	t.SentAgain(h)
	in, err := t.Inject(b.Call)
	if err != nil {
		return false, err
	}
	for i := 0; i < len(h.Info); i += 8 {
		b.Words.Set(b.Off+i, binary.LittleEndian.Uint64(h.Info[i:]))
	}
	pid, err := in.Call(getpid) // as it is in its own namespace
	if err == nil {
		var tid uint64
		if tid, err = in.Call(gettid); err == nil {
			_, err = in.Call(queue, pid, tid, uint64(h.Number), b.Addr)
		}
	}
	return err == nil, in.Close()
}

// Ignores tells whether the process has been seen to ignore the signal. What it does now the kernel says.
func (d *Trap) Ignores() bool { return d.Ignored || d.known && d.words[0] == ignore }

// Ignore makes the kernel ignore SIGTRAP again.
// It is done in the program's name because dispositions can be set by nobody else.
func (d *Trap) Ignore(t *Thread, b Borrowed) error {
	in, err := t.Inject(b.Call)
	if err != nil {
		return err
	}
	words := action{ignore} // no flags, no restorer, no mask
	if d.known && d.words[0] == ignore {
		words = d.words
	}
	b.set(words)
	if _, err := in.Call(SysSigaction, SIGTRAP, b.Addr, 0, 8); err != nil {
		return fmt.Errorf("disposition of SIGTRAP: %w", err)
	}
	return in.Close()
}
