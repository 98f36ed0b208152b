package analysis

import (
	"cmp"
	"slices"

	"alleria/abp"
)

// outside is what a thread's tables say happened between its instructions: system
// calls and signals, in the order of their places.
type outside struct {
	calls   []abp.Syscall
	signals []abp.Signal
}

// before tells whether any of it may stand in front of an ordinal, or at it.
func (o *outside) before(ordinal uint64) bool {
	return o != nil && (len(o.calls) > 0 && o.calls[0].Ordinal <= ordinal || len(o.signals) > 0 && o.signals[0].Ordinal <= ordinal)
}

// outsideOf collects the calls and signals of the threads that a query wants. A
// query for certain instructions gets none but the calls that these make.
func outsideOf(p *abp.Profile, q *abp.Query) map[threadKey]*outside {
	out := make(map[threadKey]*outside)
	if picksCode(q) {
		return out
	}
	at := func(proc *abp.Process, thread uint32) *outside {
		k := threadKey{proc.Number(), proc.Generation(), thread}
		if out[k] == nil {
			out[k] = &outside{}
		}
		return out[k]
	}
	for _, proc := range p.Processes() {
		if !wants(q.Processes, proc.Number()) {
			continue
		}
		for _, s := range proc.Syscalls() {
			if wants(q.Threads, s.Thread) {
				o := at(proc, s.Thread)
				o.calls = append(o.calls, s)
			}
		}
		for _, s := range proc.Signals() {
			if wants(q.Threads, s.Thread) {
				o := at(proc, s.Thread)
				o.signals = append(o.signals, s)
			}
		}
	}
	for _, o := range out {
		slices.SortStableFunc(o.calls, func(a, b abp.Syscall) int { return cmp.Compare(a.TSC, b.TSC) })
		slices.SortStableFunc(o.signals, func(a, b abp.Signal) int { return cmp.Compare(a.TSC, b.TSC) })
	}
	return out
}

// picksCode tells whether a query leaves instructions of a thread out.
func picksCode(q *abp.Query) bool {
	return len(q.Functions) > 0 || !q.Code.All() || !q.Data.All() || picksExecutions(*q) || !q.Ordinals.All()
}

// filters tells whether a query leaves anything out.
func filters(q *abp.Query) bool {
	return picksCode(q) || len(q.Processes) > 0 || len(q.Threads) > 0
}

// threadKey names a thread of a profile.
type threadKey struct{ process, program, thread uint32 }

// before writes the calls and signals of a thread that come before an instruction:
// by its ordinal, or all that are left. A call that the instruction itself makes
// comes as an entry behind it; calls tells whether it is one that may.
func (d *dumper) before(k threadKey, ordinal uint64, calls bool) {
	o := d.outside[k]
	if o == nil {
		return
	}
	for {
		call := len(o.calls) > 0 && (o.calls[0].Ordinal < ordinal || o.calls[0].Ordinal == ordinal && !own(o.calls, calls))
		signal := len(o.signals) > 0 && o.signals[0].Ordinal <= ordinal
		switch {
		case call && (!signal || o.calls[0].TSC < o.signals[0].TSC):
			d.form.call(k, &o.calls[0])
			o.calls = o.calls[1:]
		case signal:
			d.form.signal(k, &o.signals[0])
			o.signals = o.signals[1:]
		default:
			return
		}
	}
}

// own tells whether the first of a thread's calls is that of the instruction with its ordinal,
// which makes calls or not.
func own(all []abp.Syscall, calls bool) bool {
	if all[0].Place != abp.CallUnknown {
		return all[0].Place == abp.CallOwn
	}
	return calls && (len(all) == 1 || all[1].Ordinal != all[0].Ordinal)
}

// skipOutside forgets what came before the instruction that the dump begins with: of the
// threads before it all, of its own what has a lower ordinal.
func (d *dumper) skipOutside(first threadKey) {
	for k, o := range d.outside {
		switch c := cmp.Or(cmp.Compare(k.process, first.process), cmp.Compare(k.program, first.program), cmp.Compare(k.thread, first.thread)); {
		case c < 0:
			delete(d.outside, k)
		case c == 0:
			o.calls = slices.DeleteFunc(o.calls, func(s abp.Syscall) bool { return s.Ordinal < d.options.From })
			o.signals = slices.DeleteFunc(o.signals, func(s abp.Signal) bool { return s.Ordinal < d.options.From })
		}
	}
}

// made takes the call that an instruction has made off the list of those to come.
func (d *dumper) made(k threadKey, s *abp.Syscall) {
	if o := d.outside[k]; o != nil {
		o.calls = slices.DeleteFunc(o.calls, func(c abp.Syscall) bool { return c.Ordinal == s.Ordinal && c.TSC == s.TSC })
	}
	d.form.call(k, s)
}

// rest writes what happened behind the last instruction of each thread, also of
// those of which no instruction was recorded.
func (d *dumper) rest() {
	keys := make([]threadKey, 0, len(d.outside))
	for k := range d.outside {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b threadKey) int {
		return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(a.thread, b.thread))
	})
	for _, k := range keys {
		if o := d.outside[k]; len(o.calls)+len(o.signals) > 0 {
			if d.last != k {
				d.form.thread(k, 0)
			}
			d.before(k, ^uint64(0), false)
		}
	}
}
