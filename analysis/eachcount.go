package analysis

import "alleria/abp"

// InsSum is what was counted of an instruction of a thread while the same windows were
// open. One instruction may come several times.
type InsSum struct {
	Thread  uint32
	Windows uint64 // bit i: window i was open
	Block   *abp.Block
	Ins     int // of the block
	Counts  abp.Counts
}

// EachCount counts what q matches of a process by instruction, on all processors, and calls f
// with every sum, in no order. Calls do not overlap.
func EachCount(p *abp.Profile, proc *abp.Process, q abp.Query, progress *Progress, f func(c *InsSum)) error {
	_, err := eachFrame(proc, q, progress, func(threads []abp.Thread) func() frameWorker {
		all := newTallies(&eachSum{proc, f}, threads)
		return func() frameWorker {
			return &tallyWorker{all: all, reader: p.FrameReader(q), proc: proc,
				entries: picksInstructions(q), execs: picksExecutions(q), decode: q.Decode}
		}
	})
	return err
}

// eachSum hands sums on.
type eachSum struct {
	proc *abp.Process
	f    func(c *InsSum)
}

// thread is threadSum's.
func (s *eachSum) thread(t *abp.Thread, counted *tally) {
	counted.each(s.proc, func(windows uint64, b *abp.Block, ins int, c abp.Counts) {
		s.f(&InsSum{t.Number, windows, b, ins, c})
	})
}
