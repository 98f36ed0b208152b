package engine

import (
	"alleria/internal/layout"
)

// newBlock returns an empty block.
func (p *Process) newBlock() *block {
	b, n := p.blockPool.add()
	b.num = uint32(n)
	return b
}

// accesses returns room for n accesses of the block that is being recorded.
func (u *unit) accesses(n int) []layout.Access {
	// accBuf may move as it grows, which leaves slices handed out before on the old
	// array: they stay valid, being written by their owner only.
	from := len(u.accBuf)
	for range n {
		u.accBuf = append(u.accBuf, layout.Access{})
	}
	return u.accBuf[from:len(u.accBuf):len(u.accBuf)]
}
