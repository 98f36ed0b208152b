package reuse

import (
	"alleria/abp"
	"alleria/analysis/lanes"
)

// Follows is up to which hash of its number a line is followed.
func (c *Counter) Follows() uint64 { return c.threshold }

// LeftOut counts references of executions of a block that were not brought since they are to no line that is followed. They come to an end with the others.
func (c *Counter) LeftOut(b *abp.Block, times uint64) {
	lanes.PlainAccesses(b, func(int, *abp.Access) { c.Refs += times })
}
