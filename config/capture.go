package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"alleria/config/vocab"
	"alleria/internal/errno"
)

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
	parts int // values in it, itself among them; no more are counted than is told
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
	// Result is how the result is changed; nil: not at all.
	Result *Change
	// Fail is the error with which calls return at once instead of being executed, empty: none do.
	Fail            string
	FailProbability Rate
	// Seed is what chance begins with; 0: DefaultSeed.
	Seed uint64
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
	Set   *Change // nil: it is not changed
}

// ChangeKind is what a value is changed to.
type ChangeKind uint8

// The kinds.
const (
	ChangeTo       ChangeKind = iota // one of Change.Values
	ChangeBitflip                    // the value with one bit turned over
	ChangeBoundary                   // a value at the edge of its type
	ChangeRandom                     // any value of its type
)

// changeKinds are the words for kinds that are no values.
var changeKinds = [...]string{ChangeBitflip: "bitflip", ChangeBoundary: "boundary", ChangeRandom: "random"}

// Change is how a value of a call is changed while the program runs.
type Change struct {
	Pos
	Kind        ChangeKind
	Values      []string // as written; of ChangeTo
	Probability Rate     // zero: each time
	Text        string   // as written
}

// DefaultSeed is the seed of changes where a file gives none.
const DefaultSeed = 1

// Changes tells whether a configuration changes values of the program.
func (c *Config) Changes() bool {
	for _, w := range c.Windows {
		for i := range w.Profile.AllImages() {
			for _, f := range i.Functions {
				if f.Intercept != nil && f.Intercept.Changes() {
					return true
				}
			}
		}
	}
	return false
}

// Changes tells whether calls are not only captured.
func (ic *Intercept) Changes() bool {
	return ic.Fail != "" || ic.Result != nil || slices.ContainsFunc(ic.Parameters, func(p *Parameter) bool { return p.Set != nil })
}

// changeRight says what a change looks like.
const changeRight = "a value, several separated by commas of which one is taken each time, or bitflip, boundary or random"

// change reads set and probability of an element; nil: there is no set. typ is the type of what is changed, zero: it is not known yet.
func (d *decoder) change(n *node, typ TypeRef) *Change {
	set := n.get("set")
	if set == nil {
		if a := n.get("probability"); a != nil {
			d.rule(a.Pos, "probability has no effect without a change", "add set, or leave probability out")
		}
		return nil
	}
	c := &Change{Pos: set.Pos, Text: strings.Join(strings.Fields(n.text("set")), " "), Probability: d.probability(n)}
	if k := slices.Index(changeKinds[1:], c.Text); k >= 0 {
		c.Kind = ChangeKind(k + 1)
		if typ.Record != nil {
			d.rule(set.Pos, "a record cannot be changed", "change a parameter that points to it, or one that is a number")
		}
		return c
	}
	for _, v := range strings.Split(c.Text, ",") {
		v = strings.TrimSpace(v)
		c.Values = append(c.Values, v)
		if _, err := Constant(v, typ.changed(), int(typ.Size())); err != nil {
			d.rule(set.Pos, fmt.Sprintf("set=%q: %v", short(c.Text), err), "it takes "+changeRight)
			break
		}
	}
	if typ.Record != nil || typ.Builtin == F10 {
		d.rule(set.Pos, fmt.Sprintf("a value of type %s cannot be set", typ.Name), "numbers of up to eight bytes, characters, bool, ptr and pointers can be set")
	}
	return c
}

// probability reads the attribute.
func (d *decoder) probability(n *node) Rate {
	a := n.get("probability")
	if a == nil {
		return Rate{}
	}
	r, _ := parseRate(a.value)
	if r.Auto {
		d.rule(a.Pos, "a probability cannot be auto", "1/N, a percentage, or a number between 0 and 1: 1/20, 5%, 0.05")
	}
	return r
}

// ConstantKind is how a constant is spelt.
type ConstantKind uint8

// The kinds.
const (
	AnyConstant ConstantKind = iota
	UnsignedConstant
	SignedConstant
	FloatConstant
	BoolConstant
	AddressConstant
)

// changed is the kind of the constants of a type.
func (r TypeRef) changed() ConstantKind {
	switch {
	case r.Pointer != nil, r.Builtin == Ptr:
		return AddressConstant
	case r.Builtin.Signed():
		return SignedConstant
	case r.Builtin.Float():
		return FloatConstant
	case r.Builtin == Bool:
		return BoolConstant
	case r.Builtin == NoBuiltin:
		return AnyConstant
	}
	return UnsignedConstant
}

// Constant reads a value of a kind that takes so many bytes, 0: nobody knows how many. The value's bits are the low ones of the result.
func Constant(text string, kind ConstantKind, bytes int) (uint64, error) {
	words := map[string]ConstantKind{"NULL": AddressConstant, "true": BoolConstant, "false": BoolConstant}
	if k, ok := words[text]; ok && (kind == k || kind == AnyConstant) {
		return map[string]uint64{"true": 1}[text], nil
	}
	if kind == FloatConstant {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is no floating-point number", short(text))
		}
		if bytes == 4 {
			return uint64(math.Float32bits(float32(x))), nil
		}
		return math.Float64bits(x), nil
	}
	digits, minus := strings.CutPrefix(text, "-")
	n := parseNumber(digits)
	if !n.ok {
		if _, err := strconv.ParseFloat(text, 64); err == nil && kind == AnyConstant {
			return 0, nil
		}
		return 0, fmt.Errorf("%q is no number", short(text))
	}
	bits := 64
	if bytes > 0 && bytes < 8 {
		bits = 8 * bytes
	}
	high := n.val >> (bits - 1) // the highest bit, and what is above it
	switch {
	case kind == BoolConstant && (minus || n.val > 1):
		return 0, fmt.Errorf("%q is neither true nor false", short(text))
	case minus && high > 0 && n.val != 1<<(bits-1), !minus && high > 1:
		return 0, fmt.Errorf("%q does not fit into %d bits", short(text), bits)
	case minus:
		return -n.val, nil
	}
	return n.val, nil
}

// words says what a change does.
func (c *Change) words() string {
	var what string
	switch {
	case c.Kind == ChangeBitflip:
		what = "one of its bits is flipped"
	case c.Kind == ChangeBoundary:
		what = "it becomes a value at the edge of its type"
	case c.Kind == ChangeRandom:
		what = "it becomes a random value"
	case len(c.Values) == 1:
		what = "it becomes " + c.Values[0]
	default:
		what = "it becomes one of " + strings.Join(c.Values, ", ")
	}
	return what + often(c.Probability)
}

// often words a probability.
func often(r Rate) string {
	if r.All() {
		return ""
	}
	return " in " + r.String() + " of the calls, at random"
}

// failure reads fail and what goes with it.
func (d *decoder) failure(n *node, ic *Intercept) {
	a := n.get("fail")
	if a == nil {
		if p := n.get("probability"); p != nil {
			d.rule(p.Pos, "probability has no effect without a change", "add fail, or put probability beside a set")
		}
		return
	}
	ic.Fail, ic.FailProbability = n.text("fail"), d.probability(n)
	if errno.Number(ic.Fail) == 0 {
		right := "one of the names of errno(3), such as ENOMEM"
		if best, _ := vocab.Closest(ic.Fail, errno.Names()); best != "" {
			right = "the nearest is " + best
		}
		d.rule(a.Pos, fmt.Sprintf("%q is no error number", short(ic.Fail)), right)
	}
}

// MaxParameter is the highest position of a parameter: C promises 127 parameters, C++ 256, and those in front of one have to
// be counted to find it.
const MaxParameter = 255
