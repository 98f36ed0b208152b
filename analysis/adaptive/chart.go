package adaptive

import (
	"math"

	"alleria/abp"
)

// Measure is one of the drawn lines.
type Measure struct {
	Name string
	Unit string
	// Values are by column: the average over the column's time.
	Values []float64
	Most   float64
}

// Mark is where the number of processing threads changed.
type Mark struct {
	Column int
	Event  abp.Adaptation
}

// Chart is a log, ready to be drawn.
type Chart struct {
	Seconds  float64
	Measures []Measure
	Phases   []string // by column: X, Y, Z; empty before the first decision
	Marks    []Mark
	// Rows are the lines of the log in which something was decided.
	Rows     []abp.Adaptation
	Settings abp.AdaptiveSettings
	From     float64 // time of the left edge
}

// measures say what is drawn, and how a line of the log gives its rate or level.
func measures() []struct {
	name, unit string
	value      func(*abp.Adaptation) float64
} {
	share := func(seconds float64, a *abp.Adaptation) float64 {
		if a.Period <= 0 {
			return 0
		}
		return seconds / a.Period
	}
	return []struct {
		name, unit string
		value      func(*abp.Adaptation) float64
	}{
		{"application, processors", "", func(a *abp.Adaptation) float64 { return a.AppCPU }},
		{"application, disk", "MB/s", func(a *abp.Adaptation) float64 { return a.AppDisk / 1e6 }},
		{"processing threads idle (ptit)", "threads", func(a *abp.Adaptation) float64 { return share(a.PTIT, a) }},
		{"application threads waiting (atwt)", "threads", func(a *abp.Adaptation) float64 { return share(a.ATWT, a) }},
		{"processing threads working", "", func(a *abp.Adaptation) float64 { return float64(a.Threads) }},
		{"buffers", "", func(a *abp.Adaptation) float64 { return float64(a.Buffers) }},
		{"profile written", "MB/s", func(a *abp.Adaptation) float64 { return a.Written / 1e6 }},
		{"other programs, processors", "", func(a *abp.Adaptation) float64 { return a.OtherCPU }},
	}
}

// New samples a log into so many columns.
func New(rows []abp.Adaptation, columns int) *Chart {
	columns = max(columns, 1)
	c := &Chart{Phases: make([]string, columns)}
	if len(rows) == 0 {
		return c
	}
	c.From = finite(rows[0].Time)
	c.Seconds = math.Max(finite(rows[len(rows)-1].Time)-c.From, 1e-3)
	for _, m := range measures() {
		c.Measures = append(c.Measures, Measure{Name: m.name, Unit: m.unit, Values: make([]float64, columns)})
	}
	weights := make([]float64, columns)
	for i := range rows {
		c.add(&rows[i], weights)
	}
	for n := range c.Measures {
		m := &c.Measures[n]
		for i, w := range weights {
			if w > 0 {
				m.Values[i] /= w
			} else if i > 0 { // lines of a time without events are left out
				m.Values[i] = m.Values[i-1]
			}
			m.Most = math.Max(m.Most, m.Values[i])
		}
	}
	for i := 1; i < columns; i++ {
		if c.Phases[i] == "" {
			c.Phases[i] = c.Phases[i-1]
		}
	}
	return c
}

// finite is a number that can be drawn.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return min(max(v, -1e15), 1e15) // also sums and differences
}

// column is where a time lies.
func (c *Chart) column(t float64) int {
	n := len(c.Phases)
	return int(math.Min(math.Max(finite((t-c.From)/c.Seconds*float64(n)), 0), float64(n-1)))
}

// add enters a line.
func (c *Chart) add(a *abp.Adaptation, weights []float64) {
	if a.Settings != nil {
		c.Settings = *a.Settings
	}
	at := c.column(finite(a.Time))
	if a.Action != "" || a.Event == abp.EventBroken {
		c.Marks = append(c.Marks, Mark{at, *a})
	}
	if a.Action != "" || a.Phase != a.Next || a.Added > 0 || a.Event != abp.EventTimer {
		c.Rows = append(c.Rows, *a)
	}
	c.Phases[at] = a.Next
	from := c.column(finite(a.Time - a.Period))
	for i := from; i <= at; i++ {
		weights[i] += overlap(c, i, finite(a.Time-a.Period), finite(a.Time))
	}
	for n, m := range measures() {
		v := math.Max(finite(m.value(a)), 0)
		for i := from; i <= at; i++ {
			c.Measures[n].Values[i] += v * overlap(c, i, finite(a.Time-a.Period), finite(a.Time))
		}
	}
}

// overlap is for how long a column is within a time, with a little so that a moment counts as well.
func overlap(c *Chart, column int, from, to float64) float64 {
	width := c.Seconds / float64(len(c.Phases))
	left := c.From + float64(column)*width
	return math.Max(math.Min(to, left+width)-math.Max(from, left), 0) + 1e-9
}
