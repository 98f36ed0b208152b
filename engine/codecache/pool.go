package codecache

// Pool is a growing list in pieces. What is in it stays where it is, so that it may be
// pointed to, and growing leaves nothing behind for the garbage collector. A type without
// pointers costs the collector nothing at all, however long the list.
type Pool[T any] struct {
	pieces []*[poolPiece]T
	N      int
}

// poolPiece is the length of a piece: small enough that a program of a few blocks
// does not pay for many.
const poolPiece = 256

// Add appends a zero value and returns it with its number.
func (l *Pool[T]) Add() (*T, int) {
	n := l.N
	if n%poolPiece == 0 {
		l.pieces = append(l.pieces, new([poolPiece]T))
	}
	l.N++
	return l.At(n), n
}

// At returns the value of that number.
func (l *Pool[T]) At(n int) *T { return &l.pieces[n/poolPiece][n%poolPiece] }

// NewBlock returns an empty block.
func (c *Cache) NewBlock() *Block {
	b, n := c.BlockPool.Add()
	b.Num = uint32(n)
	return b
}

// Pieces is the values in pieces, of which the last may have zero values behind the end.
func (l *Pool[T]) Pieces() [][]T {
	all := make([][]T, len(l.pieces))
	for i, p := range l.pieces {
		all[i] = p[:]
	}
	return all
}

// PoolOf is a pool of n values, in memory as Pieces has it; false where that has another size. Nothing may be added to it.
func PoolOf[T any](all []T, n int) (Pool[T], bool) {
	if n < 0 || len(all)%poolPiece != 0 || (n+poolPiece-1)/poolPiece != len(all)/poolPiece {
		return Pool[T]{}, false
	}
	l := Pool[T]{N: n}
	for ; len(all) > 0; all = all[poolPiece:] {
		l.pieces = append(l.pieces, (*[poolPiece]T)(all))
	}
	return l, true
}
