package codecache

// Entry says what of a thread's entry at an address has been counted.
type Entry uint8

const (
	Uncounted Entry = iota // nothing: it may be an entry
	BackEdge               // it is no entry: the thread jumped there from within the function
	Counted                // everything
)

// At is where the block is entered by an entry that has been counted so far.
func (b *Block) At(how Entry) uint64 {
	switch how {
	case BackEdge:
		return b.Code + uint64(b.Inner)
	case Counted:
		return b.Code + uint64(b.Body)
	}
	return b.Code
}

// Counting is what has been counted where a block asks for something at its start.
func (b *Block) Counting() Entry {
	if b.Is(HasCounts) {
		return Counted
	}
	return Uncounted
}
