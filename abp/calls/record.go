package calls

// Record is one entry or return of a function, or a part of one.
type Record struct {
	Exit bool
	More bool // the thread's next Record goes on with the values
	Cut  bool // a bound ended the capture
	// Altered: the number of changes and the changes stand in front of the values.
	Altered bool
	Func    uint32
	TSC     uint64
	SP      uint64 // where the return address lies
	Ret     uint64 // the return address
	Words   []uint64
}

// The words of a mark in a ring, as internal/capture has them.
const (
	markMore  = 1 << 8
	markCut   = 1 << 9
	markAlter = 1 << 10
	markFunc  = 16
	markWords = 4
)

// ofGoroutine is the Func of an entry that is none: functions in Go run on the goroutine SP from then on, whose stack ends at Ret. A return of it says that the thread is on the
// stack from SP to Ret, of a program that has several stacks a thread.
const ofGoroutine = 0

// FuncOf is the function's number in the first word of a mark, behind the mark itself.
func FuncOf(w uint64) uint32 { return uint32(w >> markFunc) }

// GoesOn tells of the same word whether the thread's next mark has more of the same call.
func GoesOn(w uint64) bool { return w&markMore != 0 }
