package engine

import "alleria/internal/records"

// pool is a growing list in pieces. What is in it stays where it is, so that it may be
// pointed to, and growing leaves nothing behind for the garbage collector. A type without
// pointers costs the collector nothing at all, however long the list.
type pool[T any] struct {
	pieces []*[poolPiece]T
	n      int
}

// poolPiece is the length of a piece: small enough that a program of a few blocks
// does not pay for many.
const poolPiece = 256

// add appends a zero value and returns it with its number.
func (l *pool[T]) add() (*T, int) {
	n := l.n
	if n%poolPiece == 0 {
		l.pieces = append(l.pieces, new([poolPiece]T))
	}
	l.n++
	return l.at(n), n
}

// at returns the value of that number.
func (l *pool[T]) at(n int) *T { return &l.pieces[n/poolPiece][n%poolPiece] }

// newBlock returns an empty block.
func (p *Process) newBlock() *block {
	b, n := p.blockPool.add()
	b.num = uint32(n)
	return b
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
