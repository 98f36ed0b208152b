package capture

// A Call as it lies in a ring: a mark (layout.MarkCall) whose payload is the number of words
// that follow, then these:
//
//	word 0  Moment in the low byte, flags in the next, the function's number from bit 16
//	word 1  the time stamp counter
//	word 2  where the return address lies: it names the activation, together with the function
//	word 3  the return address
//	…       the values of the Program's Entry or Exit
//
// A Call that is longer than MaxWords lies in several marks, all but the last flagged More,
// each with the four words; values go on where the mark before ended.
//
// Values: for each Item its bytes, padded to whole words with zeros; then, for each of its
// Points, a Part. A Part is a word, Status in the low byte and the number of bytes above it;
// those bytes, padded; then for each element, for each of the Target's Points, a Part. Of an element
// that was cut there are no Parts.
const HeaderWords = 4

// OfGoroutine is the number of no function: such an entry says that what the thread captures from then on of functions in Go is of the goroutine that the word of the stack pointer
// names, whose stack ends where the word of the return address says. As a return it says from where to where the stack lies that the thread is on, of a program that has several.
const OfGoroutine = 0

// MaxWords bounds the words behind one mark.
const MaxWords = 500

// Moment is what a Call is about.
type Moment uint8

// The moments.
const (
	Entered Moment = iota // the function is about to execute its first instruction
	Left                  // it has returned
)

// Flags of word 0.
const (
	More      = 1 << 8  // the next mark of the thread goes on with the values
	Cut       = 1 << 9  // Program.MaxBytes ended the capture: values are missing at the end
	Altered   = 1 << 10 // in front of the values are the number of changes, and the changes
	FuncShift = 16
)

// Status is what became of a pointer's target.
type Status uint8

// The statuses.
const (
	Whole      Status = iota
	Null              // the pointer is null: no bytes
	Unreadable        // as many bytes as could be read, maybe none
	Bounded           // cut at Target.Max, before a sentinel or the count was reached
	Seen              // the target was captured in this call before, from this address as this Target: no bytes
	Unknown           // the length could not be told: no bytes
)

// String names the status as reports print it.
func (s Status) String() string {
	switch s {
	case Whole:
		return "whole"
	case Null:
		return "null"
	case Unreadable:
		return "unreadable"
	case Bounded:
		return "cut"
	case Seen:
		return "seen"
	}
	return "unknown"
}

// PartWord makes a Part's first word.
func PartWord(s Status, bytes int) uint64 { return uint64(bytes)<<8 | uint64(s) }

// SplitPart takes a Part's first word apart.
func SplitPart(w uint64) (s Status, bytes int) { return Status(w), int(w >> 8) }

// Head makes word 0.
func Head(m Moment, flags uint64, function uint32) uint64 {
	return uint64(m) | flags | uint64(function)<<FuncShift
}

// SplitHead takes word 0 apart; flags are those named above.
func SplitHead(w uint64) (m Moment, flags uint64, function uint32) {
	return Moment(w), w & (More | Cut | Altered), uint32(w >> FuncShift)
}

// WordsOf is how many words so many bytes take.
func WordsOf(bytes int) int { return (bytes + 7) / 8 }
