package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/cache"
	"alleria/analysis/live"
	"alleria/analysis/reuse"
	"alleria/config"
)

// analysisConfig is what analyses need to have recorded: every instruction or those that access memory, with
// addresses or without.
func analysisConfig(specs []live.Spec) (*config.Config, error) {
	n := live.NeedsOf(specs)
	o := config.OneOffOptions{}
	if n.Code {
		o.Select = "any"
	}
	fields := "none"
	if n.Addresses {
		fields = "address"
	}
	var err error
	if o.Fields, err = config.ParseFields(fields); err != nil {
		return nil, fmt.Errorf("what analyses need: %w", err)
	}
	c, _, err := config.OneOff(o)
	if err != nil {
		return nil, fmt.Errorf("what analyses need: %w", err)
	}
	return c, nil
}

// liveResult returns what was found of a process while it ran, nil if it was not analysed that way.
func (a *app) liveResult(proc *abp.Process, kind string) (*live.File, live.Result, error) {
	dir := filepath.Dir(proc.Main().Path())
	f, r, err := live.Read(dir, kind)
	if errors.Is(err, live.ErrNone) {
		return nil, nil, nil
	}
	return f, r, err
}

// sayLive tells that a result was found while the program ran, and what it stands for.
func (a *app) sayLive(proc *abp.Process, f *live.File) {
	fmt.Fprintf(a.messages(), "alleria: %s of process %s as found while it ran\n", f.Named, proc.Name())
	if s := f.Sampling; s != nil {
		fmt.Fprintf(a.messages(), "alleria: counts are estimates, of %d bursts: a share of 50 %% is ± %.2g %%, one of 5 %% ± %.2g %% at most (95 %% confidence)\n",
			s.Bursts, 100*s.Error(0.5), 100*s.Error(0.05))
	}
}

// wholeOnly refuses filters of a result that cannot be taken apart any more.
func (f *orderFlags) wholeOnly(proc *abp.Process) error {
	if len(f.threads) > 0 || f.time != "" || len(f.windows) > 0 {
		return usagef("process %s was analysed while it ran: --thread, --time and --window need a recorded profile", proc.Name())
	}
	return nil
}

// cacheOf simulates caches over a process's records, or returns what was found while it ran: with the
// caches that were asked for then, other than which changed names none.
func (a *app) cacheOf(p *abp.Profile, proc *abp.Process, f *orderFlags, o cache.Options, changed []string, progress *analysis.Progress) (*cache.Result, error) {
	file, found, err := a.liveResult(proc, "cache")
	if err != nil {
		return nil, err
	}
	r, ok := found.(*cache.Result)
	if !ok {
		return cache.Simulate(p, proc, o, progress)
	}
	for _, name := range changed {
		if name == "shared" || o.Shapes()[name] != r.Caches[name] {
			return nil, usagef("process %s was analysed while it ran, with --%s %s; record it anew with another", proc.Name(), name, r.Caches[name])
		}
	}
	a.sayLive(proc, file)
	return r, f.wholeOnly(proc)
}

// reuseOf counts distances over a process's records, or returns what was found while it ran.
func (a *app) reuseOf(p *abp.Profile, proc *abp.Process, f *orderFlags, o reuse.Options, changed []string, progress *analysis.Progress) (*reuse.Result, error) {
	file, found, err := a.liveResult(proc, "reuse")
	if err != nil {
		return nil, err
	}
	r, ok := found.(*reuse.Result)
	if !ok {
		return reuse.Count(p, proc, o, progress)
	}
	if len(changed) > 0 && (o.Line != r.LineSize || slices.Contains(changed, "sample")) {
		return nil, usagef("process %s was analysed while it ran, with lines of %d bytes; record it anew for others", proc.Name(), r.LineSize)
	}
	a.sayLive(proc, file)
	return r, f.wholeOnly(proc)
}

// heatOf counts accesses of a process's records, or returns what was counted while it ran.
func (h *heatmaps) heatOf(proc *abp.Process) (*analysis.Heat, error) {
	file, found, err := h.liveResult(proc, "heatmap")
	if err != nil {
		return nil, err
	}
	if r, ok := found.(*live.HeatResult); ok {
		if q := &h.query; len(q.Threads)+len(q.Windows)+len(q.Functions) > 0 || !q.Code.All() || !q.Data.All() || !q.Time.All() {
			return nil, usagef("process %s was analysed while it ran: filters need a recorded profile", proc.Name())
		}
		h.sayLive(proc, file)
		return r.Heat(), nil
	}
	progress, stop := h.reading()
	defer stop()
	return analysis.HeatOf(h.profile, proc, h.query, h.block, progress)
}

// changedOf lists which of some flags were given.
func changedOf(fl *pflag.FlagSet, names ...string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return !fl.Changed(n) })
}
