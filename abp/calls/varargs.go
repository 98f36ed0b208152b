package calls

import "strings"

// VariadicName is the name of the parameters that stand for registers and words in which variable arguments may be.
const VariadicName = "..."

// variadic replaces the captured registers and words of variable arguments by the arguments that a format says there are. Those
// behind one that cannot be told are left out.
func (s *Signature) variadic(t *Table, args []Argument) []Argument {
	var named []Argument
	var general, vectors, stack []Value
	format := ""
	for _, a := range args {
		p := &s.Params[a.Param]
		if p.Name != VariadicName {
			if t.Type(a.Value.Type).Kind == Pointer && a.Value.Len() > 0 && charSize(t, t.Type(a.Value.Type).Elem) == 1 {
				format = Text(a.Value) // the last string before them
			}
			named = append(named, a)
			continue
		}
		switch {
		case t.Type(a.Value.Type).Kind == Float:
			vectors = append(vectors, a.Value)
		case p.Index&variadicStack != 0:
			stack = append(stack, a.Value)
		default:
			general = append(general, a.Value)
		}
	}
	if len(named) == len(args) {
		return args
	}
	v := variadics{t: t, general: append(general, stack...), vectors: vectors}
	for n, spec := range conversions(format) {
		value, ok := v.take(spec)
		if !ok {
			break
		}
		named = append(named, Argument{Param: int32(len(s.Params) - 1), Extra: n + 1, Value: value})
	}
	return named
}

// variadicStack marks the Param.Index of a word of the stack.
const variadicStack = 1 << 16

// VariadicStack is the Param.Index of a word of the stack in which a variable argument may be.
func VariadicStack(word int) uint32 { return variadicStack | uint32(word) }

// variadics deals captured words out.
type variadics struct {
	t                *Table
	general, vectors []Value // general: of registers, then of the stack
	usedGen, usedVec int
}

// take gives the value of one conversion.
func (v *variadics) take(spec conversion) (Value, bool) {
	if spec.kind == Float {
		if v.usedVec < len(v.vectors) {
			v.usedVec++
			return v.as(v.vectors[v.usedVec-1], Float, 8)
		}
		return Value{}, false
	}
	if v.usedGen >= len(v.general) {
		return Value{}, false
	}
	x := v.general[v.usedGen]
	v.usedGen++
	if spec.kind == Pointer {
		return x, true
	}
	return v.as(x, spec.kind, spec.size)
}

// as is a word as a value of a plain type, if the table has one.
func (v *variadics) as(x Value, kind Kind, size uint32) (Value, bool) {
	for i := range v.t.Types {
		if ty := &v.t.Types[i]; ty.Kind == kind && ty.Size == size && len(x.Data) >= int(size) {
			return Value{Table: v.t, Type: TypeID(i + 1), Data: x.Data[:size]}, true
		}
	}
	return Value{}, false
}

// conversion is what a conversion of a format takes.
type conversion struct {
	kind Kind
	size uint32
}

// mostPositions bounds the positions that a format names.
const mostPositions = 64

// taken is what a format takes, argument by argument. Its conversions either all say which argument they mean, or none does.
type taken struct {
	args                   []conversion
	positional, sequential bool
}

// add adds what an argument is, by its position from 1, or the next one (0); false: the format is none.
func (t *taken) add(position int, c conversion) bool {
	t.positional, t.sequential = t.positional || position > 0, t.sequential || position == 0
	switch {
	case t.positional && t.sequential, position > mostPositions:
		return false
	case position == 0:
		t.args = append(t.args, c)
		return true
	}
	for len(t.args) < position {
		t.args = append(t.args, conversion{Signed, 4}) // what the C library takes where no conversion says it
	}
	t.args[position-1] = c
	return true
}

// conversions reads a format of printf, as far as it is one.
func conversions(format string) []conversion {
	var t taken
	for {
		at := strings.IndexByte(format, '%')
		if at < 0 {
			return t.args
		}
		var ok bool
		if format, ok = t.conversion(format[at+1:]); !ok {
			return t.args // what it takes is not known, nor what those behind it do
		}
	}
}

// position takes the position off the beginning of a text, as in 2$; 0: there is none.
func position(text string) (n int, rest string) {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if digits == 0 || digits > 3 || !strings.HasPrefix(text[digits:], "$") {
		return 0, text
	}
	for _, c := range text[:digits] {
		n = 10*n + int(c-'0')
	}
	return n, text[digits+1:]
}

// conversion adds what the conversion takes that a text begins with, and returns the text behind it.
func (t *taken) conversion(format string) (rest string, ok bool) {
	size, odd := uint32(4), false
	value, format := position(format)
	for format != "" {
		c := format[0]
		format = format[1:]
		switch {
		case strings.IndexByte("#-+ '0123456789.hI", c) >= 0:
		case c == '*':
			var width int
			if width, format = position(format); (width == 0) != (value == 0) || !t.add(width, conversion{Signed, 4}) {
				return "", false
			}
		case strings.IndexByte("ljzt", c) >= 0:
			size = 8
		case strings.IndexByte("Lq", c) >= 0:
			odd = true
		case c == '%' || c == 'm':
			return format, true
		default:
			k, known := conversionOf(c, size)
			return format, known && !odd && t.add(value, k)
		}
	}
	return "", false
}

// conversionOf is what a letter takes, with integers of a size.
func conversionOf(c byte, size uint32) (conversion, bool) {
	switch c {
	case 'd', 'i':
		return conversion{Signed, size}, true
	case 'o', 'u', 'x', 'X':
		return conversion{Unsigned, size}, true
	case 'c':
		return conversion{Char, 1}, true
	case 's':
		if size == 4 {
			return conversion{Pointer, 8}, true
		}
		return conversion{Address, 8}, true // of wide characters
	case 'p', 'S', 'n':
		return conversion{Address, 8}, true
	case 'a', 'A', 'e', 'E', 'f', 'F', 'g', 'G':
		return conversion{Float, 8}, true
	}
	return conversion{}, false
}
