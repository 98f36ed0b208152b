package calls

import (
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Format bounds what is printed of a value.
type Format struct {
	Elements int // of an array, and fields of nested records; 0: all
	Bytes    int // of a string; 0: all
}

// Append appends the value as a C programmer writes it.
func (f Format) Append(dst []byte, v Value) []byte { return f.value(dst, v, 0) }

func (f Format) value(dst []byte, v Value, depth int) []byte {
	t := v.Table.Type(v.Type)
	if len(v.Data) == 0 && t.Size > 0 {
		return append(dst, '?')
	}
	if depth > maxNest*4 {
		return append(dst, "..."...)
	}
	switch t.Kind {
	case Void:
		return append(dst, "void"...)
	case Unsigned, Signed:
		return appendInt(dst, v, t)
	case Char, Char16, Char32:
		if x := v.Int(); x < 0 {
			return strconv.AppendInt(dst, x, 10)
		}
		return appendChar(dst, v.Uint())
	case Float:
		return appendFloat(dst, v)
	case Bool:
		return strconv.AppendBool(dst, v.Bool())
	case Address:
		return appendAddress(dst, v.Uint())
	case Enum:
		return v.appendEnum(dst, t)
	case Struct, Union:
		if t.IsVariants() {
			return f.variant(dst, v, depth)
		}
		return f.fields(dst, v, t, depth)
	case String:
		return f.text(dst, v, t, depth)
	case Array, Vector:
		return f.array(dst, v, t, depth)
	}
	return f.pointer(dst, v, t, depth)
}

// appendInt writes an integer. Those of more than eight bytes are written in hexadecimal.
func appendInt(dst []byte, v Value, t *Type) []byte {
	if len(v.Data) > 8 {
		dst = append(dst, "0x"...)
		for i := len(v.Data) - 1; i >= 0; i-- {
			dst = append(dst, "0123456789abcdef"[v.Data[i]>>4], "0123456789abcdef"[v.Data[i]&15])
		}
		return dst
	}
	if t.Kind == Signed {
		return strconv.AppendInt(dst, v.Int(), 10)
	}
	return strconv.AppendUint(dst, v.Uint(), 10)
}

// appendAddress writes an address.
func appendAddress(dst []byte, a uint64) []byte {
	if a == 0 {
		return append(dst, "NULL"...)
	}
	return strconv.AppendUint(append(dst, "0x"...), a, 16)
}

// appendEnum writes the name of an Enum's value, names joined by | where it is made of bits, else the number.
func (v Value) appendEnum(dst []byte, t *Type) []byte {
	x := v.Int()
	for _, c := range t.Names {
		if c.Value == x && c.Name != "" && (x == 0 || t.Count != EnumBits) {
			return append(dst, c.Name...)
		}
	}
	start := len(dst)
	dst, rest := appendBits(dst, t, v.Uint())
	switch {
	case rest == 0 && len(dst) > start:
		return dst
	case t.Count == EnumBits && rest != 0:
		if len(dst) > start {
			dst = append(dst, '|')
		}
		return strconv.AppendUint(append(dst, "0x"...), rest, 16)
	case t.Count == EnumOctal && x != 0:
		return strconv.AppendUint(append(dst[:start], '0'), v.Uint(), 8)
	case t.Count == EnumHex && x != 0:
		return strconv.AppendUint(append(dst[:start], "0x"...), v.Uint(), 16)
	}
	return strconv.AppendInt(dst[:start], x, 10)
}

// appendBits writes the names whose bits a value has, and returns the bits that no name has. Names of several bits count where values are sets of bits,
// and a name behind a mask, which has none, for the bits of that.
func appendBits(dst []byte, t *Type, rest uint64) ([]byte, uint64) {
	start, mask := len(dst), uint64(0)
	for _, c := range t.Names {
		b := uint64(c.Value)
		if c.Name == "" {
			mask = b
			continue
		}
		bits := b
		if mask != 0 {
			bits, mask = mask, 0
		} else if t.Count != EnumBits && b&(b-1) != 0 {
			continue
		}
		if bits == 0 || rest&bits != b {
			continue
		}
		if len(dst) > start {
			dst = append(dst, '|')
		}
		dst = append(dst, c.Name...)
		rest &^= bits
	}
	return dst, rest
}

// fields writes a record.
func (f Format) fields(dst []byte, v Value, t *Type, depth int) []byte {
	dst = append(dst, '{')
	for i := range t.Fields {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		if f.Elements > 0 && i >= f.Elements {
			dst = append(dst, "..."...)
			break
		}
		if t.Fields[i].Name != "" {
			dst = append(append(dst, t.Fields[i].Name...), '=')
		}
		dst = f.value(dst, v.Field(i), depth+1)
	}
	return append(dst, '}')
}

// text writes what a String holds.
func (f Format) text(dst []byte, v Value, t *Type, depth int) []byte {
	for i := range t.Fields {
		if p := v.Field(i); v.Table.Type(p.Type).Kind == Pointer {
			return f.value(dst, p, depth+1)
		}
	}
	return f.fields(dst, v, t, depth)
}

// array writes an array: characters as a string, up to the null that ends it.
func (f Format) array(dst []byte, v Value, t *Type, depth int) []byte {
	if unit := charSize(v.Table, t.Elem); unit > 0 {
		data, _ := cutAt(v.Data, unit, 0)
		return f.quote(dst, data, unit, false)
	}
	return f.elements(dst, v, v.Len(), depth)
}

// elements writes the elements of an array or of what a pointer leads to.
func (f Format) elements(dst []byte, v Value, n, depth int) []byte {
	dst = append(dst, '{')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if f.Elements > 0 && i >= f.Elements {
			dst = append(dst, "..."...)
			break
		}
		dst = f.value(dst, v.Elem(i), depth+1)
	}
	return append(dst, '}')
}

// pointer writes what a pointer leads to.
func (f Format) pointer(dst []byte, v Value, t *Type, depth int) []byte {
	st := v.Status()
	switch {
	case st == Null:
		return append(dst, "NULL"...)
	case st == Unknown || st == Missing, st != Whole && len(v.Targets[0].Data) == 0 && (st != Seen || v.Targets[0].Data == nil):
		dst = appendAddress(dst, v.Uint())
		return append(append(append(dst, " ("...), st.String()...), ')')
	}
	data := v.Targets[0].Data
	if unit := charSize(v.Table, t.Elem); unit > 0 {
		return f.quote(dst, bare(t, data, unit), unit, st == Unreadable || st == Bounded)
	}
	n := v.Len()
	if t.Extent == ExtentCount && t.Count == 1 && n == 1 {
		return f.value(append(dst, '&'), v.Elem(0), depth+1)
	}
	dst = f.elements(dst, v, n, depth)
	if st == Unreadable || st == Bounded {
		dst = append(dst, "..."...)
	}
	return dst
}

// bare is the data of a string without its sentinel, which the end tells. Among other elements it is shown: it is one of them.
func bare(t *Type, data []byte, size int) []byte {
	if t.Extent != ExtentSentinel || size <= 0 || len(data) < size {
		return data
	}
	if t.Dec {
		if isSentinel(data[:size], t.Sentinel) {
			return data[size:]
		}
		return data
	}
	if end := len(data)/size*size - size; isSentinel(data[end:end+size], t.Sentinel) {
		return data[:end]
	}
	return data
}

// isSentinel tells whether an element is a sentinel: its bytes beyond eight are zero.
func isSentinel(b []byte, sentinel uint64) bool {
	for _, c := range b[min(8, len(b)):] {
		if c != 0 {
			return false
		}
	}
	return uintOf(b[:min(8, len(b))]) == sentinel
}

// charSize is the size of a type's characters, 0 if it is none.
func charSize(t *Table, id TypeID) int {
	switch ty := t.Type(id); ty.Kind {
	case Char, Char16, Char32:
		return max(1, min(int(ty.Size), 4))
	}
	return 0
}

// cutAt cuts characters at the first that is the sentinel.
func cutAt(b []byte, unit int, sentinel uint64) ([]byte, bool) {
	for i := 0; i+unit <= len(b); i += unit {
		if uintOf(b[i:i+unit]) == sentinel {
			return b[:i], true
		}
	}
	return b, false
}

// quote writes characters in quotation marks, with C's escapes.
func (f Format) quote(dst, b []byte, unit int, cut bool) []byte {
	if f.Bytes > 0 && len(b) > f.Bytes {
		b, cut = b[:f.Bytes/unit*unit], true
	}
	dst = append(dst, '"')
	switch unit {
	case 1:
		dst = appendBytes(dst, b)
	case 2:
		u := make([]uint16, len(b)/2)
		for i := range u {
			u[i] = uint16(uintOf(b[2*i : 2*i+2]))
		}
		dst = appendBytes(dst, []byte(string(utf16.Decode(u))))
	case 4:
		for i := 0; i+4 <= len(b); i += 4 {
			dst = appendBytes(dst, utf8.AppendRune(nil, rune(uintOf(b[i:i+4]))))
		}
	}
	dst = append(dst, '"')
	if cut {
		dst = append(dst, "..."...)
	}
	return dst
}

// appendBytes writes UTF-8, and what is none in octal as C does: there a hexadecimal escape has no end.
func appendBytes(dst, b []byte) []byte {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == utf8.RuneError && n == 1, r < ' ' || r == 0x7f:
			dst = appendEscape(dst, b[0])
		case !strconv.IsPrint(r):
			for _, c := range b[:n] {
				dst = appendEscape(dst, c)
			}
		default:
			dst = append(dst, b[:n]...)
		}
		b = b[n:]
	}
	return dst
}

// appendEscape writes a byte that is not printed as it is.
func appendEscape(dst []byte, c byte) []byte {
	const names = "abtnvfr" // from 7 on
	if c >= 7 && c < 7+byte(len(names)) {
		return append(dst, '\\', names[c-7])
	}
	return append(dst, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
}

// appendChar writes a character constant, or the number where it is no character.
func appendChar(dst []byte, c uint64) []byte {
	switch {
	case c == '\'':
		return append(dst, `'\''`...)
	case c < 0x80:
		start := len(dst)
		dst = appendBytes(append(dst, '\''), []byte{byte(c)})
		if c == '"' {
			return append(dst[:start], `'"'`...)
		}
		return append(dst, '\'')
	}
	return strconv.AppendUint(dst, c, 10)
}

// AppendCall appends a call: its name, its arguments as captured at entry, its result and what it
// has changed. Arguments that were captured at return follow the result, as name=value.
func (f Format) AppendCall(dst []byte, c *Call, t *Table) []byte {
	dst = f.AppendEntry(dst, c, t)
	return f.AppendExit(append(dst, ' '), c, t)
}

// AppendEntry appends the name and the arguments at entry.
func (f Format) AppendEntry(dst []byte, c *Call, t *Table) []byte {
	dst = append(append(dst, c.Sig.Name...), '(')
	in, err := c.In(t)
	for i, a := range in {
		if i > 0 && unread(&in[i-1].Value, &a.Value) {
			continue
		}
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = f.appendWas(f.argument(dst, c.Sig, a), c, &a, false)
	}
	if err != nil {
		dst = append(dst, "?"...)
	}
	return append(dst, ')')
}

// unread tells whether v is the mode of a file that flags, the argument before, do not have created: open does not read it then, and callers leave it out.
func unread(flags, v *Value) bool {
	of, t := flags.Table.Type(flags.Type), v.Table.Type(v.Type)
	if of.Kind != Enum || of.Count != EnumBits || t.Kind != Enum || t.Count != EnumOctal || len(flags.Data) < int(of.Size) {
		return false
	}
	const temporary = 0x400000 // O_TMPFILE without O_DIRECTORY
	i := slices.IndexFunc(of.Names, func(c Const) bool { return c.Name == "O_CREAT" })
	return i >= 0 && flags.Uint()&(uint64(of.Names[i].Value)|temporary) == 0
}

// argument writes a parameter's name, if it has one, and its value.
func (f Format) argument(dst []byte, s *Signature, a Argument) []byte {
	if a.Extra == 0 && a.Param >= 0 && int(a.Param) < len(s.Params) && s.Params[a.Param].Name != "" {
		dst = append(append(dst, s.Params[a.Param].Name...), '=')
	}
	return f.Append(dst, a.Value)
}

// AppendExit appends how a call was left: its result, and arguments captured at return.
func (f Format) AppendExit(dst []byte, c *Call, t *Table) []byte {
	if c.End != Returned {
		return append(append(append(dst, '<'), c.End.String()...), '>')
	}
	out, err := c.Out(t)
	result := false
	for _, a := range out {
		if a.Param == ResultParam {
			dst = f.appendWas(f.Append(append(dst, "= "...), a.Value), c, &a, true)
			result = true
		}
	}
	if !result {
		dst = append(dst, "returned"...)
	}
	dst = c.appendFailed(dst)
	in, _ := c.In(t)
	for _, a := range out {
		if a.Param == ResultParam {
			continue
		}
		start := len(dst)
		dst = f.argument(append(dst, ", "...), c.Sig, a)
		for _, was := range in {
			if was.Param == a.Param && string(f.argument([]byte(", "), c.Sig, was)) == string(dst[start:]) {
				dst = dst[:start] // unchanged
			}
		}
		if len(dst) > start {
			dst = f.appendWas(dst, c, &a, true)
		}
	}
	if err != nil {
		dst = append(dst, " ?"...)
	}
	return dst
}

// Text is the characters of an array or of what a pointer leads to, up to the one that ends them.
func Text(v Value) string {
	t := v.Table.Type(v.Type)
	unit := charSize(v.Table, t.Elem)
	data := v.Data
	if t.Kind == Pointer {
		if data = nil; len(v.Targets) > 0 {
			data = v.Targets[0].Data
		}
	}
	if t.Kind == Array {
		data, _ = cutAt(data, max(unit, 1), 0)
	} else {
		data = bare(t, data, max(unit, 1))
	}
	switch unit {
	case 2:
		u := make([]uint16, len(data)/2)
		for i := range u {
			u[i] = uint16(uintOf(data[2*i : 2*i+2]))
		}
		return string(utf16.Decode(u))
	case 4:
		var out []rune
		for i := 0; i+4 <= len(data); i += 4 {
			out = append(out, rune(uintOf(data[i:i+4])))
		}
		return string(out)
	}
	return string(data)
}
