package engine

import (
	"encoding/binary"
	"fmt"
	"os"

	"alleria/engine/appcode"
	"alleria/engine/codecache"
	"alleria/engine/shm"
	"alleria/engine/tracee"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// mapShared maps the shared file in the target, whose one thread stands before its first
// instruction, and in the tracer.
func (p *Process) mapShared(t *Thread, at beginning, creator *Process) error {
	// The stop lies within execve, which still writes its result into rax: it
	// has to end before another call can be made.
	if at == executing {
		if err := t.tracee.CallStops(1); err != nil {
			return err
		}
	}
	var regs sys.Regs
	if err := sys.GetRegs(p.pid, &regs); err != nil {
		return err
	}
	in, err := t.tracee.InjectAt(p.mem, regs.Rip)
	if err != nil {
		return err
	}
	if at == executing {
		err = p.mapWith(in, (regs.Rsp-appcode.PageSize)&^63-tracee.ScratchBytes, nil) // below what the program's start finds on its stack
	} else {
		err = p.mapForked(in, creator)
	}
	if cerr := in.Close(); err == nil {
		err = cerr
	}
	return err
}

// mapForked is mapWith for a process in the middle of its program.
func (p *Process) mapForked(in *tracee.Injector, creator *Process) error {
	at, giveBack, err := in.Scratch()
	if err != nil {
		return err
	}
	if err := p.mapWith(in, at, creator); err != nil {
		return err
	}
	return giveBack()
}

// mapWith opens the shared files in the target by the tracer's descriptors and
// maps their parts. scratch is memory of the target's that nobody uses; it is left as zeros.
//
// The files are opened through the tracer's descriptors in /proc, so that the target needs no
// descriptor handed down to it, and closed again before its first instruction.
func (p *Process) mapWith(in *tracee.Injector, scratch uint64, creator *Process) error {
	const file, bell, table = 0, 64, 128 // parts of it
	pl, err := p.placeAs(creator)
	if err != nil {
		return err
	}
	paths := make([]byte, table)
	copy(paths[file:], fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), p.shm.File.Fd()))
	copy(paths[bell:], fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), p.shm.Bell.File.Fd()))
	if _, err := p.mem.WriteAt(paths, int64(scratch)); err != nil {
		return fmt.Errorf("stack of process %d: %w", p.pid, err)
	}
	done, err := p.mapAtOnce(in, scratch+file, scratch+bell, scratch+table, &pl)
	if err == nil && !done {
		err = p.mapEach(in, scratch+file, scratch+bell, scratch+table, &pl)
	}
	if err != nil {
		return err
	}
	if _, err := p.mem.WriteAt(make([]byte, len(paths)), int64(scratch)); err != nil {
		return fmt.Errorf("stack of process %d: %w", p.pid, err)
	}
	p.shm.SlotsBase = pl.slots + shm.ControlBytes
	for i, base := range pl.regions {
		a, err := codecache.NewRegion(p.shm.File, int64(shm.RegionsOff+uint64(i)*shm.RegionBytes), shm.RegionBytes, base)
		if err != nil {
			return err
		}
		a.Num = uint8(len(p.cache.Regions))
		p.cache.Regions = append(p.cache.Regions, a)
	}
	return p.initControl()
}

// mapEach opens the files, whose paths lie at file and bell, maps their parts one by one, near to where they are proposed to
// be, and says in pl where they came to lie.
func (p *Process) mapEach(in *tracee.Injector, file, bell, hand uint64, pl *placement) error {
	fd, err := in.OpenFile(file, p.shm.File, hand)
	if err != nil {
		return fmt.Errorf("opening the shared memory in the target: %w", err)
	}
	pl.slots, err = p.mapNear(in, fd, pl.slots, -1<<30, shm.SharedBytes, tracee.ProtRead|tracee.ProtWrite, shm.ControlOff)
	if err != nil {
		if sys.NoMemory(err) {
			return fmt.Errorf("the rings do not fit into the target's address space (ulimit -v unlimited helps if it is limited): %w", err)
		}
		return fmt.Errorf("mapping the rings in the target: %w", err)
	}
	for i, base := range pl.regions {
		if pl.regions[i], err = p.mapNear(in, fd, base, -shm.RegionBytes, shm.RegionBytes, tracee.ProtRead|tracee.ProtExec, shm.RegionsOff+uint64(i)*shm.RegionBytes); err != nil {
			return fmt.Errorf("mapping the code cache in the target: %w", err)
		}
	}
	if _, err := in.Call(tracee.SysClose, fd); err != nil {
		return fmt.Errorf("closing the shared memory in the target: %w", err)
	}
	if fd, err = in.OpenFile(bell, p.shm.Bell.File, hand); err != nil {
		return fmt.Errorf("opening the doorbell in the target: %w", err)
	}
	if _, err := p.mapNear(in, fd, pl.slots-layout.BellBelow, 0, layout.BellBelow, tracee.ProtRead|tracee.ProtWrite, 0); err != nil {
		return fmt.Errorf("mapping the doorbell in the target: %w", err)
	}
	if _, err := in.Call(tracee.SysClose, fd); err != nil {
		return fmt.Errorf("closing the doorbell in the target: %w", err)
	}
	return nil
}

// mapAtOnce is what mapWith does one by one, where nothing is in the way: it opens the
// shared files, maps their parts where they are proposed to be, and closes them. false: nothing was
// mapped, and mapWith finds out why or maps elsewhere.
//
// A filter of system calls that survived an execve could kill for a call that is not needed.
func (p *Process) mapAtOnce(in *tracee.Injector, file, bell, scratch uint64, pl *placement) (bool, error) {
	if can, err := p.canBatch(p.pid); !can {
		return false, err
	}
	calls := []tracee.BatchCall{{Number: tracee.SysOpen, Args: [5]uint64{file, tracee.OpenReadWrite}}}
	add := func(addr, size, prot, off uint64) {
		calls = append(calls, tracee.BatchCall{Number: tracee.SysMmap, Args: [5]uint64{addr, size, prot, tracee.MapShared | tracee.MapNoReserve | tracee.MapFixedNoReplace, off}},
			tracee.BatchCall{Number: tracee.SysMadvise, Args: [5]uint64{addr, size, tracee.MadvDontDump}})
	}
	add(pl.slots, shm.SharedBytes, tracee.ProtRead|tracee.ProtWrite, shm.ControlOff)
	for i, base := range pl.regions {
		add(base, shm.RegionBytes, tracee.ProtRead|tracee.ProtExec, shm.RegionsOff+uint64(i)*shm.RegionBytes)
	}
	calls = append(calls, tracee.BatchCall{Number: tracee.SysClose}, tracee.BatchCall{Number: tracee.SysOpen, Args: [5]uint64{bell, tracee.OpenReadWrite}})
	add(pl.slots-layout.BellBelow, layout.BellBelow, tracee.ProtRead|tracee.ProtWrite, 0)
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
func (p *Process) canBatch(tid int) (bool, error) {
	const bit = 1 << (tracee.SIGTRAP - 1)
	sets, err := sys.ReadSignalSets(tid)
	return err == nil && !p.tr.opts.NoBatch && !p.calls.Filtered && (sets.Blocked|sets.Ignored)&bit == 0, err
}

// mapNear maps size bytes of fd at addr, or a few steps further on if something
// is there.
// MAP_FIXED_NOREPLACE never replaces what is there; kernels before 4.17 take the
// address for a hint and map elsewhere, which the comparison finds.
//
// Core dumps leave the mapping out: it is not the program's, and most of it is room. A kernel
// that does not know the advice takes it along. A filter that survived an execve may allow
// mmap and kill for this.
func (p *Process) mapNear(in *tracee.Injector, fd, addr uint64, step int64, size, prot, off uint64) (uint64, error) {
	var err error
	for range 5 {
		var got uint64
		got, err = in.Call(tracee.SysMmap, addr, size, prot, tracee.MapShared|tracee.MapNoReserve|tracee.MapFixedNoReplace, fd, off)
		if err == nil && got == addr {
			if !p.calls.Filtered {
				_, _ = in.Call(tracee.SysMadvise, addr, size, tracee.MadvDontDump)
			}
			return addr, nil
		}
		addr += uint64(step)
	}
	return 0, err
}

// initControl maps the control area in the tracer and fills the table of
// system calls.
func (p *Process) initControl() error {
	if err := p.shm.MapControl(); err != nil {
		return err
	}
	p.calls.InitTable()
	return nil
}

// placement is where the target's memory has room for ours.
type placement struct {
	slots   uint64
	regions []uint64
}

// placeAs is where the creator of a forked child has its memory, which is free in the child, or place.
func (p *Process) placeAs(creator *Process) (placement, error) {
	if creator == nil || p.tr.opts.NoInherit {
		return p.place()
	}
	pl := placement{slots: creator.shm.Control()}
	for _, a := range creator.cache.Regions {
		pl.regions = append(pl.regions, a.Base)
	}
	return pl, nil
}

// place chooses addresses: a region a gigabyte below the loader, where the
// libraries come, and one below the main program if that lies high; both out
// of the way of brk, the stack, the first two gigabytes, Go's arenas and
// sanitizers' shadows. The slots lie further down.
//
// Addresses are rounded to large pages. They are only proposals: mapNear tries the
// neighbourhood if something is there.
func (p *Process) place() (placement, error) {
	maps, err := sys.Maps(p.pid)
	if err != nil {
		return placement{}, err
	}
	// The lowest mapping of the loader's part of the address space, and of the
	// program's if that lies high (a position-independent executable).
	var lib, exe uint64
	for _, m := range maps {
		switch {
		case m.Start >= 0x7e0000000000 && m.Path != "[stack]" && m.Path != "[vdso]" && m.Path != "[vvar]" && m.Path != "[vsyscall]" && lib == 0:
			lib = m.Start
		case m.Start >= 1<<31 && m.Start < 0x7e0000000000 && exe == 0:
			exe = m.Start
		}
	}
	// A static program has nothing up there: below its stack there is room.
	if lib == 0 {
		for _, m := range maps {
			if m.Path == "[stack]" {
				lib = m.Start - 64<<30
			}
		}
	}
	lib &^= sys.HugePage - 1
	pl := placement{slots: freeBelow(maps, lib-160<<30, layout.BellBelow, shm.SharedBytes), regions: []uint64{freeBelow(maps, lib-1<<30, 0, shm.RegionBytes)}}
	if exe != 0 {
		pl.regions = append(pl.regions, freeBelow(maps, exe&^(sys.HugePage-1)-512<<20, 0, shm.RegionBytes))
	}
	return pl, nil
}

// freeBelow is the highest address at or below one where size bytes, and some in front of them, are free: a
// process that was traced before, or its creator, may have left mappings of ours where they always lie.
func freeBelow(maps []sys.Mapping, at, before, size uint64) uint64 {
	for i := len(maps) - 1; i >= 0; i-- {
		if m := &maps[i]; m.Start < at+size && m.End > at-before && m.Start > size {
			at = (m.Start - size) &^ (sys.HugePage - 1)
		}
	}
	return at
}

// putWord writes a word of the application's memory.
func (p *Process) putWord(addr, v uint64) error {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	_, err := p.mem.WriteAt(b[:], int64(addr))
	return err
}
