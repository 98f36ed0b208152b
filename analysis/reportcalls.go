package analysis

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"alleria/abp"
)

// SyscallReport sums up the recorded calls of one system call.
type SyscallReport struct {
	Number  uint32  `json:"number"`
	Name    string  `json:"name,omitempty"` // the kernel's; empty if it is not known
	Calls   uint64  `json:"calls"`
	Errors  uint64  `json:"errors"`
	Seconds float64 `json:"seconds"` // within those that returned
}

// SignalReport sums up the recorded deliveries of one signal.
type SignalReport struct {
	Number uint32 `json:"number"`
	Name   string `json:"name"`
	Count  uint64 `json:"count"`
}

// outsideReport fills in the calls and signals of the threads that a query wants.
func (p *ProcessReport) outsideReport(proc *abp.Process, q *abp.Query) {
	calls := make(map[uint32]*SyscallReport)
	for _, s := range proc.Syscalls() {
		if !wants(q.Threads, s.Thread) {
			continue
		}
		r := calls[s.Number]
		if r == nil {
			r = &SyscallReport{Number: s.Number, Name: abp.SyscallName(s.Number)}
			calls[s.Number] = r
		}
		r.Calls++
		if s.Errno != 0 {
			r.Errors++
		}
		if f := proc.Header().TSCFrequency; f > 0 && s.EndTSC > s.TSC {
			r.Seconds += float64(s.EndTSC-s.TSC) / float64(f)
		}
	}
	signals := make(map[uint32]uint64)
	for _, s := range proc.Signals() {
		if wants(q.Threads, s.Thread) {
			signals[s.Number]++
		}
	}
	for _, r := range calls {
		p.Syscalls = append(p.Syscalls, *r)
	}
	for nr, n := range signals {
		p.Signals = append(p.Signals, SignalReport{nr, abp.SignalName(nr), n})
	}
	slices.SortFunc(p.Syscalls, func(a, b SyscallReport) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Number, b.Number))
	})
	slices.SortFunc(p.Signals, func(a, b SignalReport) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Number, b.Number))
	})
}

// writeOutside writes the tables of system calls and signals, if any were recorded.
func (p *ProcessReport) writeOutside(w io.Writer) {
	if len(p.Syscalls) > 0 {
		t := NewTextTable("system call", "number", "calls", "errors", "seconds")
		for _, s := range p.Syscalls {
			t.Add(s.Name, fmt.Sprint(s.Number), FormatExact(s.Calls), FormatExact(s.Errors), fmt.Sprintf("%.6f", s.Seconds))
		}
		t.Write(w, "\n  ")
	}
	if len(p.Signals) > 0 {
		t := NewTextTable("signal", "number", "times")
		for _, s := range p.Signals {
			t.Add(s.Name, fmt.Sprint(s.Number), FormatExact(s.Count))
		}
		t.Write(w, "\n  ")
	}
}
