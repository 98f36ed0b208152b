package intercepts

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"alleria/abp"
	"alleria/abp/calls"
)

// Query chooses calls. The zero Query chooses all.
type Query struct {
	Functions []string // patterns; * stands for anything
	Threads   []uint32
	From, To  float64 // seconds since the process's start, To 0: to the end; of entries
	Where     []Condition
}

// Condition is a condition on an argument or the result.
type Condition struct {
	Name   string // of a parameter, "result", or an index as in "#0"; fields of records follow after dots
	Op     string // = != < <= > >= ~ (contains)
	Text   string
	Number float64
	IsNum  bool
	exact  *big.Int // nil: it is no integer
}

// ErrCondition is wrapped by errors of ParseCondition.
var ErrCondition = errors.New("no condition")

// ParseCondition reads NAME OP VALUE, such as fd=3, size>4096 or path~/etc.
func ParseCondition(s string) (Condition, error) {
	at := strings.IndexAny(s, "=!<>~")
	if at <= 0 || at == len(s)-1 {
		return Condition{}, fmt.Errorf("%q: %w; write NAME=VALUE, or !=, <, <=, >, >=, ~ (contains)", s, ErrCondition)
	}
	op := s[at : at+1]
	if s[at+1] == '=' && op != "=" && op != "~" {
		op = s[at : at+2]
	}
	if op == "!" {
		return Condition{}, fmt.Errorf("%q: %w; ! stands before = only", s, ErrCondition)
	}
	if strings.HasPrefix(s[at+len(op):], "=") {
		return Condition{}, fmt.Errorf("%q: %w; = is written once", s, ErrCondition)
	}
	c := Condition{Name: strings.TrimSpace(s[:at]), Op: op, Text: strings.TrimSpace(s[at+len(op):])}
	if n, err := strconv.ParseInt(c.Text, 0, 64); err == nil {
		c.Number, c.IsNum, c.exact = float64(n), true, big.NewInt(n)
	} else if x, ok := new(big.Int).SetString(c.Text, 0); ok {
		c.Number, _ = x.Float64()
		c.IsNum, c.exact = true, x
	} else if f, err := strconv.ParseFloat(c.Text, 64); err == nil {
		c.Number, c.IsNum = f, true
	}
	if !c.IsNum && (op[0] == '<' || op[0] == '>') {
		return Condition{}, fmt.Errorf("%q: %w; %s compares with a number, not with %q", s, ErrCondition, op, c.Text)
	}
	return c, nil
}

// holds tells whether a value satisfies the condition.
func (c *Condition) holds(v calls.Value) bool {
	if n, ok := number(v); ok && c.IsNum && c.Op != "~" {
		with := c.Number
		if x := integer(v); x != nil && c.exact != nil && math.Abs(n) >= 1<<53 { // numbers that a double rounds
			n, with = float64(x.Cmp(c.exact)), 0
		}
		switch c.Op {
		case "=":
			return n == with
		case "!=":
			return n != with
		case "<":
			return n < with
		case "<=":
			return n <= with
		case ">":
			return n > with
		}
		return n >= with
	}
	text := string(calls.Format{}.Append(nil, v))
	bare := text
	if len(text) >= 2 && text[0] == '"' && text[len(text)-1] == '"' {
		bare = text[1 : len(text)-1]
	}
	switch c.Op {
	case "=":
		return text == c.Text || bare == c.Text
	case "!=":
		return text != c.Text && bare != c.Text
	case "~":
		return strings.Contains(text, c.Text)
	}
	return false
}

// integer is a value that is an integer, nil: it is none.
func integer(v calls.Value) *big.Int {
	switch t := v.Table.Type(v.Type); {
	case (t.Kind == calls.Signed || t.Kind == calls.Unsigned) && len(v.Data) > 8:
		return v.Big()
	case t.Kind == calls.Signed || t.Kind == calls.Enum:
		return big.NewInt(v.Int())
	case t.Kind == calls.Float:
		return nil
	}
	return new(big.Int).SetUint64(v.Uint())
}

// number is a value as a number, as near as a double can say it.
func number(v calls.Value) (float64, bool) {
	t := v.Table.Type(v.Type)
	if (t.Kind == calls.Signed || t.Kind == calls.Unsigned) && len(v.Data) > 8 {
		n, _ := v.Big().Float64()
		return n, true
	}
	switch t.Kind {
	case calls.Signed, calls.Enum, calls.Char:
		return float64(v.Int()), len(v.Data) > 0
	case calls.Unsigned, calls.Address, calls.Pointer, calls.Char16, calls.Char32, calls.Bool:
		return float64(v.Uint()), len(v.Data) > 0
	case calls.Float:
		return v.Float(), len(v.Data) > 0
	}
	return 0, false
}

// matches tells whether some value of the call that the condition names satisfies it.
func (c *Condition) matches(call *calls.Call, t *calls.Table) bool {
	if c.Name == errnoName {
		return c.errno(call)
	}
	name, path, _ := strings.Cut(c.Name, ".")
	in, _ := call.In(t)
	out, _ := call.Out(t)
	for _, a := range append(in, out...) {
		if !named(call.Sig, &a, name) {
			continue
		}
		if v, ok := below(a.Value, path); ok && c.holds(v) {
			return true
		}
	}
	return false
}

// errnoName is what conditions call the error of a call that has failed.
const errnoName = "errno"

// errno is matches of the error of a call, which is compared as a number, or by its name.
func (c *Condition) errno(call *calls.Call) bool {
	e := call.Errno()
	if e == 0 {
		return false
	}
	t := &calls.Table{Types: []calls.Type{{Kind: calls.Unsigned, Size: 4},
		{Kind: calls.Enum, Size: 4, Elem: 1, Names: []calls.Const{{Name: calls.ErrorName(e), Value: int64(e)}}}}}
	return c.holds(calls.Value{Table: t, Type: 2, Data: binary.LittleEndian.AppendUint32(nil, e)})
}

// named tells whether a name means a parameter or the result.
func named(s *calls.Signature, a *calls.Argument, name string) bool {
	if ParamName(s, a) == name {
		return true
	}
	return a.Param != calls.ResultParam && a.Extra == 0 && name == "#"+strconv.Itoa(int(s.Params[a.Param].Index))
}

// below follows a path of fields, through pointers.
func below(v calls.Value, path string) (calls.Value, bool) {
	for path != "" {
		for v.Table.Type(v.Type).Kind == calls.Pointer {
			if v.Len() == 0 {
				return v, false
			}
			v = v.Elem(0)
		}
		var name string
		name, path, _ = strings.Cut(path, ".")
		t := v.Table.Type(v.Type)
		k := slices.IndexFunc(t.Fields, func(f calls.Field) bool { return f.Name == name })
		if k < 0 {
			return v, false
		}
		v = v.Field(k)
	}
	return v, true
}

// Item is a call with where it was.
type Item struct {
	Process *abp.Process
	Calls   *abp.Calls
	Call    *calls.Call
	Entered bool // it has been entered, and not ended
}

// Seconds is a time stamp as seconds since the process's start.
func (i *Item) Seconds(tsc uint64) float64 {
	h := i.Process.Header()
	if h.TSCFrequency == 0 {
		return 0
	}
	return float64(int64(tsc-h.TSCAtStart)) / float64(h.TSCFrequency)
}

// Each hands on the calls of a process that a query chooses: when they end, and, with entries, also when they are entered
// (conditions on what is known only at the return do not hold then). It returns nil for a process without captured calls.
func Each(p *abp.Process, q *Query, entries bool, f func(*Item) error) error {
	c, err := p.Calls()
	if err != nil || c == nil {
		return err
	}
	defer func() { _ = c.Close() }() // read only
	return EachOf(p, c, q, entries, f)
}

// EachOf is Each for calls that were opened.
func EachOf(p *abp.Process, c *abp.Calls, q *Query, entries bool, f func(*Item) error) error {
	item := Item{Process: p, Calls: c}
	fns := q.functions(c)
	hand := func(entered bool) func(*calls.Call) error {
		return func(call *calls.Call) error {
			item.Call, item.Entered = call, entered
			if !fns[call.Sig.Number] || !q.chooses(&item) {
				return nil
			}
			return f(&item)
		}
	}
	h := abp.CallHandler{Ended: hand(false)}
	if entries {
		h.Entered = hand(true)
	}
	if len(q.Threads) > 0 {
		h.Thread = func(n uint32) bool { return slices.Contains(q.Threads, n) }
	}
	return c.Each(h)
}

// Chooses tells whether a single call is asked about.
func (q *Query) Chooses(i *Item) bool {
	return q.means(i.Call.Sig) && (len(q.Threads) == 0 || slices.Contains(q.Threads, i.Call.Thread)) && q.chooses(i)
}

// chooses is Chooses without function and thread.
func (q *Query) chooses(i *Item) bool {
	for k := range q.Where {
		if !q.Where[k].matches(i.Call, i.Calls.Table) {
			return false
		}
	}
	return q.timely(i)
}

// timely tells whether a call was entered in the time that is asked about.
func (q *Query) timely(i *Item) bool {
	if q.From == 0 && q.To == 0 {
		return true
	}
	s := i.Seconds(i.Call.Start)
	return s >= q.From && (q.To == 0 || s <= q.To)
}

// functions finds the numbers of the functions that are asked about.
func (q *Query) functions(c *abp.Calls) map[uint32]bool {
	out := make(map[uint32]bool, len(c.Signatures))
	for n, s := range c.Signatures {
		out[n] = q.means(s)
	}
	return out
}

// means tells whether a function is asked about.
func (q *Query) means(s *calls.Signature) bool {
	return len(q.Functions) == 0 || slices.ContainsFunc(q.Functions, func(p string) bool {
		return s.Named(func(name string) bool { return glob(p, name) })
	})
}

// glob matches * against any characters.
func glob(pattern, s string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == s
	}
	if !strings.HasPrefix(s, head) {
		return false
	}
	for s = s[len(head):]; ; s = s[1:] {
		if glob(rest, s) {
			return true
		}
		if s == "" {
			return false
		}
	}
}
