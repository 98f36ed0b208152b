package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"alleria/abp"
)

// outside is what a thread's tables say happened between its instructions: system
// calls and signals, in the order of their places.
type outside struct {
	calls   []abp.Syscall
	signals []abp.Signal
}

// outsideOf collects the calls and signals of the threads that a query wants. A
// query for certain instructions gets none but the calls that these make.
func outsideOf(p *abp.Profile, q *abp.Query) map[threadKey]*outside {
	out := make(map[threadKey]*outside)
	if len(q.Functions) > 0 || !q.Code.All() || !q.Data.All() || !q.Time.All() || !q.Ordinals.All() {
		return out
	}
	at := func(proc, thread uint32) *outside {
		k := threadKey{proc, thread}
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
				o := at(proc.Number(), s.Thread)
				o.calls = append(o.calls, s)
			}
		}
		for _, s := range proc.Signals() {
			if wants(q.Threads, s.Thread) {
				o := at(proc.Number(), s.Thread)
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

// threadKey names a thread of a profile.
type threadKey struct{ process, thread uint32 }

// before writes the calls and signals of a thread that come before an instruction:
// by its ordinal, or all that are left. A call that the instruction itself makes
// comes as an entry behind it.
func (d *dumper) before(k threadKey, ordinal uint64) {
	o := d.outside[k]
	if o == nil {
		return
	}
	for {
		call := len(o.calls) > 0 && o.calls[0].Ordinal < ordinal
		signal := len(o.signals) > 0 && o.signals[0].Ordinal <= ordinal
		switch {
		case call && (!signal || o.calls[0].TSC < o.signals[0].TSC):
			d.call(&o.calls[0])
			o.calls = o.calls[1:]
		case signal:
			d.signal(&o.signals[0])
			o.signals = o.signals[1:]
		default:
			return
		}
	}
}

// made takes the call that an instruction has made off the list of those to come.
func (d *dumper) made(k threadKey, s *abp.Syscall) {
	if o := d.outside[k]; o != nil {
		o.calls = slices.DeleteFunc(o.calls, func(c abp.Syscall) bool { return c.Ordinal == s.Ordinal && c.TSC == s.TSC })
	}
	d.call(s)
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
				fmt.Fprintf(d.out, "# process %d thread %d\n", k.process, k.thread)
			}
			d.before(k, ^uint64(0))
		}
	}
}

// call writes a system call with its name, arguments, result and duration.
func (d *dumper) call(s *abp.Syscall) {
	name := abp.SyscallName(s.Number)
	if name == "" {
		name = "?"
	}
	fmt.Fprintf(d.out, "    syscall %d %s(%#x, %#x, %#x, %#x, %#x, %#x)", s.Number, name,
		s.Args[0], s.Args[1], s.Args[2], s.Args[3], s.Args[4], s.Args[5])
	switch {
	case s.EndTSC == 0:
		fmt.Fprint(d.out, " does not return")
	case s.Errno != 0:
		fmt.Fprintf(d.out, " = -1 (errno %d)", s.Errno)
	default:
		fmt.Fprintf(d.out, " = %#x", uint64(s.Result))
	}
	if s.EndTSC > s.TSC {
		fmt.Fprintf(d.out, " in %d ticks", s.EndTSC-s.TSC)
	}
	fmt.Fprintln(d.out)
}

// signal writes a signal: where the thread was, and who sent it or what address it
// is about.
func (d *dumper) signal(s *abp.Signal) {
	var b strings.Builder
	fmt.Fprintf(&b, "    signal %d %s code %d at %#x", s.Number, abp.SignalName(s.Number), s.Code, s.IP)
	if s.Sender != 0 {
		fmt.Fprintf(&b, " from process %d", s.Sender)
	} else if s.Addr != 0 {
		fmt.Fprintf(&b, " about %#x", s.Addr)
	}
	fmt.Fprintln(d.out, b.String())
}
