package calls

import (
	"fmt"
	"slices"
	"strings"
)

// TypeID is the number of a type in its Table, from 1; 0 is none.
type TypeID uint32

// Kind is what a type is.
type Kind uint8

// The kinds. The numbers are the file's.
const (
	Void Kind = iota
	Unsigned
	Signed
	Char   // a UTF-8 code unit
	Char16 // a UTF-16 code unit
	Float  // of 4, 8, 10 or 16 bytes; the x87's ten may stand in 16
	Bool
	Address // a pointer that is not followed
	Struct
	Union
	Array
	Enum
	Pointer // a pointer that is followed
	Vector  // an Array that the processor holds in a vector register
	Char32  // a UTF-32 code unit
	String  // a Struct that is a character string: of its Points the first is the text
)

// Extent is what says how many elements a Pointer leads to.
type Extent uint8

// The ways of saying it. They are told for the reader's sake: how much was captured, the capture itself says.
const (
	ExtentCount Extent = iota // N elements
	ExtentSentinel
	ExtentVariable
	ExtentEnd
	ExtentStart
)

// Type is a row of a Table.
type Type struct {
	Kind   Kind
	Name   string // as people write it; may be empty
	Size   uint32 // bytes
	Align  uint32
	Elem   TypeID  // of Array, Vector, Pointer, Enum
	Count  uint64  // of Array, Vector: elements; of Pointer: ExtentCount's; of Enum: EnumBits, EnumOctal, EnumHex or 0; of Float: FloatDecimal or 0
	Fields []Field // of Struct, Union
	Names  []Const // of Enum
	// Of Pointer:
	Extent   Extent
	Variable string // that the extent hangs on
	Sentinel uint64
	Dec      bool // it holds the highest address
}

// What the Count of an Enum says: its values are sets of bits, or are written so where they have no name.
const (
	EnumBits  = 1
	EnumOctal = 8
	EnumHex   = 16
)

// Field is a field of a Struct or Union.
type Field struct {
	Name   string
	Type   TypeID
	Offset uint32 // bytes
	Bit    uint8  // of a bit field: its lowest bit from Offset
	Bits   uint8  // and how many; 0: no bit field
}

// Const is a name of an Enum's value; without a name it is a mask: the next one stands for all bits of that.
type Const struct {
	Name  string
	Value int64
}

// Table is types by number. Types that refer to each other may do so in circles, but only through pointers.
type Table struct {
	Types []Type // TypeID 1 is the first

	points map[TypeID][]Point
}

// Type returns a type; for 0 and what is not there, Void.
func (t *Table) Type(id TypeID) *Type {
	if id == 0 || int(id) > len(t.Types) {
		return &Type{}
	}
	return &t.Types[id-1]
}

// Add adds a type and returns its number.
func (t *Table) Add(ty Type) TypeID {
	t.Types = append(t.Types, ty)
	return TypeID(len(t.Types))
}

// Point is a pointer within a value, at an offset in its bytes.
type Point struct {
	Offset uint32
	Type   TypeID // of kind Pointer
}

// maxPoints bounds the pointers within one value, and maxNest how deeply records lie in each other:
// a damaged table could claim any number.
const (
	maxPoints = 1 << 16
	maxNest   = 64
)

// Points lists the followed pointers within a value of a type, in the order in which captures have them.
// Those of unions are not followed: which member is meant only the program knows.
func (t *Table) Points(id TypeID) []Point {
	if p, ok := t.points[id]; ok {
		return p
	}
	p := t.pointsOf(nil, id, 0, 0)
	if t.points == nil {
		t.points = make(map[TypeID][]Point)
	}
	t.points[id] = p
	return p
}

func (t *Table) pointsOf(dst []Point, id TypeID, at uint32, depth int) []Point {
	ty := t.Type(id)
	if depth > maxNest || len(dst) >= maxPoints {
		return dst
	}
	switch ty.Kind {
	case Pointer:
		return append(dst, Point{at, id})
	case Struct, String:
		for i := range ty.Fields {
			if f := &ty.Fields[i]; f.Bits == 0 {
				dst = t.pointsOf(dst, f.Type, at+f.Offset, depth+1)
			}
		}
	case Array:
		elem, size := t.pointsOf(nil, ty.Elem, 0, depth+1), t.Type(ty.Elem).Size
		for i := uint64(0); i < ty.Count && len(elem) > 0 && len(dst) < maxPoints; i++ {
			for _, p := range elem {
				dst = append(dst, Point{at + uint32(i)*size + p.Offset, p.Type})
			}
		}
	}
	return dst
}

// NameOr stands between names of one function, of which nobody can tell by which it was called.
const NameOr = "|"

// Named tells whether a name, or one of the names, is one that f means.
func (s *Signature) Named(f func(name string) bool) bool {
	return f(s.Name) || f(s.Linked) || strings.Contains(s.Name, NameOr) && slices.ContainsFunc(strings.Split(s.Name, NameOr), f)
}

// Signature is what is captured of a function.
type Signature struct {
	Number   uint32 // by which Records name it
	Name     string // demangled, without parameters; of a function that was chosen for several names, those, NameOr between them
	Linked   string // as linked
	Image    string // path
	Addr     uint64 // in the process
	Size     uint64
	Threads  []uint32 // whose calls are meant; none: all
	Except   bool     // Threads are those whose calls are not meant
	Params   []Param  // in the order of the signature; the result is none of them
	Result   Param    // Type is 0 where it is not captured
	Entry    []Slot   // what is captured at entry, in order
	Exit     []Slot   // and at return
	Returns  bool     // the return was awaited
	Variadic bool
	// Goroutine: it runs on a goroutine's stack, which may move meanwhile and go on in another thread. Which one the thread's marks say.
	Goroutine bool
	Code      []byte // the function's bytes
}

// Param is a parameter, or the result.
type Param struct {
	Name  string
	Index uint32 // in the function's signature
	Type  TypeID
}

// ResultParam is the Slot.Param of the result.
const ResultParam = -1

// Slot is a value in a capture: which it is, and the pieces that it consists of.
type Slot struct {
	Param int32 // index in Signature.Params, or ResultParam
	Type  TypeID
	// Hidden: what is captured is the address of the value, and the value behind it.
	Hidden bool
	Pieces []Piece // by Offset
}

// Piece is a run of a value's bytes that is captured by itself, as Bytes bytes: a register, for one. What
// they have beyond the value means nothing.
type Piece struct{ Offset, Bytes uint32 }

// maxWeight bounds the values within one value, elements of arrays counted once.
const maxWeight = 1 << 20

// Check tells whether the table makes sense: no type has itself within it, but behind a pointer, and none has too much.
// Who takes a Table from a file calls it before anything else.
func (t *Table) Check() error {
	weights := make([]int, len(t.Types)+1) // 0: not known, -1: being found out
	for id := range t.Types {
		if _, err := t.weigh(TypeID(id+1), weights); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) weigh(id TypeID, weights []int) (int, error) {
	if id == 0 || int(id) >= len(weights) {
		return 1, nil
	}
	switch w := weights[id]; {
	case w > 0:
		return w, nil
	case w < 0:
		return 0, fmt.Errorf("type %d lies within itself: %w", id, ErrCorrupt)
	}
	weights[id] = -1
	sum := 1
	ty := t.Type(id)
	inner := make([]TypeID, 0, len(ty.Fields))
	switch ty.Kind {
	case Struct, String, Union:
		for i := range ty.Fields {
			inner = append(inner, ty.Fields[i].Type)
		}
	case Array, Vector, Enum:
		inner = append(inner, ty.Elem)
	}
	for _, in := range inner {
		w, err := t.weigh(in, weights)
		if err != nil {
			return 0, err
		}
		if sum += w; sum > maxWeight {
			return 0, fmt.Errorf("type %d has too many parts: %w", id, ErrCorrupt)
		}
	}
	weights[id] = sum
	return sum, nil
}
