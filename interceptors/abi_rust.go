package interceptors

import (
	"slices"
	"strings"

	"alleria/abp/calls"
	"alleria/internal/capture"
)

// Rust's own calling convention (extern "Rust"), of which nothing is promised, as rustc makes it on x86-64: of how a value is laid out follows whether it is a scalar, a pair of scalars,
// or anything else. A scalar travels as in C, and each scalar of a pair by itself. What else has at most eight bytes is an integer; everything larger travels by its
// address, as an argument and as a result. LLVM says what happens where registers run out: the next scalar is on the stack.
//
// Two things are not in debug information: whether a record is repr(C), which makes it no scalar where it holds but one, and the layout that another version of rustc
// would have chosen. So a type may be represented in several ways; an argument that is not in the same place in all of them has none.

// Versions of rustc (1.N) from which on something is done as today.
const (
	NewestRust     = 95 // what was looked at
	rustWide       = 78 // integers of 16 bytes are aligned to it, and not split (LLVM 18)
	rustMixed      = 84 // variants that have different integers, or one and a pointer, in the same place are surely a pair
	rustTwo        = 84 // results of more than two registers are in memory
	rustInMemory   = 60 // results that are no scalars are in registers up to eight bytes only
	mostRustStates = 64
)

// rustKind is how a value is represented.
type rustKind uint8

const (
	rustNothing  rustKind = iota // it has no bytes
	rustScalar                   // a
	rustPair                     // a and b
	rustMemory                   // anything else
	rustIndirect                 // in memory, however small it is: vectors
	rustUnknown
)

// rustPrimitive is what a scalar is.
type rustPrimitive struct {
	kind rustPrimitiveKind
	off  uint32
	size uint32
}

type rustPrimitiveKind uint8

const (
	rustInteger rustPrimitiveKind = iota
	rustSigned
	rustChosen // an enumeration without values
	rustPointer
	rustFloat
)

// rustRepr is one way in which a value may be represented.
type rustRepr struct {
	kind rustKind
	a, b rustPrimitive
}

// rustTypes says how values are represented.
type rustTypes struct {
	c       *Compiler
	version int
}

// align is how a primitive is aligned.
func (r *rustTypes) align(p rustPrimitive) uint32 {
	if p.size == 16 && p.kind != rustFloat && r.version < rustWide {
		return 8
	}
	return min(max(p.size, 1), 16)
}

// reprs lists the ways in which a type may be represented; there is one at least.
func (r *rustTypes) reprs(t calls.TypeID, depth int) []rustRepr {
	ty := r.c.Table.Type(t)
	scalar := func(k rustPrimitiveKind) []rustRepr {
		return []rustRepr{{kind: rustScalar, a: rustPrimitive{kind: k, size: ty.Size}}}
	}
	switch {
	case t == 0 || depth > 16:
		return []rustRepr{{kind: rustUnknown}}
	case ty.Size == 0:
		return []rustRepr{{kind: rustNothing}}
	case len(ty.Names) > 0 && (ty.Kind == calls.Struct || ty.Kind == calls.Union):
		return r.enum(ty, depth)
	}
	switch ty.Kind {
	case calls.Unsigned, calls.Char, calls.Char16, calls.Char32, calls.Bool:
		return scalar(rustInteger)
	case calls.Signed:
		return scalar(rustSigned)
	case calls.Enum:
		return scalar(rustChosen)
	case calls.Address, calls.Pointer:
		return scalar(rustPointer)
	case calls.Float:
		return scalar(rustFloat)
	case calls.Struct, calls.String:
		if isRustVector(ty.Name) {
			return []rustRepr{{kind: rustIndirect}}
		}
		return r.record(ty.Fields, ty, r.c.open[t], depth)
	case calls.Union:
		return r.union(ty, r.c.open[t], depth)
	}
	return []rustRepr{{kind: rustMemory}}
}

// isRustVector tells whether a record is one of the library's vectors.
func isRustVector(name string) bool {
	name = strings.TrimPrefix(name, "struct ")
	return strings.HasPrefix(name, "__m") && len(name) > 3 && name[3] >= '1' && name[3] <= '9' || strings.HasPrefix(name, "Simd<")
}

// some are the fields that have bytes.
func (r *rustTypes) some(fields []calls.Field) []calls.Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f calls.Field) bool { return r.c.Table.Type(f.Type).Size == 0 })
}

// record is reprs of fields that make up a type. open: it may be repr(C).
func (r *rustTypes) record(fields []calls.Field, ty *calls.Type, open bool, depth int) (out []rustRepr) {
	fields = r.some(fields)
	memory := rustRepr{kind: rustMemory}
	switch len(fields) {
	case 1:
		f := r.c.Table.Type(fields[0].Type)
		if fields[0].Offset != 0 || f.Size != ty.Size || max(f.Align, 1) != max(ty.Align, 1) && f.Size < 16 {
			return []rustRepr{memory}
		}
		out = r.reprs(fields[0].Type, depth+1)
		if open && slices.ContainsFunc(out, func(q rustRepr) bool { return q.kind == rustScalar }) {
			out = append(slices.Clone(out), memory)
		}
		return out
	case 2:
		if fields[0].Offset > fields[1].Offset {
			slices.Reverse(fields)
		}
		for _, a := range r.reprs(fields[0].Type, depth+1) {
			for _, b := range r.reprs(fields[1].Type, depth+1) {
				out = add(out, r.pair(a, fields[0].Offset, b, fields[1].Offset, ty))
			}
		}
		return out
	}
	return []rustRepr{memory}
}

// add adds a way that is not there.
func add(out []rustRepr, q rustRepr) []rustRepr {
	if slices.Contains(out, q) {
		return out
	}
	return append(out, q)
}

// pair is how a type is represented that has two values at offsets: as a pair, if they are scalars and lie as a pair's do.
func (r *rustTypes) pair(a rustRepr, aOff uint32, b rustRepr, bOff uint32, ty *calls.Type) rustRepr {
	switch {
	case a.kind == rustUnknown || b.kind == rustUnknown:
		return rustRepr{kind: rustUnknown}
	case a.kind != rustScalar || b.kind != rustScalar:
		return rustRepr{kind: rustMemory}
	}
	up := func(n, align uint32) uint32 { return (n + align - 1) / align * align }
	at := up(a.a.size, r.align(b.a))
	align := max(r.align(a.a), r.align(b.a))
	if aOff != 0 || bOff != at || up(at+b.a.size, align) != ty.Size || align < 16 && align != max(ty.Align, 1) {
		return rustRepr{kind: rustMemory}
	}
	b.a.off = at
	return rustRepr{kind: rustPair, a: a.a, b: b.a}
}

// union is reprs of a union: what all of its members are, unless it is repr(C).
func (r *rustTypes) union(ty *calls.Type, open bool, depth int) []rustRepr {
	fields := r.some(ty.Fields)
	memory := rustRepr{kind: rustMemory}
	if len(fields) == 0 {
		return []rustRepr{memory}
	}
	out := r.record(fields[:1], ty, open, depth)
	for i := range fields[1:] {
		if !slices.Equal(out, r.record(fields[1+i:2+i], ty, open, depth)) {
			return []rustRepr{memory}
		}
	}
	if open || len(fields) > 1 { // integers with a sign and such without are not the same
		out = add(slices.Clone(out), memory)
	}
	return out
}

// enum is reprs of an enumeration with values.
func (r *rustTypes) enum(ty *calls.Type, depth int) []rustRepr {
	memory := []rustRepr{{kind: rustMemory}}
	if ty.Elem == 0 { // one variant
		i := slices.IndexFunc(ty.Fields, func(f calls.Field) bool { return f.Name == ty.Names[0].Name })
		if i < 0 {
			return []rustRepr{{kind: rustUnknown}}
		}
		return r.record(r.c.Table.Type(ty.Fields[i].Type).Fields, ty, false, depth+1)
	}
	if i := ty.Niche(); i >= 0 {
		for k := range ty.Fields {
			if k != i && len(r.some(r.c.Table.Type(ty.Fields[k].Type).Fields)) > 0 {
				return memory
			}
		}
		return r.record(r.c.Table.Type(ty.Fields[i].Type).Fields, ty, false, depth+1)
	}
	tag := rustRepr{kind: rustScalar, a: rustPrimitive{size: r.c.Table.Type(ty.Elem).Size}}
	switch {
	case ty.Count != 0:
		return memory
	case tag.a.size == ty.Size:
		return []rustRepr{tag}
	}
	// What all variants have that have anything, in the same place.
	var common []rustRepr
	at := uint32(0)
	for i := range ty.Fields {
		fields := r.some(r.c.Table.Type(ty.Fields[i].Type).Fields)
		if len(fields) == 0 {
			continue
		}
		reprs := r.reprs(fields[0].Type, depth+1)
		switch {
		case len(fields) > 1 || common != nil && fields[0].Offset != at:
			return memory
		case common == nil:
			common, at = reprs, fields[0].Offset
		default:
			common = r.both(common, reprs)
		}
	}
	var out []rustRepr
	for _, b := range common {
		out = add(out, r.pair(tag, 0, b, at, ty))
	}
	if out == nil {
		return memory
	}
	return out
}

// both is what values of two variants are together that may be represented in these ways.
func (r *rustTypes) both(a, b []rustRepr) (out []rustRepr) {
	for _, p := range a {
		for _, q := range b {
			switch {
			case p == q:
				out = add(out, p)
			case p.kind == rustUnknown || q.kind == rustUnknown:
				out = add(out, rustRepr{kind: rustUnknown})
			case p.kind == rustScalar && q.kind == rustScalar && p.a.size == q.a.size && p.a.kind != rustFloat && q.a.kind != rustFloat:
				p.a.kind = rustInteger
				out = add(out, p)
				if r.version < rustMixed {
					out = add(out, rustRepr{kind: rustMemory})
				}
			default:
				out = add(out, rustRepr{kind: rustMemory})
			}
		}
	}
	return out
}

// rustState is how many registers and bytes of the stack are taken.
type rustState struct {
	general, vectors int
	stack            uint32
}

// locateRust gives each argument and the result its place. What may be in several has none.
func (c *Compiler) locateRust(p *Prototype) (args []place, result place) {
	args = make([]place, len(p.Args))
	if p.Unplaced {
		return args, place{}
	}
	r := rustTypes{c: c, version: p.Rust}
	states := []rustState{{}}
	switch {
	case p.ResultAs != 0:
		result, states = r.result(p.ResultAs)
	case p.Result != 0:
		result, states = r.result(p.Result)
	}
	for i, t := range p.Args {
		var places []place
		var next []rustState
		for _, s := range states {
			for _, q := range r.reprs(t, 0) {
				if q.kind == rustUnknown {
					return args, result
				}
				s := s
				places = append(places, r.argument(&s, q, c.Table.Type(t).Size))
				if !slices.Contains(next, s) {
					next = append(next, s)
				}
			}
		}
		if len(next) > mostRustStates {
			return args, result
		}
		states = next
		args[i] = agreed(places)
	}
	return args, result
}

// agreed is the place that all are; none, if they differ.
func agreed(places []place) place {
	for _, q := range places {
		if q.hidden != places[0].hidden || !slices.Equal(q.pieces, places[0].pieces) {
			return place{}
		}
	}
	return places[0]
}

// whole is a scalar that is a value by itself: it is in a register's eight bytes, as an integer is that holds something else.
func (p rustPrimitive) whole() rustPrimitive {
	if p.kind != rustFloat && p.size < 8 {
		p.size = 8
	}
	return p
}

// argument places an argument of a size behind what a state says.
func (r *rustTypes) argument(s *rustState, q rustRepr, size uint32) (pl place) {
	switch {
	case q.kind == rustNothing:
	case q.kind == rustScalar:
		pl.pieces = r.primitive(s, nil, q.a.whole())
	case q.kind == rustPair:
		pl.pieces = r.primitive(s, r.primitive(s, nil, q.a), q.b)
	case q.kind == rustMemory && size <= 8:
		pl.pieces = r.primitive(s, nil, rustPrimitive{size: 8})
	default:
		pl = place{hidden: true, pieces: r.primitive(s, nil, rustPrimitive{size: 8})}
	}
	return pl
}

// primitive places a scalar.
func (r *rustTypes) primitive(s *rustState, to []piece, q rustPrimitive) []piece {
	switch words := int(q.size+7) / 8; {
	case q.kind == rustFloat && s.vectors < vectorArgs:
		s.vectors++
		return append(to, piece{capture.Source{Kind: capture.Vector, N: uint32(s.vectors - 1)}, q.off, q.size})
	case q.kind != rustFloat && words == 2 && r.version < rustWide:
		to = r.primitive(s, to, rustPrimitive{off: q.off, size: 8})
		return r.primitive(s, to, rustPrimitive{off: q.off + 8, size: 8})
	case q.kind != rustFloat && s.general+words <= len(generalArgs()):
		for i, n := range generalArgs()[s.general : s.general+words] {
			off := 8 * uint32(i)
			to = append(to, piece{capture.Source{Kind: capture.GPR, N: n}, q.off + off, min(q.size-off, 8)})
		}
		s.general += words
		return to
	}
	align := max(8, r.align(q))
	at := (s.stack + align - 1) / align * align
	s.stack = at + (q.size+7)/8*8
	return append(to, piece{capture.Source{Kind: capture.Stack, N: at}, q.off, q.size})
}

// result is the place of a result, and what its address takes of the arguments' registers.
func (r *rustTypes) result(t calls.TypeID) (place, []rustState) {
	var places []place
	var states []rustState
	size := r.c.Table.Type(t).Size
	for _, q := range r.reprs(t, 0) {
		memory := q.kind == rustIndirect || q.kind == rustMemory && size > 8 || q.kind == rustPair && size > 16
		switch {
		case q.kind == rustUnknown:
			return place{}, []rustState{{}, {general: 1}}
		case q.kind == rustPair && size > 16 && r.version < rustTwo, q.kind == rustMemory && size > 8 && size <= 16 && r.version < rustInMemory:
			return place{}, []rustState{{}, {general: 1}}
		case memory:
			places = append(places, place{hidden: true, pieces: []piece{{src: capture.Source{Kind: capture.GPR, N: rax}, bytes: 8}}})
			states = append(states, rustState{general: 1})
			continue
		}
		places = append(places, returned(q))
		states = append(states, rustState{})
	}
	slices.SortFunc(states, func(a, b rustState) int { return a.general - b.general })
	return agreed(places), slices.Compact(states)
}

// returned is the place of a result in registers.
func returned(q rustRepr) (pl place) {
	list := []rustPrimitive{q.a, q.b}
	switch q.kind {
	case rustNothing:
		return pl
	case rustScalar:
		list = []rustPrimitive{q.a.whole()}
	case rustMemory:
		list = []rustPrimitive{{size: 8}}
	}
	general, vectors := []uint32{rax, rdx}, uint32(0)
	for _, p := range list {
		if p.kind == rustFloat {
			pl.pieces = append(pl.pieces, piece{capture.Source{Kind: capture.Vector, N: vectors}, p.off, p.size})
			vectors++
			continue
		}
		for off := uint32(0); off < p.size; off += 8 {
			pl.pieces = append(pl.pieces, piece{capture.Source{Kind: capture.GPR, N: general[0]}, p.off + off, min(p.size-off, 8)})
			general = general[1:]
		}
	}
	return pl
}

// IsRust tells whether a function's linked name is one that rustc makes for functions of its own convention. One that is linked by the name that its source has
// (no_mangle) is taken for C's.
func IsRust(linked string) bool {
	if strings.HasPrefix(linked, "_R") {
		return true
	}
	const hash = len("17h0123456789abcdefE") // of the name's parts the last is a sum
	at := len(linked) - hash
	return strings.HasPrefix(linked, "_ZN") && at > 3 && strings.HasPrefix(linked[at:], "17h") && strings.HasSuffix(linked, "E") &&
		strings.Trim(linked[at+3:len(linked)-1], "0123456789abcdef") == ""
}
