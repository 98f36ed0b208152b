package analysis

import "alleria/abp"

// NameCallers names the callers of openings and closings that the profile has no function for, since nothing of them was
// recorded. Who calls it knows symbols, which this package does not read.
func (r *Report) NameCallers(name func(p *abp.Process, ret uint64) string) {
	for i := range r.Processes {
		pr := &r.Processes[i]
		for _, w := range pr.Windows {
			w.First.NameCallers(func(ret uint64) string { return name(pr.proc, ret) })
			w.Last.NameCallers(func(ret uint64) string { return name(pr.proc, ret) })
		}
	}
}

// NameCallers names the caller of an opening and that of its closing; o may be nil.
func (o *WindowOpening) NameCallers(name func(ret uint64) string) {
	for ; o != nil; o = o.Closed {
		if o.Caller != 0 && o.CalledFrom == "" {
			o.CalledFrom = name(o.Caller)
		}
	}
}
