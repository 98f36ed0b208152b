package convert

import (
	"fmt"
	"slices"
	"strings"

	"alleria/abp"
	"alleria/analysis/calls"
)

// Kinds of costs that are not among abp.Counts: misses as cachegrind has them, and time.
const (
	missesL1I = iota
	missesL1DRead
	missesL1DWrite
	missesLLI
	missesLLRead
	missesLLWrite
	ticks // of the time stamp counter
	moreKinds
)

// moreCosts are sums of those kinds.
type moreCosts [moreKinds]uint64

// add adds others.
func (m *moreCosts) add(o *moreCosts) {
	for i := range m {
		m[i] += o[i]
	}
}

// nanoseconds are a process's ticks as time, 0 where their frequency is not known.
func nanoseconds(p *abp.Process, ticks uint64) uint64 {
	f := p.Header().TSCFrequency
	if f == 0 {
		return 0
	}
	return uint64(float64(ticks)*1e9/float64(f) + 0.5)
}

// costs are all costs of some instructions, or of a function in the context of its callers.
type costs struct {
	abp.Counts
	calls uint64
	time  uint64 // nanoseconds
	more  moreCosts
}

// cost is one of them.
type cost struct {
	name, unit string // as pprof has them
	of         func(c *costs) uint64
}

// allCosts lists the costs that stacks may have, in pprof's order.
func allCosts() []cost {
	return []cost{
		{"instructions", "count", func(c *costs) uint64 { return c.Instructions }},
		{"loads", "count", func(c *costs) uint64 { return c.Loads }},
		{"stores", "count", func(c *costs) uint64 { return c.Stores }},
		{"read", "bytes", func(c *costs) uint64 { return c.BytesRead }},
		{"written", "bytes", func(c *costs) uint64 { return c.BytesWritten }},
		{"calls", "count", func(c *costs) uint64 { return c.calls }},
		{"l1i_misses", "count", func(c *costs) uint64 { return c.more[missesL1I] }},
		{"l1d_misses", "count", func(c *costs) uint64 { return c.more[missesL1DRead] + c.more[missesL1DWrite] }},
		{"ll_misses", "count", func(c *costs) uint64 { return c.more[missesLLI] + c.more[missesLLRead] + c.more[missesLLWrite] }},
		{"time", "nanoseconds", func(c *costs) uint64 { return c.time }},
	}
}

// misses tells whether it is one that caches have to be simulated for.
func (c *cost) misses() bool { return IsMisses(c.name) }

// IsMisses tells whether caches have to be simulated for a cost of CostNames.
func IsMisses(cost string) bool { return strings.HasSuffix(cost, "_misses") }

// CostNames are what a format with one cost a stack may have, the usual one first.
func CostNames() []string {
	var names []string
	for _, c := range allCosts() {
		names = append(names, c.name)
	}
	return names
}

// columns are the costs of a format that has all that there are.
func (o *Options) columns() []cost {
	var list []cost
	for _, c := range allCosts() {
		if c.misses() && o.Misses == nil || c.name == "time" && !o.timed() {
			continue
		}
		list = append(list, c)
	}
	return list
}

// oneCost is what a format with one cost a stack has, which is refused where nothing of it was recorded.
func (o *Options) oneCost() (cost, error) {
	for _, c := range allCosts() {
		if c.name != o.Cost {
			continue
		}
		switch c.name {
		case "time":
			if !o.timed() {
				return c, fmt.Errorf("time: %w", ErrNotRecorded)
			}
		case "loads", "stores", "read", "written":
			return c, o.needAccesses()
		}
		return c, nil
	}
	return cost{}, fmt.Errorf("there is no cost %q: %w", o.Cost, ErrUsage)
}

// timed tells whether blocks were stamped with their time. The header's flag is not enough: it says what the configuration asked for.
func (o *Options) timed() bool {
	return slices.ContainsFunc(o.processes(), func(p *abp.Process) bool {
		return slices.ContainsFunc(p.Blocks(), func(b *abp.Block) bool { return b != nil && b.TimeWord >= 0 })
	})
}

// check says what does not go together.
func (f *Format) check(o *Options) error {
	if o.Cost != "" && !f.one {
		return fmt.Errorf("a cost is chosen for formats that have one a stack: %s; others have all: %w", strings.Join(namesOf(func(f *Format) bool { return f.one }), ", "), ErrUsage)
	}
	if o.Misses != nil && !f.all && !IsMisses(o.Cost) {
		return fmt.Errorf("misses are for formats with several costs: %s; others that have stacks have them as their one cost, as l1d_misses: %w",
			strings.Join(namesOf(func(f *Format) bool { return f.all }), ", "), ErrUsage)
	}
	if IsMisses(o.Cost) && o.Misses == nil {
		return fmt.Errorf("%s without caches: %w", o.Cost, ErrUsage)
	}
	return nil
}

// namesOf lists some formats.
func namesOf(which func(f *Format) bool) (names []string) {
	for _, f := range Formats() {
		if which(f) {
			names = append(names, f.Name)
		}
	}
	return names
}

// eachTree calls f with the call tree of every thread that the options want, and with what tells the chosen cost of a node by itself.
func (o *Options) eachTree(c cost, f func(p *abp.Process, t *abp.Thread, root *calls.Node, own func(n *calls.Node) uint64) error) error {
	if err := o.wholeStacks(); err != nil {
		return err
	}
	if c.misses() {
		return o.withStacks(func(s *threadStacks) error {
			sums := s.byNode()
			return f(s.proc, s.thread, s.tree.Stacks(), func(n *calls.Node) uint64 { return c.of(&costs{more: sums[n]}) })
		})
	}
	own := func(n *calls.Node) uint64 {
		return c.of(&costs{Counts: n.Own, calls: n.Calls, time: uint64(n.OwnSeconds*1e9 + 0.5)})
	}
	return o.eachThread(func(p *abp.Process, t *abp.Thread, cq calls.Query) error {
		cq.Threads = []uint32{t.Number}
		tree, err := calls.Build(o.Profile, p, cq, nil)
		if err != nil {
			return err
		}
		return f(p, t, tree.Stacks(), own)
	})
}

// wholeStacks refuses filters that leave out callers.
func (o *Options) wholeStacks() error {
	if q := o.Query; len(q.Functions) > 0 || !q.Code.All() || !q.Data.All() {
		return fmt.Errorf("filters on functions, code and data leave out what callers are known by; the format's reader has filters of its own: %w", ErrUsage)
	}
	return nil
}
