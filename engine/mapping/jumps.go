package mapping

import (
	"fmt"
	"os"

	"alleria/engine/shm"
	"alleria/engine/tracee"
	"alleria/internal/layout"
)

// MapJumps has t, whose slot's scratch memory is given, map a region for jumps at base, which lies at an offset of the shared file. call is the address of a syscall instruction. false: the
// kernel did not let it.
func (m *Target) MapJumps(t *tracee.Thread, slot *shm.Slot, call, base uint64, off int64) (bool, error) {
	path := append([]byte(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), m.Shm.File.Fd())), 0)
	copy(slot.Mem[layout.Scratch:], path)
	if can, err := m.canBatch(t.TID); err != nil || can {
		if err != nil {
			return false, err
		}
		return m.mapBothAtOnce(t, slot, base, uint64(off))
	}
	in, err := t.Inject(call)
	if err != nil {
		return false, err
	}
	ok := mapBoth(in, slot.Base+layout.Scratch, base, uint64(off))
	return ok, in.Close()
}

// mapBothAtOnce is mapBoth with one stop behind the last call, where each has two: 0.2 ms in place of 1 to 3 (a machine with two processors, load 3). What is needed of
// memory is the copy of a handler's frame, which nobody returns by: it is larger than what single calls have.
func (m *Target) mapBothAtOnce(t *tracee.Thread, slot *shm.Slot, base, off uint64) (bool, error) {
	a := m.Cache.Regions[0]
	path := slot.Base + layout.Scratch
	flags := uint64(tracee.MapShared | tracee.MapNoReserve | tracee.MapFixedNoReplace)
	calls := []tracee.BatchCall{
		{Number: tracee.SysOpen, Args: [5]uint64{path, tracee.OpenReadWrite | tracee.CloseOnExec}},
		{Number: tracee.SysMmap, Args: [5]uint64{base, shm.JumpRegionBytes, tracee.ProtRead | tracee.ProtExec, flags, off}},
		{Number: tracee.SysMmap, Args: [5]uint64{base + shm.JumpRegionBytes, shm.CountsBytes, tracee.ProtRead | tracee.ProtWrite, flags, shm.ControlOff}},
		{Number: tracee.SysMadvise, Args: [5]uint64{base, shm.JumpRegionBytes + shm.CountsBytes, tracee.MadvDontDump}},
		{Number: tracee.SysClose},
	}
	if err := t.BatchAt(m.Mem, a.Base+a.Routines.Batch, calls, slot.Base+layout.SigFrame); err != nil {
		return false, err
	}
	code, counts := &calls[1], &calls[2]
	if code.Result == code.Args[0] && counts.Result == counts.Args[0] {
		return true, nil
	}
	in, err := t.Inject(a.Base + a.Routines.Inject)
	if err != nil {
		return false, err
	}
	for _, c := range []*tracee.BatchCall{code, counts} {
		if c.Result < ^uint64(4095) {
			_, _ = in.Call(tracee.SysMunmap, c.Result, c.Args[1])
		}
	}
	return false, in.Close()
}

// mapBoth opens the shared file by its path in the target and maps a region's code and
// counts.
func mapBoth(in *tracee.Injector, path, base, off uint64) bool {
	const cloexec = 0o2000000
	fd, err := in.Call(tracee.SysOpen, path, uint64(os.O_RDWR)|cloexec, 0)
	if err != nil {
		return false
	}
	flags := uint64(tracee.MapShared | tracee.MapNoReserve | tracee.MapFixedNoReplace)
	got, err := in.Call(tracee.SysMmap, base, shm.JumpRegionBytes, tracee.ProtRead|tracee.ProtExec, flags, fd, off)
	ok := err == nil && got == base
	if ok {
		var counts uint64
		counts, err = in.Call(tracee.SysMmap, base+shm.JumpRegionBytes, shm.CountsBytes, tracee.ProtRead|tracee.ProtWrite, flags, fd, shm.ControlOff)
		if ok = err == nil && counts == base+shm.JumpRegionBytes; !ok {
			_, _ = in.Call(tracee.SysMunmap, base, shm.JumpRegionBytes)
			if err == nil {
				_, _ = in.Call(tracee.SysMunmap, counts, shm.CountsBytes)
			}
		}
	} else if err == nil { // an old kernel took the address for a hint
		_, _ = in.Call(tracee.SysMunmap, got, shm.JumpRegionBytes)
	}
	if ok {
		_, _ = in.Call(tracee.SysMadvise, base, shm.JumpRegionBytes+shm.CountsBytes, tracee.MadvDontDump)
	}
	_, _ = in.Call(tracee.SysClose, fd)
	return ok
}
