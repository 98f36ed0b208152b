package mapping

import (
	"fmt"

	"alleria/engine/codecache"
	"alleria/engine/shm"
	"alleria/engine/tracee"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Unmap takes our mappings out of a forked child that stands at regs: at once, where nothing is in the way.
// mem is its memory, and jumps where its creator has regions of so many bytes for jumps.
func (m *Target) Unmap(t *tracee.Thread, mem tracee.Memory, regs *sys.Regs, jumps []uint64, size uint64) error {
	calls := []tracee.BatchCall{{Number: tracee.SysMunmap, Args: [5]uint64{m.Shm.BellAt(), layout.BellBelow + shm.SharedBytes}}}
	for _, a := range m.Cache.Regions {
		calls = append(calls, tracee.BatchCall{Number: tracee.SysMunmap, Args: [5]uint64{a.Base, uint64(a.Size)}})
	}
	for _, base := range jumps {
		calls = append(calls, tracee.BatchCall{Number: tracee.SysMunmap, Args: [5]uint64{base, size}})
	}
	in, err := t.InjectAt(mem, regs.Rip)
	if err != nil {
		return err
	}
	if can, _ := m.canBatch(t.TID); can && len(calls)*tracee.BatchCallSize <= tracee.ScratchBytes {
		err = in.BatchForked(codecache.BatchCode(), calls)
	} else {
		for i := 0; i < len(calls) && err == nil; i++ {
			_, err = in.Call(tracee.SysMunmap, calls[i].Args[0], calls[i].Args[1])
		}
	}
	if cerr := in.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("unmapping what process %d has of its creator: %w", t.TID, err)
	}
	return nil
}
