package intercepts

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"alleria/abp/calls"
)

// Stats sums up calls by function.
type Stats struct {
	by   map[statsKey]*FunctionStats
	Most int // distinct values that are kept of a parameter; 0: 1000
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
	callers map[string]uint64
}

// ValueStats is how the values of a parameter or the result were distributed.
type ValueStats struct {
	Name     string   `json:"name"`
	Count    uint64   `json:"count"`
	Min      *float64 `json:"min,omitempty"` // of numbers
	Max      *float64 `json:"max,omitempty"`
	Mean     *float64 `json:"mean,omitempty"`
	Distinct int      `json:"distinct"` // as many as were kept
	More     bool     `json:"more,omitempty"`
	Top      []Count  `json:"top"`

	sum    float64
	counts map[string]uint64
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
func (st *ValueStats) count(v calls.Value, t *calls.Type, most int) {
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
	text := string(format().Append(nil, v))
	if _, known := st.counts[text]; known || room {
		st.counts[text]++
	} else {
		st.More = true
	}
}

// texts are the counts of all values by how they are written.
func (st *ValueStats) texts() map[string]uint64 {
	if len(st.raw) == 0 {
		return st.counts
	}
	all := maps.Clone(st.counts)
	size := min(st.table.Type(st.typ).Size, 8)
	for bits, n := range st.raw {
		data := binary.LittleEndian.AppendUint64(nil, bits)[:size]
		all[string(format().Append(nil, calls.Value{Table: st.table, Type: st.typ, Data: data}))] += n
	}
	return all
}

// format is how values are written in statistics.
func format() calls.Format { return calls.Format{Elements: 8, Bytes: 64} }

// Count is how often something was so.
type Count struct {
	Value string `json:"value"`
	Count uint64 `json:"count"`
}

// NewStats makes an empty one.
func NewStats() *Stats { return &Stats{by: make(map[statsKey]*FunctionStats)} }

// Add takes a call that has ended. caller may be empty.
func (s *Stats) Add(i *Item, caller string) {
	c := i.Call
	key := statsKey{c.Sig.Name, c.Sig.Image}
	f := s.by[key]
	if f == nil {
		f = &FunctionStats{Function: c.Sig.Name, Image: c.Sig.Image, Min: math.Inf(1), values: make(map[string]*ValueStats), callers: make(map[string]uint64)}
		s.by[key] = f
	}
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
		f.callers[caller]++
	}
	in, _ := c.In(i.Calls.Table)
	for _, a := range in {
		s.value(f, ParamName(c.Sig, &a), a.Value)
	}
	out, _ := c.Out(i.Calls.Table)
	for _, a := range out {
		name := ParamName(c.Sig, &a)
		if a.Param != calls.ResultParam {
			name += " (out)"
		}
		s.value(f, name, a.Value)
	}
}

// value adds a value.
func (s *Stats) value(f *FunctionStats, name string, v calls.Value) {
	st := f.values[name]
	if st == nil {
		st = &ValueStats{Name: name, counts: make(map[string]uint64), raw: make(map[uint64]uint64), table: v.Table, typ: v.Type}
		f.values[name] = st
		f.Values = append(f.Values, ValueStats{Name: name})
	}
	st.Count++
	t := v.Table.Type(v.Type)
	if t.Kind != calls.Pointer && t.Kind != calls.Address {
		if n, ok := number(v); ok {
			st.sum += n
			if st.Min == nil {
				st.Min, st.Max = new(float64), new(float64)
				*st.Min, *st.Max = n, n
			}
			*st.Min, *st.Max = min(*st.Min, n), max(*st.Max, n)
		}
	}
	most := s.Most
	if most == 0 {
		most = 1000
	}
	st.count(v, t, most)
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
				mean := st.sum / float64(st.Count)
				st.Mean = &mean
			}
			f.Values[i] = *st
		}
		f.Callers = topCounts(f.callers, top)
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
