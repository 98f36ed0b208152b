package records

import (
	"errors"
	"fmt"
)

// ErrMalformed is words that no engine writes.
var ErrMalformed = errors.New("malformed records")

// Record is what an Iterator finds: an execution of a block, or a mark.
type Record struct {
	From, To int // which of the words it is; a cut one's mark included
	// Mark is the mark's kind and Payload its payload; 0: an execution of Block.
	Mark    uint8
	Payload uint64
	Block   uint32
	// Cut: only the execution's first Completed instructions ran.
	Cut       bool
	Completed int
	// Words are those behind the first: what the execution yielded, or the rest of the mark.
	Words []uint64
}

// Iterator goes over the words of a chunk, a record at a time:
//
//	for it.Next() { … it.Record … }
//	if it.Err != nil { … }
type Iterator struct {
	words []uint64
	size  func(id uint32) (words int, ok bool)
	mask  uint64 // which bits of an execution's first word are the block's number
	Record
	Err error // what ended the iteration before the words' end; wraps ErrMalformed
}

// NewIterator begins at the first of words. size says how many words follow the number of a block, false
// if there is no such block. sized: first words may be as Number makes them.
func NewIterator(words []uint64, sized bool, size func(id uint32) (words int, ok bool)) Iterator {
	it := Iterator{words: words, size: size, mask: 1<<32 - 1}
	if sized {
		it.mask = 1<<NumberBits - 1
	}
	return it
}

// Next goes to the next record; false at the end or at words that make no sense.
func (it *Iterator) Next() bool {
	at := it.To
	if it.Err != nil || at == len(it.words) {
		return false
	}
	it.Record = Record{From: at, To: at}
	w := it.words[at]
	if !IsMark(w) {
		return it.execution(at)
	}
	n := MarkLen(it.words[at:])
	kind, payload := SplitMark(w)
	switch {
	case n == 0:
		return it.fail(fmt.Errorf("mark %#x at word %d: %w", w, at, ErrMalformed))
	case kind != MarkCut:
		it.Mark, it.Payload, it.Words, it.To = kind, payload, it.words[at+1:at+n], at+n
		return true
	case at+1 == len(it.words) || IsMark(it.words[at+1]):
		return it.fail(fmt.Errorf("cut at word %d without an execution: %w", at, ErrMalformed))
	}
	it.Cut, it.Completed = true, int(min(payload, 1<<16)) // no block has as many
	return it.execution(at + 1)
}

// execution is Next for the record of a block whose number is at a word.
func (it *Iterator) execution(at int) bool {
	it.Block = uint32(it.words[at] & it.mask)
	n, ok := it.size(it.Block)
	if !ok || n >= len(it.words)-at {
		return it.fail(fmt.Errorf("block %d at word %d: %w", it.Block, at, ErrMalformed))
	}
	it.Words, it.To = it.words[at+1:at+1+n], at+1+n
	return true
}

func (it *Iterator) fail(err error) bool {
	it.Err, it.To = err, it.From
	return false
}
