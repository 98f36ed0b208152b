package records

// IsMark tells whether a record's first word is a mark, rather than a block's number.
func IsMark(w uint64) bool { return w>>32 != 0 }

// SplitMark takes a mark's first word apart.
func SplitMark(w uint64) (kind uint8, payload uint64) {
	return uint8(w >> MarkShift), w & MarkPayload
}

// MarkLen is how many words the mark at the start of words has, its first included; 0 if no engine
// writes such a mark, or if not all of it is there. The record that a MarkCut is about is not part of it.
// words must not be empty.
func MarkLen(words []uint64) int {
	n := markLen(words[0], words)
	if n > len(words) {
		return 0
	}
	return n
}

// markLen is MarkLen for a mark whose end need not be there. first is its first word, which is not looked at
// again: the tracer may be writing it.
func markLen(first uint64, words []uint64) int {
	kind, payload := SplitMark(first)
	switch kind {
	case MarkCut, MarkGap:
		return 1
	case MarkFS, MarkGS, MarkWindows:
		return 2
	case MarkSwitch, MarkThread:
		return 4
	case MarkSkip, MarkNote, MarkCall:
		if payload < uint64(len(words)) {
			return 1 + int(payload)
		}
	case MarkBeside, MarkCallers:
		return 1 + int(payload>>besideShift)
	case MarkEmulated:
		if len(words) > 1 && words[1] < uint64(len(words)) {
			return 2 + 2*int(words[1])
		}
	}
	return 0
}

// StateMark tells whether a mark says how things are from here on, or makes a row: such a mark is never lost,
// nor what is before it in its chunk. Others are about one execution, or about
// what is in front of them.
func StateMark(w uint64) bool {
	kind, _ := SplitMark(w)
	return kind > MarkCut && kind != MarkEmulated && kind != MarkGap && kind != MarkBeside && kind != MarkCallers
}
