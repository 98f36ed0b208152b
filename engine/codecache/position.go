package codecache

import (
	"encoding/binary"
	"sort"
)

// Position says where an application instruction lies in its block's code:
// start is where its instrumentation begins and the state is clean but for the
// spilled registers, exec where the instruction itself executes. len is the
// application instruction's length.
// Both are offsets from the block's code.
// moved: it does not lie behind the one before, but far bytes behind the block's first.
type Position struct {
	Start, Exec uint16
	Len         uint8
	Moved       bool
	Far         int32
}

// positions are those of a block. Signals, faults and what the tracer executes itself ask
// for them, a few times in a run, so that they are kept packed: most instructions of
// code that records nothing take one byte.
type positions struct {
	N  int
	At [MaxBlockInsns]Position
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

// PackPositions keeps the positions of a block and returns where.
func (c *Cache) PackPositions(pos []Position) uint32 {
	if len(c.PosPool) < posMost {
		c.PosPool = make([]byte, posPiece)
		c.PosPieces = append(c.PosPieces, c.PosPool)
	}
	at := uint32(len(c.PosPieces)*posPiece - len(c.PosPool))
	out, n, next := c.PosPool, 0, uint16(0)
	for _, q := range pos {
		head := &out[n]
		*head = q.Len & 15
		n++
		if d := q.Start - next; d != 0 {
			*head |= posStart
			out[n], out[n+1] = byte(d), byte(d>>8)
			n += 2
		}
		switch d := q.Exec - q.Start; {
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
		if q.Moved {
			*head |= posMoved
			binary.LittleEndian.PutUint32(out[n:], uint32(q.Far))
			n += 4
		}
		next = q.Exec + uint16(q.Len)
	}
	c.PosPool = out[n:]
	return at
}

// posPiece is the size of a piece of memory for packed positions.
const posPiece = 16 << 10

// posMost is how much the positions of a block take at most: there is that much in the piece behind where they begin.
const posMost = 9 * MaxBlockInsns

// PositionsOf unpacks a block's positions.
func (c *Cache) PositionsOf(b *Block) *positions {
	r := new(positions)
	c.unpackPositions(b, r)
	return r
}

// unpackPositions is PositionsOf in memory of the caller's.
func (c *Cache) unpackPositions(b *Block, r *positions) {
	r.N = int(b.Insns)
	in, next := c.PosPieces[b.PosAt/posPiece][b.PosAt%posPiece:], uint16(0)
	two := func() uint16 {
		v := uint16(in[0]) | uint16(in[1])<<8
		in = in[2:]
		return v
	}
	for i := range r.N {
		q := &r.At[i]
		head := in[0]
		in = in[1:]
		q.Len, q.Start = head&15, next
		if head&posStart != 0 {
			q.Start += two()
		}
		q.Exec = q.Start
		switch {
		case head&posExec != 0:
			q.Exec += uint16(in[0])
			in = in[1:]
		case head&posFar != 0:
			q.Exec += two()
		}
		if q.Moved = head&posMoved != 0; q.Moved {
			q.Far = int32(binary.LittleEndian.Uint32(in))
			in = in[4:]
		}
		next = q.Exec + uint16(q.Len)
	}
}

// Find returns the instruction whose code holds the offset, and whether the
// offset is its clean start.
// An offset in front of the first instruction's code gives 0, not clean.
func (r *positions) Find(off uint32) (i int, clean bool) {
	i = sort.Search(r.N, func(i int) bool { return uint32(r.At[i].Start) > off }) - 1
	if i < 0 {
		return 0, false
	}
	return i, uint32(r.At[i].Start) == off
}

// InsAddr is the application address of instruction i of b; i may be one more than the last.
func (c *Cache) InsAddr(b *Block, i int) uint64 {
	addr := b.App
	if !b.Is(InPieces) && i == 0 {
		return addr
	}
	var r positions
	c.unpackPositions(b, &r)
	for k := range i {
		addr += uint64(r.At[k].Len)
		if k+1 < r.N && r.At[k+1].Moved {
			addr = b.App + uint64(int64(r.At[k+1].Far))
		}
	}
	return addr
}

// Covers tells whether any instruction of b has a byte in [start, end).
func (c *Cache) Covers(b *Block, start, end uint64) bool {
	if !b.Is(InPieces) {
		return b.App < end && b.App+uint64(b.AppSize) > start
	}
	addr := b.App
	r := c.PositionsOf(b)
	for _, q := range r.At[:r.N] {
		if q.Moved {
			addr = b.App + uint64(int64(q.Far))
		}
		if addr < end && addr+uint64(q.Len) > start {
			return true
		}
		addr += uint64(q.Len)
	}
	return false
}
