package config

// Types is the types that a configuration defines for its interceptors.
type Types struct {
	Pos
	Types    []*Type
	Pointers []*Pointer
}

// Builtin is a built-in type.
type Builtin uint8

// The built-in types. U1 to U8 and S1 to S8 are integers of that many bytes.
const (
	NoBuiltin Builtin = iota
	U1
	U2
	U3
	U4
	U5
	U6
	U7
	U8
	S1
	S2
	S3
	S4
	S5
	S6
	S7
	S8
	ASCII   // one character, a UTF-8 code unit
	Unicode // one character, a UTF-16 code unit
	F4
	F8
	F10 // the x87's 80 bits
	Bool
	Ptr
)

// builtinRow is what is known of a built-in type: its name, how many bytes hold
// its value, and how much room and alignment it takes in a record.
type builtinRow struct {
	name  string
	bytes int
	size  int
	align int
}

// builtinRows is indexed by Builtin. Integers of 3, 5, 6 and 7 bytes have no
// counterpart in C: they are bytes side by side. f10 is long double, which the
// platform pads to 16.
var builtinRows = [...]builtinRow{
	NoBuiltin: {},
	U1:        {"u1", 1, 1, 1}, U2: {"u2", 2, 2, 2}, U3: {"u3", 3, 3, 1}, U4: {"u4", 4, 4, 4},
	U5: {"u5", 5, 5, 1}, U6: {"u6", 6, 6, 1}, U7: {"u7", 7, 7, 1}, U8: {"u8", 8, 8, 8},
	S1: {"s1", 1, 1, 1}, S2: {"s2", 2, 2, 2}, S3: {"s3", 3, 3, 1}, S4: {"s4", 4, 4, 4},
	S5: {"s5", 5, 5, 1}, S6: {"s6", 6, 6, 1}, S7: {"s7", 7, 7, 1}, S8: {"s8", 8, 8, 8},
	ASCII: {"ascii", 1, 1, 1}, Unicode: {"unicode", 2, 2, 2},
	F4: {"f4", 4, 4, 4}, F8: {"f8", 8, 8, 8}, F10: {"f10", 10, 16, 16},
	Bool: {"bool", 1, 1, 1}, Ptr: {"ptr", 8, 8, 8},
}

// String returns the type's name in the language.
func (b Builtin) String() string {
	if int(b) < len(builtinRows) {
		return builtinRows[b].name
	}
	return "Builtin?"
}

// Bytes is how many bytes hold a value of the type.
func (b Builtin) Bytes() int { return builtinRows[b].bytes }

// Integer tells whether the type counts: u1 to u8 and s1 to s8.
func (b Builtin) Integer() bool { return b >= U1 && b <= S8 }

// Signed tells whether the type is one of s1 to s8.
func (b Builtin) Signed() bool { return b >= S1 && b <= S8 }

// Float tells whether the type is a floating-point number.
func (b Builtin) Float() bool { return b >= F4 && b <= F10 }

// builtinNamed finds a built-in type. A loop over two dozen rows: no map to keep
// in step with the table.
func builtinNamed(name string) Builtin {
	for b := U1; b <= Ptr; b++ {
		if builtinRows[b].name == name {
			return b
		}
	}
	return NoBuiltin
}

// TypeRef is a use of a type: its name and what that resolved to, exactly one
// of the three. The zero TypeRef is no type.
type TypeRef struct {
	Name    string   // as the file has it
	Builtin Builtin  // NoBuiltin for the other two
	Record  *Type    // a Type of the file
	Pointer *Pointer // a Pointer of the file
}

// IsZero tells that there is no type.
func (r TypeRef) IsZero() bool { return r.Name == "" }

// Size is the room that a value takes in a record or an array.
func (r TypeRef) Size() uint64 {
	switch {
	case r.Pointer != nil:
		return 8
	case r.Record != nil:
		return r.Record.Size
	}
	return uint64(builtinRows[r.Builtin].size)
}

// Align is the alignment that the platform gives the type.
func (r TypeRef) Align() uint64 {
	switch {
	case r.Pointer != nil:
		return 8
	case r.Record != nil:
		return r.Record.Align
	}
	return uint64(builtinRows[r.Builtin].align)
}

// Type is a record. Size, Align and the fields' offsets are computed.
type Type struct {
	Pos
	Name   string   // by which others refer to it
	Packed bool     // fields follow without padding
	Fields []*Field // in the order of the file
	Size   uint64   // bytes, padding at the end included
	Align  uint64   // bytes, a power of two
	// GivenSize is the size attribute, 0 when absent.
	GivenSize uint64

	state layoutState
}

// Field is one field of a record.
type Field struct {
	Pos
	Name   string  // within its record
	Type   TypeRef // never zero
	Offset uint64  // bytes from the record's start
	// GivenOffset tells that the file said where the field lies.
	GivenOffset bool
}

// LengthKind is what says how many elements a Pointer has.
type LengthKind uint8

// The ways of saying it, each an attribute of Pointer.
const (
	LengthNone     LengthKind = iota
	LengthCount               // Count elements
	LengthSentinel            // up to and including the element with the bits Sentinel
	LengthVariable            // as many as Variable, or what it points at, says
	LengthEnd                 // up to Variable
	LengthStart               // Variable is the start, this pointer the end
)

// Pointer is a pointer to elements.
type Pointer struct {
	Pos
	Name    string  // by which others refer to it
	Element TypeRef // what it points to
	// Dec: the pointer holds the highest address. HasDirection tells that the
	// file said so or the contrary; LengthEnd, LengthStart and a single element
	// need no direction, and inc is meant.
	Dec          bool
	HasDirection bool
	Length       LengthKind
	Count        uint64
	// Sentinel is the bits of the sentinel element, cut to the element's size;
	// SentinelText is as written.
	Sentinel     uint64
	SentinelText string
	// Variable names a Parameter or Field: LengthVariable, LengthEnd, LengthStart.
	Variable string
	// EndValid: the end is the last element rather than one past it.
	EndValid bool
	// MaxBytes bounds the capture; 0 is the default, DefaultPointerBytes.
	MaxBytes uint64
}

// Bounds of captures where the file gives none.
const (
	DefaultPointerBytes = 64 << 10
	DefaultCallBytes    = 1 << 20
)

// Intercept is what is captured of each call of a function.
type Intercept struct {
	Pos
	// RetType is zero when the result is not captured.
	RetType    TypeRef
	Parameters []*Parameter
	// MaxBytes bounds the capture of a call; 0 is the default, DefaultCallBytes.
	MaxBytes uint64
	// Auto: what is not given is taken from debug information or known prototypes, with pointers followed Depth times.
	Auto     bool
	Depth    int
	HasDepth bool // Depth was given
}

// DefaultDepth is how many pointers are followed where the file does not say.
const DefaultDepth = 2

// Parameter is one argument of interest.
type Parameter struct {
	Pos
	Name  string  // for the capture, and for pointers that refer to it
	Index int     // of the argument, as the file counts
	Type  TypeRef // what the argument is taken for
	In    bool    // captured when the function is entered
	Out   bool    // captured when it has returned
}
