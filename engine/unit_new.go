package engine

import (
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/records"
)

// setPositions begins the positions of the block being written, with the lengths of its
// instructions.
func (u *unit) setPositions(ins []x86.Insn) {
	u.pos = u.posBuf[:len(ins)]
	for i := range ins {
		u.pos[i] = codecache.Position{Len: ins[i].Len}
		if i > 0 && ins[i].Addr != ins[i-1].Next() {
			u.pos[i].Moved, u.pos[i].Far = true, int32(ins[i].Addr-ins[0].Addr)
		}
	}
}

// accesses returns room for n accesses of the block that is being recorded.
func (u *unit) accesses(n int) []records.Access {
	// accBuf may move as it grows, which leaves slices handed out before on the old
	// array: they stay valid, being written by their owner only.
	from := len(u.accBuf)
	for range n {
		u.accBuf = append(u.accBuf, records.Access{})
	}
	return u.accBuf[from:len(u.accBuf):len(u.accBuf)]
}

// noteNewHead notes the head that was just written, if no block came behind it.
func (u *unit) noteNewHead() {
	if u.p.cache.NewHead != 0 {
		u.p.cache.NoteHead(u.p.cache.NewHead, u.v)
		u.p.cache.NewHead = 0
	}
}
