package intercepts

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"alleria/abp/calls"
)

// Row is a call as --json prints it.
type Row struct {
	Process  uint32          `json:"process"`
	Program  uint32          `json:"program,omitempty"` // which of its recorded programs, from 1
	Thread   uint32          `json:"thread"`
	Call     uint64          `json:"call"` // its number within the thread
	Function string          `json:"function"`
	Image    string          `json:"image,omitempty"`
	Seconds  float64         `json:"seconds"`
	Duration *float64        `json:"duration,omitempty"` // seconds; absent where it did not end
	Self     *float64        `json:"self,omitempty"`     // of these, outside of intercepted calls below
	Depth    int             `json:"depth"`
	Caller   string          `json:"caller,omitempty"`
	In       json.RawMessage `json:"in"`
	Out      json.RawMessage `json:"out,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	Errno    string          `json:"errno,omitempty"` // by name; of a function of the C library that has failed
	End      string          `json:"end"`
	Changes  []ChangeRow     `json:"changes,omitempty"`
}

// ChangeRow is what was changed of a call while the program ran.
type ChangeRow struct {
	Of     string          `json:"of"`               // the parameter's name, or result
	Was    json.RawMessage `json:"was,omitempty"`    // its value before
	Offset *uint64         `json:"offset,omitempty"` // of what it points to: the byte from which on so many were
	Old    string          `json:"old,omitempty"`    // these, and are
	New    string          `json:"new,omitempty"`
	Error  uint32          `json:"error,omitempty"` // with which the call was made to fail
}

// changes makes rows of what was changed of a call.
func changes(c *calls.Call, args []calls.Argument) []ChangeRow {
	var rows []ChangeRow
	for _, ch := range c.Changes {
		if ch.How == calls.Told {
			continue
		}
		row := ChangeRow{Of: "result"}
		if ch.Param != calls.ResultParam && int(ch.Param) < len(c.Sig.Params) {
			row.Of = ParamName(c.Sig, &calls.Argument{Param: ch.Param})
		}
		switch ch.How {
		case calls.Failed:
			row.Error = uint32(ch.New)
		case calls.Contents:
			row.Offset, row.Old, row.New = &ch.Offset, fmt.Sprintf("%0*x", 2*ch.Bytes, ch.Old), fmt.Sprintf("%0*x", 2*ch.Bytes, ch.New)
		default:
			for i := range args {
				if v, ok := c.Was(&args[i]); ok && args[i].Param == ch.Param {
					row.Was = appendWas(v)
					break
				}
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// appendWas is a value that was replaced; what it pointed to is not known.
func appendWas(v calls.Value) json.RawMessage {
	if v.Table.Type(v.Type).Kind != calls.Pointer {
		return appendJSON(nil, v, 0)
	}
	if v.Uint() == 0 {
		return json.RawMessage("null")
	}
	return appendString(nil, "0x"+strconv.FormatUint(v.Uint(), 16))
}

// NewRow makes a row of a call. caller may be empty.
func NewRow(i *Item, caller string) *Row {
	c := i.Call
	r := &Row{Process: i.Process.Number(), Program: i.Process.Generation(), Thread: c.Thread, Call: c.Number, Function: c.Sig.Name,
		Image: c.Sig.Image, Seconds: i.Seconds(c.Start), Depth: c.Depth, Caller: caller, End: c.End.String()}
	if c.Stop >= c.Start && c.Stop != 0 && (c.End == calls.Returned || c.End == calls.LeftBehind) {
		d := i.Seconds(c.Stop) - i.Seconds(c.Start)
		r.Duration = &d
		if h := i.Process.Header(); h.TSCFrequency > 0 {
			s := d - float64(c.Inner)/float64(h.TSCFrequency)
			r.Self = &s
		}
	}
	in, _ := c.In(i.Calls.Table)
	out, _ := c.Out(i.Calls.Table)
	r.In = arguments(c.Sig, in)
	var rest []calls.Argument
	for _, a := range out {
		if a.Param == calls.ResultParam {
			r.Result = appendJSON(nil, a.Value, 0)
		} else {
			rest = append(rest, a)
		}
	}
	if len(c.Changes) > 0 {
		r.Changes = changes(c, append(append([]calls.Argument(nil), in...), out...))
	}
	if e := c.Errno(); e != 0 {
		r.Errno = calls.ErrorName(e)
	}
	if len(rest) > 0 {
		r.Out = arguments(c.Sig, rest)
	}
	return r
}

// arguments makes an object of arguments, by name.
func arguments(s *calls.Signature, args []calls.Argument) json.RawMessage {
	b := []byte{'{'}
	for n, a := range args {
		if n > 0 {
			b = append(b, ',')
		}
		b = appendString(b, ParamName(s, &a))
		b = append(b, ':')
		b = appendJSON(b, a.Value, 0)
	}
	return append(b, '}')
}

// ParamName is a parameter's name, or # and its index; of the result, "result"; of variable arguments, ...1, ...2.
func ParamName(s *calls.Signature, a *calls.Argument) string {
	if a.Param == calls.ResultParam {
		return "result"
	}
	if a.Extra > 0 {
		return calls.VariadicName + strconv.Itoa(a.Extra)
	}
	p := &s.Params[a.Param]
	if p.Name != "" {
		return p.Name
	}
	return "#" + strconv.Itoa(int(p.Index))
}

// appendString writes a string of JSON; bytes that are no UTF-8 as U+FFFD.
func appendString(b []byte, s string) []byte {
	q, err := json.Marshal(s)
	if err != nil {
		return append(b, `""`...)
	}
	return append(b, q...)
}

// appendJSON writes a value: numbers, strings, lists and objects; null for null pointers, and for what was not captured
// an object with the address and what became of it.
func appendJSON(b []byte, v calls.Value, depth int) []byte {
	t := v.Table.Type(v.Type)
	if depth > 200 || len(v.Data) == 0 && t.Size > 0 {
		return append(b, "null"...)
	}
	if out, ok := appendScalar(b, v, t); ok {
		return out
	}
	if t.IsVariants() {
		return appendVariant(b, v, depth)
	}
	switch t.Kind {
	case calls.Struct, calls.Union:
		b = append(b, '{')
		for i := range t.Fields {
			if i > 0 {
				b = append(b, ',')
			}
			name := t.Fields[i].Name
			if name == "" {
				name = "#" + strconv.Itoa(i)
			}
			b = appendJSON(append(appendString(b, name), ':'), v.Field(i), depth+1)
		}
		return append(b, '}')
	case calls.String:
		for i := range t.Fields {
			if p := v.Field(i); v.Table.Type(p.Type).Kind == calls.Pointer {
				return appendJSON(b, p, depth+1)
			}
		}
		return append(b, "null"...)
	case calls.Void:
		return append(b, "null"...)
	}
	return appendMany(b, v, t, depth)
}

// appendVariant writes a value of an enumeration with values: the variant's name, or an object with what it has under that name.
func appendVariant(b []byte, v calls.Value, depth int) []byte {
	name, field, ok := v.Variant()
	switch {
	case !ok:
		return append(b, "null"...)
	case field < 0:
		return appendString(b, name)
	}
	return append(appendJSON(append(appendString(append(b, '{'), name), ':'), v.Field(field), depth+1), '}')
}

// appendScalar writes a value of a plain type; false: it is none.
func appendScalar(b []byte, v calls.Value, t *calls.Type) ([]byte, bool) {
	switch t.Kind {
	case calls.Signed, calls.Unsigned:
		if len(v.Data) > 8 {
			return v.Big().Append(b, 10), true
		}
		if t.Kind == calls.Signed {
			return strconv.AppendInt(b, v.Int(), 10), true
		}
		return strconv.AppendUint(b, v.Uint(), 10), true
	case calls.Char, calls.Char16, calls.Char32:
		return strconv.AppendInt(b, v.Int(), 10), true
	case calls.Float:
		if t.IsDecimal() { // it may be larger than a float64
			text := string(calls.Format{}.Append(nil, v))
			if strings.ContainsAny(text, "aI?") {
				return appendString(b, text), true
			}
			return append(b, text...), true
		}
		f := v.Float()
		if text := (calls.Format{}).Append(nil, v); math.IsInf(f, 0) && strings.ContainsAny(string(text[:min(2, len(text))]), "0123456789") {
			return append(b, text...), true // it is larger than a float64
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return appendString(b, strconv.FormatFloat(f, 'g', -1, 64)), true
		}
		return calls.Format{}.Append(b, v), true // with as many digits as it has
	case calls.Bool:
		return strconv.AppendBool(b, v.Bool()), true
	case calls.Enum:
		if text := string(calls.Format{}.Append(nil, v)); text[0] < '0' || text[0] > '9' && text[0] != '-' && text[0] != '?' {
			return appendString(b, text), true
		}
		return strconv.AppendInt(b, v.Int(), 10), true // it has no name
	case calls.Address:
		if v.Uint() == 0 {
			return append(b, "null"...), true
		}
		return appendString(b, "0x"+strconv.FormatUint(v.Uint(), 16)), true
	}
	return b, false
}

// appendMany writes an array, or what a pointer leads to.
func appendMany(b []byte, v calls.Value, t *calls.Type, depth int) []byte {
	if t.Kind == calls.Pointer {
		switch st := v.Status(); {
		case st == calls.Null:
			return append(b, "null"...)
		case st == calls.Unreadable, st == calls.Bounded, st != calls.Whole && v.Len() == 0:
			b = append(appendString(append(b, `{"address":`...), "0x"+strconv.FormatUint(v.Uint(), 16)), `,"status":`...)
			b = appendString(b, st.String())
			if v.Len() > 0 {
				b = appendElems(append(b, `,"value":`...), v, t, depth)
			}
			return append(b, '}')
		}
		if t.Extent == calls.ExtentCount && t.Count == 1 && v.Len() == 1 && v.Table.Type(t.Elem).Kind != calls.Char {
			return appendJSON(b, v.Elem(0), depth+1)
		}
	}
	return appendElems(b, v, t, depth)
}

// appendElems writes elements: characters as a string.
func appendElems(b []byte, v calls.Value, t *calls.Type, depth int) []byte {
	switch v.Table.Type(t.Elem).Kind {
	case calls.Char, calls.Char16, calls.Char32:
		return appendString(b, calls.Text(v))
	}
	n := v.Len()
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSON(b, v.Elem(i), depth+1)
	}
	return append(b, ']')
}
