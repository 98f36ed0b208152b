package session

import (
	"encoding/binary"
	"math/bits"

	"alleria/analysis/live"
	"alleria/cab"
	"alleria/engine"
	"alleria/internal/layout"
	"alleria/internal/records"
)

// Where a sample of reuse distances is all that is made beside the program, its threads leave out executions that access no line of the sample (translate.OfLine), and count them: the
// rate at which lines are followed is told to each of them, through its ring, as it falls. Who consumes the ring looks at each line again.

// sampledLines is the size of the lines, as a power of two, that threads look at so; 0: they leave nothing out. Bursts and bounds go by what has come through the ring, and
// records that are kept are to be all.
func (o *Options) sampledLines(bursts bool) int {
	line := live.SampledLines(o.Analyses)
	if bursts || o.KeepRecords || o.Sites != nil || o.MaxSize > 0 || o.MaxInstructions > 0 || o.Buffering != cab.CAB || line < cacheLine {
		return 0
	}
	return bits.TrailingZeros64(line)
}

// leaveOut says of the instructions of a block that their executions need not be recorded. Of an instruction of which only some executions are kept readers count all.
func (ps *process) leaveOut(want []engine.Want) {
	shift := ps.opts.sampledLines(ps.samples())
	if shift == 0 {
		return
	}
	for i := range want {
		if want[i].Sample > 1 {
			return
		}
	}
	for i := range want {
		if want[i].Flags != 0 {
			want[i].If = [][]engine.Condition{{{Of: engine.OfLine, Least: uint64(shift)}}}
		}
	}
}

// leftOut adds what a thread has left out, which has ended.
func (b *beside) leftOut(t thread, all *records.Blocks) {
	slot := t.SlotMemory()
	if len(slot) < layout.RingOff { // in tests
		return
	}
	for id := uint32(1); id <= min(all.Last(), layout.MaxLeft); id++ {
		if n := binary.LittleEndian.Uint64(slot[layout.LeftAt(id):]); n > 0 {
			for _, bt := range b.threads[t] {
				bt.LeftOut(id, n)
			}
		}
	}
}
