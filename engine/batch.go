package engine

import (
	"encoding/binary"
	"fmt"

	"alleria/engine/codecache"
	"alleria/engine/shm"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// batchCall is one of several system calls that a target makes in a row. The fifth argument
// of each is the result of the last open before it, as is a first argument of 0: the descriptor
// that memory is mapped from.
type batchCall struct {
	nr     uint64
	args   [5]uint64 // rdi, rsi, rdx, r10, r9
	result uint64
}

const batchCallSize = 56

// batch makes the thread execute the calls in a row, with one stop behind the last, where
// call takes two for each: waking a processor that idles takes 50 µs. scratch is writable
// memory of the target's that nobody uses, with room for the calls.
//
// It ends in an int3, so that the thread must not block or ignore SIGTRAP: the kernel would
// change that.
func (in *injector) batch(calls []batchCall, scratch uint64) error {
	code := codecache.BatchCode()
	orig := make([]byte, len(code))
	if _, err := in.mem.ReadAt(orig, int64(in.at)); err != nil {
		return fmt.Errorf("code at %#x: %w", in.at, err)
	}
	var table []byte
	for i := range calls {
		c := &calls[i]
		for _, w := range append([]uint64{c.nr}, c.args[:]...) {
			table = binary.LittleEndian.AppendUint64(table, w)
		}
		table = binary.LittleEndian.AppendUint64(table, ^uint64(0))
	}
	if _, err := in.mem.WriteAt(table, int64(scratch)); err != nil {
		return fmt.Errorf("stack at %#x: %w", scratch, err)
	}
	if _, err := in.mem.WriteAt(code, int64(in.at)); err != nil {
		return fmt.Errorf("code at %#x: %w", in.at, err)
	}
	r := in.saved
	r.Rip, r.Rbx, r.R12, r.R13, r.Orig_rax = in.at, ^uint64(0), scratch, uint64(len(calls)), ^uint64(0)
	if err := sys.SetRegs(in.t.tid, &r); err != nil {
		return err
	}
	if err := in.t.p.tr.toBreakpoint(in.t); err != nil {
		return err
	}
	if _, err := in.mem.WriteAt(orig, int64(in.at)); err != nil {
		return fmt.Errorf("code at %#x: %w", in.at, err)
	}
	if _, err := in.mem.ReadAt(table, int64(scratch)); err != nil {
		return fmt.Errorf("stack at %#x: %w", scratch, err)
	}
	for i := range calls {
		calls[i].result = binary.LittleEndian.Uint64(table[i*batchCallSize+batchCallSize-8:])
	}
	clear(table)
	_, err := in.mem.WriteAt(table, int64(scratch))
	return err
}

// toBreakpoint lets a stopped thread run into an int3 of ours. Other signals are held.
func (tr *Tracer) toBreakpoint(t *Thread) error {
	for {
		if err := sys.Cont(t.tid, 0); err != nil {
			return err
		}
		s, err := tr.waitFor(t)
		if err != nil {
			return err
		}
		if s.Status.Exited() || s.Status.Signaled() {
			tr.later = append(tr.later, s)
			return errEnded
		}
		if s.Event() != 0 {
			continue
		}
		h, err := hold(t, s.Signal())
		if err != nil {
			return err
		}
		if h.sig == sigTrap && h.info.Code() == codeKernel {
			return nil
		}
		tr.sentAgain(t, &h)
		t.held = append(t.held, h)
	}
}

// mapAtOnce is what mapWith does one by one, where nothing is in the way: it opens the
// shared files, maps their parts where they are proposed to be, and closes them. false: nothing was
// mapped, and mapWith finds out why or maps elsewhere.
//
// A filter of system calls that survived an execve could kill for a call that is not needed.
func (p *Process) mapAtOnce(in *injector, file, bell, scratch uint64, pl *placement) (bool, error) {
	if can, err := p.canBatch(p.pid); !can {
		return false, err
	}
	calls := []batchCall{{nr: sysOpen, args: [5]uint64{file, openReadWrite}}}
	add := func(addr, size, prot, off uint64) {
		calls = append(calls, batchCall{nr: sysMmap, args: [5]uint64{addr, size, prot, mapShared | mapNoReserve | mapFixedNoReplace, off}},
			batchCall{nr: sysMadvise, args: [5]uint64{addr, size, madvDontDump}})
	}
	add(pl.slots, shm.SharedBytes, protRead|protWrite, shm.ControlOff)
	for i, base := range pl.regions {
		add(base, shm.RegionBytes, protRead|protExec, shm.RegionsOff+uint64(i)*shm.RegionBytes)
	}
	calls = append(calls, batchCall{nr: sysClose}, batchCall{nr: sysOpen, args: [5]uint64{bell, openReadWrite}})
	add(pl.slots-layout.BellBelow, layout.BellBelow, protRead|protWrite, 0)
	calls = append(calls, batchCall{nr: sysClose})
	if err := in.batch(calls, scratch); err != nil {
		return false, err
	}
	all := true
	for _, c := range calls {
		all = all && (c.nr != sysMmap || c.result == c.args[0])
	}
	for _, c := range calls {
		if !all && c.nr == sysMmap && c.result < ^uint64(4095) {
			if _, err := in.call(sysMunmap, c.result, c.args[1]); err != nil {
				return false, fmt.Errorf("unmapping what was mapped in part: %w", err)
			}
		}
	}
	return all, nil
}

// canBatch tells whether a thread of the process, or of one that it has created, may make calls in a row.
func (p *Process) canBatch(tid int) (bool, error) {
	const bit = 1 << (sigTrap - 1)
	sets, err := sys.ReadSignalSets(tid)
	return err == nil && !p.tr.opts.NoBatch && !p.filtered && (sets.Blocked|sets.Ignored)&bit == 0, err
}

// openReadWrite is O_RDWR.
const openReadWrite = 2
