package engine

import (
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// What is kept of blocks lives as long as the process, so it comes from large
// pieces: one allocation for hundreds of blocks, and little for the garbage
// collector to find.

// newBlock returns an empty block.
func (p *Process) newBlock() *block {
	if len(p.blockArena) == 0 {
		p.blockArena = make([]block, 512)
	}
	b := &p.blockArena[0]
	p.blockArena = p.blockArena[1:]
	return b
}

// positions returns a position for each instruction, with its length.
func (p *Process) positions(ins []x86.Insn) []position {
	n := len(ins)
	// The rest of the old piece, less than one block needs, is given up.
	if len(p.posArena) < n {
		p.posArena = make([]position, 1<<14)
	}
	// The capacity is cut as well: an append must not run into the next block's.
	s := p.posArena[:n:n]
	p.posArena = p.posArena[n:]
	for i := range ins {
		s[i].len = ins[i].Len
	}
	return s
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
