package stream

import (
	"slices"

	"alleria/abp"
)

// Part is the executions that count: those while some windows were open, within some time. The zero Part is all.
type Part struct {
	Windows uint64    // bit i: window i was open; 0: whatever was
	Time    abp.Range // TSC
	None    bool      // nothing counts: the process has no window of those that were named
}

// PartOf takes over what a query says of windows and time, for a process.
func PartOf(p *abp.Process, q abp.Query) Part {
	out := Part{Time: q.TimeIn(p)}
	for _, d := range p.WindowDefs() {
		if d.Index < 64 && slices.Contains(q.Windows, d.Name) {
			out.Windows |= 1 << d.Index
		}
	}
	out.None = out.Windows == 0 && len(q.Windows) > 0
	return out
}

// All tells whether everything counts.
func (p Part) All() bool { return p.Windows == 0 && p.Time.All() && !p.None }

// Has tells whether an execution counts.
func (p Part) Has(x *abp.Exec) bool {
	return !p.None && (p.Windows == 0 || x.Windows&p.Windows != 0) && p.Time.Contains(x.TSC)
}

// Counted is a Sink that can go on following without counting.
type Counted interface {
	Sink
	// Count says whether what comes counts. All does until it is called.
	Count(on bool)
}

// Only returns a Sink that brings everything to a sink of which only a part is to count. One that is not Counted gets
// nothing of the rest.
func Only(p Part, sink Sink) Sink {
	if p.All() {
		return sink
	}
	o := &only{part: p, sink: sink, on: true}
	o.counted, _ = sink.(Counted)
	return o
}

// only is what Only returns.
type only struct {
	part    Part
	sink    Sink
	counted Counted // nil: sink is none
	on      bool
	x       abp.Exec
}

// count has what comes count or not, and tells whether the sink is to get it.
func (o *only) count(on bool) bool {
	if o.counted == nil {
		return on
	}
	if o.on != on {
		o.on = on
		o.counted.Count(on)
	}
	return true
}

// Stretch is Sink's. Of executions that are stamped each is asked about, where time matters; others follow those in front.
func (o *only) Stretch(state *abp.Exec, words []uint64) {
	o.x = *state
	if o.part.Time.All() {
		if o.count(o.part.Has(&o.x)) {
			o.sink.Stretch(state, words)
		}
		return
	}
	from, on := 0, o.part.Has(&o.x)
	for i := 0; i < len(words); {
		b := state.Process.Block(uint32(words[i]))
		if b.TimeWord >= 0 {
			o.x.TSC = words[i+1+int(b.TimeWord)]
		}
		if now := o.part.Has(&o.x); now != on {
			o.hand(state, words[from:i], on)
			from, on = i, now
		}
		i += 1 + b.Words
	}
	o.hand(state, words[from:], on)
}

// hand hands on what counts, or does not.
func (o *only) hand(state *abp.Exec, words []uint64, on bool) {
	if len(words) > 0 && o.count(on) {
		x := *state // a sink may keep its own in it
		o.sink.Stretch(&x, words)
	}
}

// Single is Sink's.
func (o *only) Single(x *abp.Exec) {
	if o.count(o.part.Has(x)) {
		o.sink.Single(x)
	}
}

// Gap is Gapped's, for sinks that are.
func (o *only) Gap() {
	if g, ok := o.sink.(Gapped); ok {
		g.Gap()
	}
}

// Callers is Stacked's, likewise.
func (o *only) Callers(stack abp.Stack) {
	if s, ok := o.sink.(Stacked); ok {
		s.Callers(stack)
	}
}

// Scale is Scaled's, likewise.
func (o *only) Scale(by float64) {
	if s, ok := o.sink.(Scaled); ok {
		s.Scale(by)
	}
}
