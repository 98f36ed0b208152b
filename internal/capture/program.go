package capture

import "slices"

// Program is what is captured of each call of a function.
type Program struct {
	// Saves are values at entry that the Exit items need: pointers whose targets are captured
	// at return. At most MaxSaves, of eight bytes each.
	Saves []Source
	Entry []Item // captured when the function is entered
	Exit  []Item // captured when it has returned
	// Returns tells that the return is awaited, also where Exit is empty.
	Returns bool
	// MaxBytes bounds what is captured of one call at entry, and again at return.
	MaxBytes uint32
	// Tell, if not nil, is called with rax when the function has returned, and nothing is written: the tracer does it, while the thread
	// waits. It is for functions that choose what is to be intercepted.
	Tell func(result uint64)
	// Alter, if not nil, is asked at each entry and return what is to be changed there, nil: nothing. The tracer does it, before it
	// captures, while the thread waits.
	Alter func(m Moment) *Alteration
	// Fails is by what a return tells that the function has failed and errno says why, which is captured then.
	Fails Failing
	// Jumps: an Alteration may be a Jump.
	Jumps bool
	// Go: the function is a Go program's, which may begin with a look at its stack.
	Go bool
	// Goroutine: it is written in Go, so that r14 has the goroutine, where the program was built by Go 1.17 or later: its stack may move, and go on in another thread.
	Goroutine bool
}

// Failing is how a function's result says that it has failed.
type Failing uint8

// The ways.
const (
	NeverFails  Failing = iota
	MinusOneInt         // the lower half of rax is -1
	MinusOne            // rax is -1
	Zero                // rax is 0
)

// Failed tells whether a call has failed that returned with such a rax.
func (f Failing) Failed(rax uint64) bool {
	switch f {
	case MinusOneInt:
		return int32(rax) == -1
	case MinusOne:
		return int64(rax) == -1
	case Zero:
		return rax == 0
	}
	return false
}

// ByTracer tells whether the tracer has to take part in each call.
func (p *Program) ByTracer() bool { return p.Tell != nil || p.Alter != nil }

// Follows tells whether something is captured that a pointer leads to.
func (p *Program) Follows() bool {
	follows := func(i Item) bool { return len(i.Points) > 0 }
	return slices.ContainsFunc(p.Entry, follows) || slices.ContainsFunc(p.Exit, follows)
}

// MaxSaves bounds Program.Saves.
const MaxSaves = 8

// SourceKind is a kind of place in which a value lies.
type SourceKind uint8

// The kinds. Which hold at entry and which at return is said of each.
const (
	// GPR: general register N, as x86 numbers them.
	GPR SourceKind = iota
	// Stack: N bytes above the return address's end; at entry only. Arguments in memory begin at 0.
	Stack
	// Vector: the low bytes of vector register N.
	Vector
	// X87: register N of the x87 stack, ten bytes; at return.
	X87
	// Saved: Program.Saves[N]; at return.
	Saved
)

// Source is where a value lies.
type Source struct {
	Kind SourceKind
	N    uint32
}

// Item is one value: Bytes from Src, and what the pointers within them lead to.
//
// An integer or a pointer has 8 bytes, a double 8 of a vector register, a record by value in
// memory as many as it has; one in registers is two items.
type Item struct {
	Src    Source
	Bytes  uint32
	Points []Pointer
}

// Pointer is a pointer at Off in the bytes that hold it, and what it leads to.
type Pointer struct {
	Off    uint32
	Target *Target
}

// Target is what a pointer leads to: elements of Size bytes.
type Target struct {
	Size uint32
	Len  Length
	// Dec: the pointer holds the address of the last element, and the elements lie downwards.
	Dec bool
	// Max bounds the bytes; a longer target is cut and marked Cut.
	Max uint32
	// Points are the pointers in each element.
	Points []Pointer
}

// LengthKind is what says how many elements a target has.
type LengthKind uint8

// The kinds.
const (
	Fixed    LengthKind = iota // N elements
	Sentinel                   // up to and including the first element whose bytes are N
	Count                      // as many as Var says
	End                        // up to the address that Var holds
	Start                      // from the address that Var holds; the pointer itself holds the end
)

// Length is how many elements a target has.
type Length struct {
	Kind LengthKind
	N    uint64
	Var  Var
	// EndValid: the end is the last element, not one past it (End, Start).
	EndValid bool
}

// Var is where a length stands.
type Var struct {
	// Src is where, if Field is false; at return it may be Saved.
	Src Source
	// Field: it lies Off bytes from the start of the record that also holds the pointer.
	Field bool
	Off   uint32
	// Deref: what is found is the address of the value.
	Deref  bool
	Bytes  uint8 // of the value: 1 to 8
	Signed bool  // less than zero counts as none
}
