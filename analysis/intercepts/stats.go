package intercepts

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"alleria/abp/calls"
)

// Stats sums up calls by function.
type Stats struct {
	by    map[statsKey]*FunctionStats
	plans map[*calls.Signature]*statsPlan
	text  []byte // of the value at hand
	word  [8]byte
	Most  int // distinct values that are kept of a parameter; 0: 1000
}

// statsPlan is how the calls of one signature are summed up.
type statsPlan struct {
	f     *FunctionStats
	table *calls.Table
	// Values that are no more than their bits are taken from the words as they are; scalar: all of the moment are.
	moments [2]struct {
		scalars []calls.Scalar
		scalar  bool
		values  []*ValueStats // of scalars; nil: not met yet
	}
}

type statsKey struct{ name, image string }

// FunctionStats is what the calls of a function were like. Times are in seconds.
type FunctionStats struct {
	Function string       `json:"function"`
	Image    string       `json:"image,omitempty"`
	Calls    uint64       `json:"calls"`
	Returned uint64       `json:"returned"`
	Total    float64      `json:"total"` // inside, of outermost calls and recursive ones alike
	Self     float64      `json:"self"`  // outside of intercepted calls below
	Min      float64      `json:"min"`
	Max      float64      `json:"max"`
	Values   []ValueStats `json:"values"`
	Callers  []Count      `json:"callers"`

	values  map[string]*ValueStats
	callers map[string]*uint64
}

// ValueStats is how the values of a parameter or the result were distributed.
type ValueStats struct {
	Name     string   `json:"name"`
	Count    uint64   `json:"count"`
	Min      *float64 `json:"min,omitempty"` // of numbers that are finite
	Max      *float64 `json:"max,omitempty"`
	Mean     *float64 `json:"mean,omitempty"`
	Distinct int      `json:"distinct"` // as many as were kept
	More     bool     `json:"more,omitempty"`
	Top      []Count  `json:"top"`

	sum    float64
	finite uint64 // numbers that are in it
	counts map[string]*uint64
	// raw counts plain values of the first value's type by their bits: only those that are listed are ever written out.
	raw   map[uint64]uint64
	table *calls.Table
	typ   calls.TypeID
}

// plain tells whether a value is no more than its bits.
func plain(v calls.Value, t *calls.Type) bool {
	switch t.Kind {
	case calls.Signed, calls.Unsigned, calls.Char, calls.Bool, calls.Enum, calls.Float, calls.Address:
		return t.Size <= 8 && len(v.Data) == int(t.Size)
	}
	return false
}

// alike tells whether two types of two processes are the same.
func alike(a, b *calls.Type) bool { return a.Kind == b.Kind && a.Size == b.Size && a.Name == b.Name }

// count counts a value, as one of so many different ones at most.
func (s *Stats) count(st *ValueStats, v calls.Value, t *calls.Type) {
	most := s.Most
	if most == 0 {
		most = 1000
	}
	room := len(st.counts)+len(st.raw) < most
	if plain(v, t) && (v.Table == st.table && v.Type == st.typ || alike(t, st.table.Type(st.typ))) {
		bits := v.Uint()
		if _, known := st.raw[bits]; known || room {
			st.raw[bits]++
		} else {
			st.More = true
		}
		return
	}
	s.text = format().Append(s.text[:0], v)
	n := st.counts[string(s.text)]
	if n == nil {
		if !room {
			st.More = true
			return
		}
		n = new(uint64)
		st.counts[string(s.text)] = n
	}
	*n++
}

// texts are the counts of all values by how they are written.
func (st *ValueStats) texts() map[string]uint64 {
	all := numbers(st.counts)
	if len(st.raw) == 0 {
		return all
	}
	size := min(st.table.Type(st.typ).Size, 8)
	for bits, n := range st.raw {
		data := binary.LittleEndian.AppendUint64(nil, bits)[:size]
		all[string(format().Append(nil, calls.Value{Table: st.table, Type: st.typ, Data: data}))] += n
	}
	return all
}

// numbers are counts by value.
func numbers(m map[string]*uint64) map[string]uint64 {
	out := make(map[string]uint64, len(m))
	for k, n := range m {
		out[k] = *n
	}
	return out
}

// format is how values are written in statistics.
func format() calls.Format { return calls.Format{Elements: 8, Bytes: 64} }

// Count is how often something was so.
type Count struct {
	Value string `json:"value"`
	Count uint64 `json:"count"`
}

// NewStats makes an empty one.
func NewStats() *Stats {
	return &Stats{by: make(map[statsKey]*FunctionStats), plans: make(map[*calls.Signature]*statsPlan)}
}

// planOf is the plan of a call's signature, made when it is first met.
func (s *Stats) planOf(sig *calls.Signature, t *calls.Table) *statsPlan {
	if p := s.plans[sig]; p != nil {
		return p
	}
	key := statsKey{sig.Name, sig.Image}
	f := s.by[key]
	if f == nil {
		f = &FunctionStats{Function: sig.Name, Image: sig.Image, Min: math.Inf(1), values: make(map[string]*ValueStats), callers: make(map[string]*uint64)}
		s.by[key] = f
	}
	p := &statsPlan{f: f, table: t}
	for exit := range p.moments {
		m := &p.moments[exit]
		m.scalars, m.scalar = sig.Scalars(t, exit == 1)
		m.values = make([]*ValueStats, len(m.scalars))
	}
	s.plans[sig] = p
	return p
}

// Add takes a call that has ended. caller may be empty.
func (s *Stats) Add(i *Item, caller string) {
	c := i.Call
	p := s.planOf(c.Sig, i.Calls.Table)
	f := p.f
	f.Calls++
	if c.End == calls.Returned {
		f.Returned++
		d := i.Seconds(c.Stop) - i.Seconds(c.Start)
		f.Total += d
		f.Min, f.Max = min(f.Min, d), max(f.Max, d)
		if hz := i.Process.Header().TSCFrequency; hz > 0 {
			f.Self += d - float64(c.Inner)/float64(hz)
		}
	}
	if caller != "" {
		n := f.callers[caller]
		if n == nil {
			n = new(uint64)
			f.callers[caller] = n
		}
		*n++
	}
	s.values(p, c)
}

// values adds the values of a call.
func (s *Stats) values(p *statsPlan, c *calls.Call) {
	f := p.f
	words, cut := c.EntryWords()
	if c.End == calls.BeforeArm || !s.scalars(p, c, 0, words, cut) {
		in, _ := c.In(p.table)
		for _, a := range in {
			s.value(f, valueName(c.Sig, &a, false), a.Value)
		}
	}
	words, cut = c.ExitWords()
	if c.End != calls.Returned || !s.scalars(p, c, 1, words, cut) {
		out, _ := c.Out(p.table)
		for _, a := range out {
			s.value(f, valueName(c.Sig, &a, true), a.Value)
		}
	}
}

// valueName is how statistics call a parameter or the result.
func valueName(sig *calls.Signature, a *calls.Argument, exit bool) string {
	name := ParamName(sig, a)
	if exit && a.Param != calls.ResultParam {
		name += " (out)"
	}
	return name
}

// scalars counts the values of one moment by their bits; false: they are more than that.
func (s *Stats) scalars(p *statsPlan, c *calls.Call, exit int, words []uint64, cut bool) bool {
	m := &p.moments[exit]
	if !m.scalar || cut || len(words) != len(m.scalars) {
		return false
	}
	for k := range m.scalars {
		sc := &m.scalars[k]
		st := m.values[k]
		v := calls.Value{Table: p.table, Type: sc.Type}
		if st == nil {
			st = p.f.valueStats(valueName(c.Sig, &calls.Argument{Param: sc.Param}, exit == 1), v)
			m.values[k] = st
		}
		binary.LittleEndian.PutUint64(s.word[:], words[sc.Word])
		v.Data = s.word[:sc.Size]
		s.add(st, v)
	}
	return true
}

// value adds a value.
func (s *Stats) value(f *FunctionStats, name string, v calls.Value) { s.add(f.valueStats(name, v), v) }

// valueStats are those of a parameter or the result. The first value's type is the one that others are compared with.
func (f *FunctionStats) valueStats(name string, v calls.Value) *ValueStats {
	st := f.values[name]
	if st == nil {
		st = &ValueStats{Name: name, counts: make(map[string]*uint64), raw: make(map[uint64]uint64), table: v.Table, typ: v.Type}
		f.values[name] = st
		f.Values = append(f.Values, ValueStats{Name: name})
	}
	return st
}

// add adds a value to its statistics.
func (s *Stats) add(st *ValueStats, v calls.Value) {
	st.Count++
	t := v.Table.Type(v.Type)
	if t.Kind != calls.Pointer && t.Kind != calls.Address {
		if n, ok := number(v); ok && !math.IsNaN(n) && !math.IsInf(n, 0) { // of which there is no mean, nor JSON
			st.sum += n
			st.finite++
			if st.Min == nil {
				st.Min, st.Max = new(float64), new(float64)
				*st.Min, *st.Max = n, n
			}
			*st.Min, *st.Max = min(*st.Min, n), max(*st.Max, n)
		}
	}
	s.count(st, v, t)
}

// List gives the functions, those with the most time inside first, each with the most frequent values.
func (s *Stats) List(top int) []*FunctionStats {
	var out []*FunctionStats
	for _, f := range s.by {
		if f.Returned == 0 {
			f.Min = 0
		}
		for i := range f.Values {
			st := f.values[f.Values[i].Name]
			texts := st.texts()
			st.Distinct, st.Top = len(texts), topCounts(texts, top)
			if st.Min != nil {
				if mean := st.sum / float64(st.finite); !math.IsInf(mean, 0) { // the sum may be too large
					st.Mean = &mean
				}
			}
			f.Values[i] = *st
		}
		f.Callers = topCounts(numbers(f.callers), top)
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *FunctionStats) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Function, b.Function))
	})
	return out
}

// topCounts are the most frequent of some values.
func topCounts(m map[string]uint64, top int) []Count {
	out := make([]Count, 0, len(m))
	for v, n := range m {
		out = append(out, Count{v, n})
	}
	slices.SortFunc(out, func(a, b Count) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value)) })
	if top > 0 && len(out) > top {
		out = out[:top]
	}
	return out
}
