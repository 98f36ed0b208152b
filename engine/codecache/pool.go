package codecache

import "iter"

// Pool is a growing list in pieces. What is in it stays where it is, so that it may be
// pointed to, and growing leaves nothing behind for the garbage collector. A type without
// pointers costs the collector nothing at all, however long the list.
type Pool[T any] struct {
	pieces []*[poolPiece]T
	N      int
	spare  *pieces[T] // where pieces come from; nil: they are made
	theirs int        // how many of the first are in memory of somebody else's, as that of a file
}

// poolPiece is the length of a piece: small enough that a program of a few blocks
// does not pay for many.
const poolPiece = 256

// Add appends a zero value and returns it with its number.
func (l *Pool[T]) Add() (*T, int) {
	n := l.N
	if n%poolPiece == 0 {
		l.pieces = append(l.pieces, l.spare.zeros())
	}
	l.N++
	return l.At(n), n
}

// Append adds a value.
func (l *Pool[T]) Append(v T) {
	p, _ := l.Add()
	*p = v
}

// All is every number with its value.
func (l *Pool[T]) All() iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		for n := range l.N {
			if !yield(n, *l.At(n)) {
				return
			}
		}
	}
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

// PoolOf is a pool of n values, in memory as Pieces has it; false where that has another size. The pool is in that memory.
func PoolOf[T any](all []T, n int) (Pool[T], bool) {
	if n < 0 || len(all)%poolPiece != 0 || (n+poolPiece-1)/poolPiece != len(all)/poolPiece {
		return Pool[T]{}, false
	}
	l := Pool[T]{N: n, theirs: len(all) / poolPiece}
	for ; len(all) > 0; all = all[poolPiece:] {
		l.pieces = append(l.pieces, (*[poolPiece]T)(all))
	}
	return l, true
}

// clearRest has zero values behind the end, as Add takes for granted: what a file holds there nobody has looked at.
func (l *Pool[T]) clearRest() {
	if used := l.N % poolPiece; used != 0 {
		clear(l.pieces[len(l.pieces)-1][used:])
	}
}
