package engine

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
