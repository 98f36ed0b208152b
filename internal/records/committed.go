package records

import "sync/atomic"

// Committed tells how many of the words at the start of words stay as they are. words is what
// a thread has recorded up to the place in Buf, from the start of any record on, read while
// the thread runs.
//
// A block's record is complete before the block's last instruction has executed, if that is a
// branch: should it fault, or be interrupted, the tracer takes it out of the record again
// (MarkCut, one word more). So the latest record is committed only if there is one behind it,
// or if it is a mark. The tracer may be cutting it right now; of what it changes only the first
// word is looked at, whichever it is. Words that no engine writes are committed, for the
// reader to complain about.
//
// Refused: a word that says where the latest record begins, which every block would have to
// store; and to let the consumer take it and take back from a consumer what it has: the record
// may be in a file by then.
func (t *Blocks) Committed(words []uint64) int {
	for at := 0; at < len(words); {
		n, mark := t.recordWords(words[at:])
		switch {
		case n == 0:
			return len(words)
		case n > len(words)-at, n == len(words)-at && !mark:
			return at
		}
		at += n
	}
	return len(words)
}

// recordWords is how many words the first record or mark has, 0 if it is none; a cut record
// is one with its mark. It may be more than there are.
func (t *Blocks) recordWords(words []uint64) (n int, mark bool) {
	// The tracer may be writing the word. What lies behind a mark was there before it.
	first := atomic.LoadUint64(&words[0])
	if !IsMark(first) {
		n, ok := t.wordsOf(first)
		if !ok {
			return 0, false
		}
		return 1 + n, false
	}
	if kind, _ := SplitMark(first); kind != MarkCut {
		n := markLen(first, words)
		return n, n != 0
	}
	if len(words) == 1 { // it has just got its mark: the record that goes with it lies beyond
		return 2, true
	}
	n, ok := t.wordsOf(atomic.LoadUint64(&words[1]))
	if !ok {
		return 0, false
	}
	return 2 + n, true
}

// wordsOf is how many words follow the first one of a record of a block. It looks at nothing else
// of the block.
func (t *Blocks) wordsOf(first uint64) (int, bool) {
	id, _ := SplitNumber(first) // the size it may say is for those that are in a hurry
	r := t.row(id)
	if r == nil {
		return 0, false
	}
	return int(r.words), true
}
