package abp

import "fmt"

// sumsCheck adds up what a frame's FRAME_SUMS section should say.
type sumsCheck struct {
	dynamic map[DynamicSum]*Counts // by block and instruction, without counts
	cuts    map[CutSum]uint64      // by block and instructions, without executions
	listed  FrameSums
}

// reset forgets the frame before.
func (c *sumsCheck) reset() {
	if c.dynamic == nil {
		c.dynamic, c.cuts = map[DynamicSum]*Counts{}, map[CutSum]uint64{}
	}
	clear(c.dynamic)
	clear(c.cuts)
}

// exec adds an execution's dynamic accesses.
func (c *sumsCheck) exec(x *Exec) {
	x.Block.DynamicCounts(x.Words, x.Completed, func(ins int, n Counts) {
		if n == (Counts{}) {
			return
		}
		k := DynamicSum{Block: x.Block.ID, Ins: uint16(ins)}
		sum := c.dynamic[k]
		if sum == nil {
			sum = new(Counts)
			c.dynamic[k] = sum
		}
		sum.Add(n, 1)
	})
}

// single adds an execution that came by itself, which mostly is a cut one.
func (c *sumsCheck) single(x *Exec) {
	c.exec(x)
	if x.Completed == len(x.Block.Ins) {
		return
	}
	c.cuts[CutSum{Block: x.Block.ID, Completed: uint16(x.Completed)}]++
}

// compare compares the frame's section with what was added up. A frame without one is
// right: an older version, or too many rows.
func (c *sumsCheck) compare(ref *FrameRef) error {
	ok, err := ref.readSums(&c.listed)
	if !ok || err != nil {
		return err
	}
	if len(c.listed.Dynamic) != len(c.dynamic) || len(c.listed.Cuts) != len(c.cuts) {
		return fmt.Errorf("FRAME_SUMS lists %d and %d rows, not %d and %d", len(c.listed.Dynamic), len(c.listed.Cuts), len(c.dynamic), len(c.cuts))
	}
	for _, r := range c.listed.Dynamic {
		got := r.Counts
		r.Counts = Counts{}
		if want := c.dynamic[r]; want == nil || *want != got {
			return fmt.Errorf("FRAME_SUMS counts %+v for instruction %d of block %d, decoded %+v", got, r.Ins, r.Block, want)
		}
	}
	for _, r := range c.listed.Cuts {
		got := r.Execs
		r.Execs = 0
		if c.cuts[r] != got {
			return fmt.Errorf("FRAME_SUMS has %d executions of block %d cut behind %d instructions, decoded %d", got, r.Block, r.Completed, c.cuts[r])
		}
	}
	return nil
}
