package mapping

import (
	"fmt"
	"os"

	"alleria/engine/appcode"
	"alleria/engine/codecache"
	"alleria/engine/shm"
	"alleria/engine/tracee"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Map maps the shared file in the target, whose one thread, t, stands before its first
// instruction, and in the tracer. at says where it stands; as are proposals, nil for none.
func (m *Target) Map(t *tracee.Thread, at Where, as *Places) error {
	// The stop lies within execve, which still writes its result into rax: it
	// has to end before another call can be made.
	if at == Executing {
		if err := t.CallStops(1); err != nil {
			return err
		}
	}
	var regs sys.Regs
	if err := t.GetRegs(&regs); err != nil {
		return err
	}
	in, err := t.InjectAt(m.Mem, regs.Rip)
	if err != nil {
		return err
	}
	if at == Executing {
		err = m.mapWith(in, (regs.Rsp-appcode.PageSize)&^63-tracee.ScratchBytes, as) // below what the program's start finds on its stack
	} else {
		err = m.mapWithin(in, as)
	}
	if cerr := in.Close(); err == nil {
		err = cerr
	}
	return err
}

// mapWithin is mapWith for a process in the middle of its program.
func (m *Target) mapWithin(in *tracee.Injector, as *Places) error {
	at, giveBack, err := in.Scratch()
	if err != nil {
		return err
	}
	if err := m.mapWith(in, at, as); err != nil {
		return err
	}
	return giveBack()
}

// mapWith opens the shared files in the target by the tracer's descriptors and
// maps their parts. scratch is memory of the target's that nobody uses; it is left as zeros.
//
// The files are opened through the tracer's descriptors in /proc, so that the target needs no
// descriptor handed down to it, and closed again before its first instruction.
func (m *Target) mapWith(in *tracee.Injector, scratch uint64, as *Places) error {
	const file, bell, table = 0, 64, 128 // parts of it
	pl, err := m.placesLike(as)
	if err != nil {
		return err
	}
	paths := make([]byte, table)
	copy(paths[file:], fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), m.Shm.File.Fd()))
	copy(paths[bell:], fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), m.Shm.Bell.File.Fd()))
	if _, err := m.Mem.WriteAt(paths, int64(scratch)); err != nil {
		return fmt.Errorf("stack of process %d: %w", m.PID, err)
	}
	done, err := m.mapAtOnce(in, scratch+file, scratch+bell, scratch+table, &pl)
	if err == nil && !done {
		err = m.mapEach(in, scratch+file, scratch+bell, scratch+table, &pl)
	}
	if err != nil {
		return err
	}
	if _, err := m.Mem.WriteAt(make([]byte, len(paths)), int64(scratch)); err != nil {
		return fmt.Errorf("stack of process %d: %w", m.PID, err)
	}
	m.Shm.SlotsBase = pl.Slots + shm.ControlBytes
	for i, base := range pl.Regions {
		a, err := codecache.NewRegion(m.Shm.File, int64(shm.RegionsOff+uint64(i)*shm.RegionBytes), shm.RegionBytes, base)
		if err != nil {
			return err
		}
		a.Num = uint8(len(m.Cache.Regions))
		m.Cache.Regions = append(m.Cache.Regions, a)
	}
	return m.Shm.MapControl()
}

// mapEach opens the files, whose paths lie at file and bell, maps their parts one by one, near to where they are proposed to
// be, and says in pl where they came to lie.
func (m *Target) mapEach(in *tracee.Injector, file, bell, hand uint64, pl *Places) error {
	err := withFile(in, file, m.Shm.File, hand, "shared memory", func(fd uint64) error { return m.mapFile(in, fd, pl) })
	if err != nil {
		return err
	}
	return withFile(in, bell, m.Shm.Bell.File, hand, "doorbell", func(fd uint64) error {
		if _, err := m.mapNear(in, fd, pl.Slots-layout.BellBelow, 0, layout.BellBelow, tracee.ProtRead|tracee.ProtWrite, 0); err != nil {
			return fmt.Errorf("mapping the doorbell in the target: %w", err)
		}
		return nil
	})
}

// withFile has something done with a file of ours that is open in the target, where it does not stay: a program that cannot be traced executes on.
func withFile(in *tracee.Injector, path uint64, file *os.File, hand uint64, name string, do func(fd uint64) error) error {
	fd, err := in.OpenFile(path, file, hand)
	if err != nil {
		return fmt.Errorf("opening the %s in the target: %w", name, err)
	}
	err = do(fd)
	if _, cerr := in.Call(tracee.SysClose, fd); cerr != nil && err == nil {
		return fmt.Errorf("closing the %s in the target: %w", name, cerr)
	}
	return err
}

// mapFile is mapEach for the file of a process's own.
func (m *Target) mapFile(in *tracee.Injector, fd uint64, pl *Places) (err error) {
	pl.Slots, err = m.mapNear(in, fd, pl.Slots, -1<<30, shm.SharedBytes, tracee.ProtRead|tracee.ProtWrite, shm.ControlOff)
	if err != nil {
		if sys.NoMemory(err) {
			return fmt.Errorf("the rings do not fit into the target's address space (ulimit -v unlimited helps if it is limited): %w", err)
		}
		return fmt.Errorf("mapping the rings in the target: %w", err)
	}
	for i, base := range pl.Regions {
		if pl.Regions[i], err = m.mapNear(in, fd, base, -shm.RegionBytes, shm.RegionBytes, tracee.ProtRead|tracee.ProtExec, shm.RegionsOff+uint64(i)*shm.RegionBytes); err != nil {
			return fmt.Errorf("mapping the code cache in the target: %w", err)
		}
	}
	return nil
}

// mapAtOnce is what mapWith does one by one, where nothing is in the way: it opens the
// shared files, maps their parts where they are proposed to be, and closes them. false: nothing was
// mapped, and mapWith finds out why or maps elsewhere.
//
// A filter of system calls that survived an execve could kill for a call that is not needed.
func (m *Target) mapAtOnce(in *tracee.Injector, file, bell, scratch uint64, pl *Places) (bool, error) {
	if can, err := m.canBatch(m.PID); !can {
		return false, err
	}
	calls := []tracee.BatchCall{{Number: tracee.SysOpen, Args: [5]uint64{file, tracee.OpenReadWrite}}}
	add := func(addr, size, prot, off uint64) {
		calls = append(calls, tracee.BatchCall{Number: tracee.SysMmap, Args: [5]uint64{addr, size, prot, tracee.MapShared | tracee.MapNoReserve | tracee.MapFixedNoReplace, off}},
			tracee.BatchCall{Number: tracee.SysMadvise, Args: [5]uint64{addr, size, tracee.MadvDontDump}})
	}
	add(pl.Slots, shm.SharedBytes, tracee.ProtRead|tracee.ProtWrite, shm.ControlOff)
	for i, base := range pl.Regions {
		add(base, shm.RegionBytes, tracee.ProtRead|tracee.ProtExec, shm.RegionsOff+uint64(i)*shm.RegionBytes)
	}
	calls = append(calls, tracee.BatchCall{Number: tracee.SysClose}, tracee.BatchCall{Number: tracee.SysOpen, Args: [5]uint64{bell, tracee.OpenReadWrite}})
	add(pl.Slots-layout.BellBelow, layout.BellBelow, tracee.ProtRead|tracee.ProtWrite, 0)
	calls = append(calls, tracee.BatchCall{Number: tracee.SysClose})
	if err := in.Batch(codecache.BatchCode(), calls, scratch); err != nil {
		return false, err
	}
	all := true
	for _, c := range calls {
		all = all && (c.Number != tracee.SysMmap || c.Result == c.Args[0])
	}
	for _, c := range calls {
		if !all && c.Number == tracee.SysMmap && c.Result < ^uint64(4095) {
			if _, err := in.Call(tracee.SysMunmap, c.Result, c.Args[1]); err != nil {
				return false, fmt.Errorf("unmapping what was mapped in part: %w", err)
			}
		}
	}
	return all, nil
}

// canBatch tells whether a thread of the process, or of one that it has created, may make calls in a row.
func (m *Target) canBatch(tid int) (bool, error) {
	const bit = 1 << (tracee.SIGTRAP - 1)
	sets, err := sys.ReadSignalSets(tid)
	return err == nil && !m.NoBatch && !m.Filtered && (sets.Blocked|sets.Ignored)&bit == 0, err
}

// mapNear maps size bytes of fd at addr, or a few steps further on if something
// is there.
// MAP_FIXED_NOREPLACE never replaces what is there; kernels before 4.17 take the
// address for a hint and map elsewhere, which the comparison finds.
//
// Core dumps leave the mapping out: it is not the program's, and most of it is room. A kernel
// that does not know the advice takes it along. A filter that survived an execve may allow
// mmap and kill for this.
func (m *Target) mapNear(in *tracee.Injector, fd, addr uint64, step int64, size, prot, off uint64) (uint64, error) {
	var err error
	for range 5 {
		var got uint64
		got, err = in.Call(tracee.SysMmap, addr, size, prot, tracee.MapShared|tracee.MapNoReserve|tracee.MapFixedNoReplace, fd, off)
		if err == nil && got == addr {
			if !m.Filtered {
				_, _ = in.Call(tracee.SysMadvise, addr, size, tracee.MadvDontDump)
			}
			return addr, nil
		}
		addr += uint64(step)
	}
	return 0, err
}
