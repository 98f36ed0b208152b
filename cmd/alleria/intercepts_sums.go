package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"alleria/abp"
	"alleria/abp/calls"
	"alleria/analysis/intercepts"
)

// statsPrinter prints statistics.
type statsPrinter struct {
	app   *app
	w     *bufio.Writer
	f     *interceptsFlags
	names *intercepts.Callers
	stats *intercepts.Stats
}

func (p *statsPrinter) entries() bool { return false }

func (p *statsPrinter) call(i *intercepts.Item) error {
	p.stats.Add(i, p.names.Name(i.Process, i.Call.Caller))
	return nil
}

func (p *statsPrinter) end() error {
	list := p.stats.List(10)
	if p.f.json {
		if list == nil {
			list = []*intercepts.FunctionStats{}
		}
		return writeJSON(p.w, list)
	}
	for _, f := range list {
		fmt.Fprintf(p.w, "%s: %d calls, %d returned; %.6f s inside, %.6f s of it exclusive, %.1f to %.1f us a call\n",
			f.Function, f.Calls, f.Returned, f.Total, f.Self, 1e6*f.Min, 1e6*f.Max)
		for i := range f.Values {
			v := &f.Values[i]
			fmt.Fprintf(p.w, "  %s:", v.Name)
			if v.Mean != nil {
				fmt.Fprintf(p.w, " %g to %g, mean %.6g;", *v.Min, *v.Max, *v.Mean)
			}
			more := ""
			if v.More {
				more = " or more"
			}
			fmt.Fprintf(p.w, " %d%s distinct\n", v.Distinct, more)
			for _, c := range v.Top {
				fmt.Fprintf(p.w, "    %10d  %s\n", c.Count, c.Value)
			}
		}
		for i, c := range f.Callers {
			if i == 0 {
				fmt.Fprintln(p.w, "  callers:")
			}
			fmt.Fprintf(p.w, "    %10d  %s\n", c.Count, c.Value)
		}
	}
	return nil
}

// leaksPrinter prints the allocations that were never freed.
type leaksPrinter struct {
	app   *app
	w     *bufio.Writer
	f     *interceptsFlags
	names *intercepts.Callers
	leaks *intercepts.Leaks
}

func (p *leaksPrinter) entries() bool { return true }

func (p *leaksPrinter) call(i *intercepts.Item) error {
	p.leaks.Add(i)
	return nil
}

// leak is an allocation as --json prints it.
type leak struct {
	Process  uint32  `json:"process"`
	Thread   uint32  `json:"thread"`
	Call     uint64  `json:"call"`
	Function string  `json:"function"`
	Seconds  float64 `json:"seconds"`
	Address  string  `json:"address"`
	Bytes    uint64  `json:"bytes"`
	Caller   string  `json:"caller"`
}

// leakSum is the document of --leaks --json.
type leakSum struct {
	Allocations uint64 `json:"allocations"`
	Freed       uint64 `json:"freed"`
	Bytes       uint64 `json:"bytes"`      // of all
	LiveBytes   uint64 `json:"live_bytes"` // of those that were not freed
	Live        []leak `json:"live"`
}

func (p *leaksPrinter) end() error {
	sum := leakSum{Allocations: p.leaks.Allocations, Freed: p.leaks.Freed, Bytes: p.leaks.Bytes, Live: []leak{}}
	for _, l := range p.leaks.Live() {
		sum.LiveBytes += l.Size
		sum.Live = append(sum.Live, leak{l.Process, l.Thread, l.Call, l.By, l.Seconds, fmt.Sprintf("%#x", l.Address), l.Size, p.names.Name(l.Of, l.Caller)})
	}
	if p.f.json {
		return writeJSON(p.w, sum)
	}
	fmt.Fprintf(p.w, "%d allocations of %d bytes, %d freed; never freed: %d, of %d bytes\n", sum.Allocations, sum.Bytes, sum.Freed, len(sum.Live), sum.LiveBytes)
	for _, l := range sum.Live {
		fmt.Fprintf(p.w, "%10d bytes at %s by %s, called from %s (process %d, thread %d, after %.6f s)\n", l.Bytes, l.Address, l.Function, l.Caller, l.Process, l.Thread, l.Seconds)
	}
	return nil
}

// livePause is how long a follower waits for more.
const livePause = 100 * time.Millisecond

// liveIntercepts follows a run's calls while they are recorded, as strace does: each is printed when it has ended.
//
// The files are read again from where they ended the last time: what the recorder appends is whole blocks.
func (a *app) liveIntercepts(paths []string, f *interceptsFlags, q *intercepts.Query) error {
	if len(paths) != 1 {
		return usagef("--live follows one run")
	}
	w := bufio.NewWriter(a.stdout)
	names := intercepts.NewCallers()
	defer names.Close()
	p := f.printer(w, names)
	followed := make(map[string]*abp.CallFollower)
	defer func() {
		for _, c := range followed {
			_ = c.Close() // read only
		}
	}()
	for {
		run, err := abp.ReadRun(paths[0])
		over := err == nil && run.Outcome.State != abp.OutcomeRunning
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, abp.ErrCorrupt) {
			return err
		}
		if err := a.followOnce(paths[0], f, q, p, followed, over); err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return fmt.Errorf("print calls: %w", err)
		}
		if over {
			return p.end()
		}
		time.Sleep(livePause)
	}
}

// followOnce prints what has come since the last time; over: nothing will come any more.
func (a *app) followOnce(path string, f *interceptsFlags, q *intercepts.Query, p callPrinter, followed map[string]*abp.CallFollower, over bool) error {
	profile, err := abp.Open(path)
	if err != nil {
		if over {
			return &statusError{statusUsage, err}
		}
		return nil // not begun yet, or half of a section is there
	}
	defer func() { _ = profile.Close() }() // read only
	for _, proc := range profile.Processes() {
		if !f.meant(proc) {
			continue
		}
		c := followed[proc.Name()]
		if c == nil {
			if c, err = proc.FollowCalls(); err != nil || c == nil {
				if over && err != nil {
					return err
				}
				continue
			}
			followed[proc.Name()] = c
		}
		hand := func(entered bool) func(*calls.Call) error {
			return func(call *calls.Call) error {
				i := &intercepts.Item{Process: proc, Calls: c.Calls(), Call: call, Entered: entered}
				if !q.Chooses(i) {
					return nil
				}
				return p.call(i)
			}
		}
		h := abp.CallHandler{Ended: hand(false)}
		if p.entries() {
			h.Entered = hand(true)
		}
		if err := c.Next(h, over); err != nil {
			return err
		}
	}
	return nil
}
