package engine

import (
	"encoding/binary"
	"sort"

	"alleria/engine/x86"
)

// position says where an application instruction lies in its block's code:
// start is where its instrumentation begins and the state is clean but for the
// spilled registers, exec where the instruction itself executes. len is the
// application instruction's length.
// Both are offsets from the block's code.
// moved: it does not lie behind the one before, but far bytes behind the block's first.
type position struct {
	start, exec uint16
	len         uint8
	moved       bool
	far         int32
}

// positions are those of a block. Signals, faults and what the tracer executes itself ask
// for them, a few times in a run, so that they are kept packed: most instructions of
// code that records nothing take one byte.
type positions struct {
	n  int
	at [maxBlockInsns]position
}

// A packed instruction is a byte with its length in the lower half and what follows in
// the upper one. start is said as the distance from the end of the one before, as if that
// had been copied as it was; exec as the distance from start.
const (
	posStart = 0x10 // two bytes: that distance
	posExec  = 0x20 // one byte: exec's
	posFar   = 0x40 // two bytes instead of that one
	posMoved = 0x80 // four bytes: far
)

// packPositions keeps the positions of a block and returns where.
func (p *Process) packPositions(pos []position) uint32 {
	const most = 9 * maxBlockInsns
	if len(p.posPool) < most {
		p.posPool = make([]byte, posPiece)
		p.posPieces = append(p.posPieces, p.posPool)
	}
	at := uint32(len(p.posPieces)*posPiece - len(p.posPool))
	out, n, next := p.posPool, 0, uint16(0)
	for _, q := range pos {
		head := &out[n]
		*head = q.len & 15
		n++
		if d := q.start - next; d != 0 {
			*head |= posStart
			out[n], out[n+1] = byte(d), byte(d>>8)
			n += 2
		}
		switch d := q.exec - q.start; {
		case d == 0:
		case d < 256:
			*head |= posExec
			out[n] = byte(d)
			n++
		default:
			*head |= posFar
			out[n], out[n+1] = byte(d), byte(d>>8)
			n += 2
		}
		if q.moved {
			*head |= posMoved
			binary.LittleEndian.PutUint32(out[n:], uint32(q.far))
			n += 4
		}
		next = q.exec + uint16(q.len)
	}
	p.posPool = out[n:]
	return at
}

// posPiece is the size of a piece of memory for packed positions.
const posPiece = 16 << 10

// positionsOf unpacks a block's positions.
func (p *Process) positionsOf(b *block) *positions {
	r := &positions{n: int(b.insns)}
	in, next := p.posPieces[b.posAt/posPiece][b.posAt%posPiece:], uint16(0)
	two := func() uint16 {
		v := uint16(in[0]) | uint16(in[1])<<8
		in = in[2:]
		return v
	}
	for i := range r.n {
		q := &r.at[i]
		head := in[0]
		in = in[1:]
		q.len, q.start = head&15, next
		if head&posStart != 0 {
			q.start += two()
		}
		q.exec = q.start
		switch {
		case head&posExec != 0:
			q.exec += uint16(in[0])
			in = in[1:]
		case head&posFar != 0:
			q.exec += two()
		}
		if q.moved = head&posMoved != 0; q.moved {
			q.far = int32(binary.LittleEndian.Uint32(in))
			in = in[4:]
		}
		next = q.exec + uint16(q.len)
	}
	return r
}

// find returns the instruction whose code holds the offset, and whether the
// offset is its clean start.
// An offset in front of the first instruction's code gives 0, not clean.
func (r *positions) find(off uint32) (i int, clean bool) {
	i = sort.Search(r.n, func(i int) bool { return uint32(r.at[i].start) > off }) - 1
	if i < 0 {
		return 0, false
	}
	return i, uint32(r.at[i].start) == off
}

// insAddr is the application address of instruction i of b; i may be one more than the last.
func (p *Process) insAddr(b *block, i int) uint64 {
	addr := b.app
	r := p.positionsOf(b)
	for k := range i {
		addr += uint64(r.at[k].len)
		if k+1 < r.n && r.at[k+1].moved {
			addr = b.app + uint64(int64(r.at[k+1].far))
		}
	}
	return addr
}

// covers tells whether any instruction of b has a byte in [start, end).
func (p *Process) covers(b *block, start, end uint64) bool {
	if !b.pieces {
		return b.app < end && b.app+uint64(b.appSize) > start
	}
	addr := b.app
	r := p.positionsOf(b)
	for _, q := range r.at[:r.n] {
		if q.moved {
			addr = b.app + uint64(int64(q.far))
		}
		if addr < end && addr+uint64(q.len) > start {
			return true
		}
		addr += uint64(q.len)
	}
	return false
}

// setPositions begins the positions of the block being written, with the lengths of its
// instructions.
func (u *unit) setPositions(ins []x86.Insn) {
	u.pos = u.posBuf[:len(ins)]
	for i := range ins {
		u.pos[i] = position{len: ins[i].Len}
		if i > 0 && ins[i].Addr != ins[i-1].Next() {
			u.pos[i].moved, u.pos[i].far = true, int32(ins[i].Addr-ins[0].Addr)
		}
	}
}
