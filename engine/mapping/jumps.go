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
	in, err := t.Inject(call)
	if err != nil {
		return false, err
	}
	path := append([]byte(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), m.Shm.File.Fd())), 0)
	copy(slot.Mem[layout.Scratch:], path)
	ok := mapBoth(in, slot.Base+layout.Scratch, base, uint64(off))
	return ok, in.Close()
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
