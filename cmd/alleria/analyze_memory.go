package main

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/cache"
	"alleria/analysis/coherence"
	"alleria/analysis/reuse"
	"alleria/analysis/stream"
	"alleria/analysis/strides"
	"alleria/config/quantity"
)

// cacheFlags are the caches as they were written.
type cacheFlags struct {
	l1i, l1d, l2, ll, itlb, dtlb, inclusion string
	shared, sharedLL                        bool
	processors                              int
}

// options reads the shapes.
func (f *cacheFlags) options() (cache.Options, error) {
	o, err := cache.ParseOptions(func(name string) string {
		switch name {
		case "inclusion":
			return f.inclusion
		case "shared-ll":
			if f.sharedLL {
				return "yes"
			}
			return "no"
		case "processors":
			return strconv.Itoa(f.processors)
		}
		text := map[string]string{"l1i": f.l1i, "l1d": f.l1d, "l2": f.l2, "ll": f.ll, "itlb": f.itlb, "dtlb": f.dtlb}[name]
		if text == "" {
			return "off"
		}
		return text
	})
	o.Shared = f.shared
	if err != nil {
		return o, usagef("--%w", err)
	}
	if o.Shared && o.SharedLL {
		return o, usagef("--shared has all levels shared, one thread after the other; --shared-ll only the last one: give one of them")
	}
	return o, nil
}

// forStacks is options for misses by call stack, nil if they are not wanted.
func (f *cacheFlags) forStacks(fl *pflag.FlagSet, wanted bool) (*cache.Options, error) {
	if given := changedOf(fl, cacheNames()...); !wanted && len(given) > 0 {
		return nil, usagef("--%s is for misses: --misses of pprof and callgrind, --cost l1d_misses of others", given[0])
	}
	if !wanted {
		return nil, nil
	}
	if given := changedOf(fl, "shared", "shared-ll", "processors"); len(given) > 0 {
		return nil, usagef("--%s is for analyze cache: misses by call stack are those of each thread by itself", given[0])
	}
	o, err := f.options()
	return &o, err
}

// cacheCommand simulates caches over what was recorded.
func (a *app) cacheCommand() *cobra.Command {
	var all wholeFlags
	var f cacheFlags
	c := &cobra.Command{
		Use:   "cache PROFILE",
		Short: "Simulate caches and TLBs: misses by function and by data line",
		Long: `cache takes every recorded access, in order, through a hierarchy of caches. A cache
is SIZE,WAYS,LINE. It evicts the least recently used line, unless fifo or random is
added; "off" leaves the cache out. A TLB is ENTRIES,WAYS,PAGE. An access that touches
two lines is one access, and one miss if either line is missing, as cachegrind counts.
Code is followed as far as it was recorded: record with --select any for all of it.
Each thread has caches of its own, as if it ran on a processor by itself; with
--shared all threads go through the same caches, one after the other; with --shared-ll
each has levels of its own in front of one last level, and threads come in the order of
time: record with --fields address,time for that. Stores take nothing away from other
threads (analyze coherence has that). With --inclusion inclusive a line that leaves a
level leaves those in front of it too; with exclusive, levels behind have only what
those in front have let go. With --processors 4 four processors share out the sets
of the caches, with the same result.`,
		Example: "  alleria analyze cache --l1d 48k,12,64 --ll 32M,16,64 out\n  alleria analyze cache --dtlb 64,4,4k --ll off out",
		Args:    oneProfile,
		RunE: func(c *cobra.Command, args []string) error {
			o, err := f.options()
			if err != nil {
				return err
			}
			changed := changedOf(c.Flags(), cacheNames()...)
			return eachResult(a, args, &all, lacksWarmth, func(p *abp.Profile, proc *abp.Process, q abp.Query, progress *analysis.Progress) (*cache.Result, error) {
				o.Threads, o.Part = q.Threads, stream.PartOf(proc, q)
				return a.cacheOf(p, proc, &all.orderFlags, o, changed, progress)
			}, func(_ *abp.Process, r *cache.Result) error { return r.WriteText(a.stdout, all.top) })
		},
	}
	f.register(c.Flags())
	all.register(c.Flags(), "with everything in it")
	all.registerTop(c.Flags(), "functions and lines")
	return c
}

// cacheNames are their flags.
func cacheNames() []string {
	return []string{"l1i", "l1d", "l2", "ll", "itlb", "dtlb", "shared", "shared-ll", "inclusion", "processors"}
}

// register declares the caches.
func (f *cacheFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.l1i, "l1i", cache.Default("l1i"), "first-level instruction `cache`")
	fl.StringVar(&f.l1d, "l1d", cache.Default("l1d"), "first-level data `cache`")
	fl.StringVar(&f.l2, "l2", cache.Default("l2"), "second-level `cache`, for both")
	fl.StringVar(&f.ll, "ll", cache.Default("ll"), "last-level `cache`, for both")
	fl.StringVar(&f.itlb, "itlb", cache.Default("itlb"), "instruction translation `buffer` (TLB), like 64,8,4k")
	fl.BoolVar(&f.shared, "shared", false, "take all threads through the same caches, one after the other")
	fl.BoolVar(&f.sharedLL, "shared-ll", false, "give each thread levels of its own in front of one last level, in the order of time")
	fl.IntVar(&f.processors, "processors", 1, "`number` of processors that simulate a thread side by side, by set (2, 4, ...); the result is the same")
	fl.StringVar(&f.inclusion, "inclusion", cache.Neither.String(), "`what` levels have to do with those in front: neither, inclusive or exclusive")
	fl.StringVar(&f.dtlb, "dtlb", cache.Default("dtlb"), "data translation `buffer` (TLB), like 64,4,4k")
}

// coherenceCommand simulates private caches of threads that share memory.
func (a *app) coherenceCommand() *cobra.Command {
	var all wholeFlags
	given := map[string]*string{}
	c := &cobra.Command{
		Use:   "coherence PROFILE",
		Short: "Simulate each thread on its own processor: true and false sharing, with the code on both sides",
		Long: `coherence takes all threads' accesses, in order of time, through a private cache for
each thread (two with --private-l2) and one that all share. A store takes its line
away from the other threads. A thread that comes back for such a line misses: by true sharing if it then
uses a byte that another thread has written since, by false sharing if not. Lines are
shown with the store that takes them away, the instruction that misses them and the
bytes of the line that each uses. Caches are SIZE,WAYS,LINE. Record with --fields
address,time: without time stamps the order between threads is known only to within
thousands of records. Or analyse while the program runs (record --analysis coherence).`,
		Example: "  alleria record --fields address,time -o out -- ./program\n  alleria analyze coherence --private 1M,16,64 out",
		Args:    oneProfile,
		RunE: func(c *cobra.Command, args []string) error {
			o, err := coherence.ParseOptions(func(name string) string { return *given[name] })
			if err != nil {
				return usagef("%w", err)
			}
			return eachResult(a, args, &all, lacksOrder, func(p *abp.Profile, proc *abp.Process, q abp.Query, progress *analysis.Progress) (*coherence.Result, error) {
				o.Threads, o.Part = q.Threads, stream.PartOf(proc, q)
				return foundOr(a, proc, "coherence", &all.orderFlags, func(r *coherence.Result) error { return sameSharing(c.Flags(), proc, r, &o) }, func() (*coherence.Result, error) { return coherence.Simulate(p, proc, o, progress) })
			}, func(_ *abp.Process, r *coherence.Result) error { return r.WriteText(a.stdout, all.top) })
		},
	}
	for name, use := range map[string]string{
		"private":    "private `cache` of each thread",
		"private-l2": "second private `cache` of each thread, behind the first; off: none",
		"inclusion":  "`what` the second private cache has to do with the first: neither, inclusive or exclusive",
		"shared":     "`cache` behind the private ones, shared by all; off: none",
	} {
		given[name] = c.Flags().String(name, coherence.Default(name), use)
	}
	all.register(c.Flags(), "with everything in it")
	all.registerTop(c.Flags(), "lines")
	return c
}

// sameSharing refuses caches of another shape than those of a result that was found while the program ran.
func sameSharing(fl *pflag.FlagSet, proc *abp.Process, r *coherence.Result, o *coherence.Options) error {
	for _, c := range []struct {
		name, was string
		now       cache.Shape
	}{{"private", r.Private, o.Own}, {"private-l2", r.PrivateL2, o.Own2}, {"shared", r.Shared, o.Shared}} {
		now := ""
		if c.now.Ways > 0 {
			now = c.now.String()
		}
		if fl.Changed(c.name) && now != c.was {
			return usagef("process %s was analysed while it ran, with --%s %s", proc.Name(), c.name, cmp.Or(c.was, "off"))
		}
	}
	if was := cmp.Or(r.Inclusion, cache.Neither.String()); fl.Changed("inclusion") && o.Inclusion.String() != was {
		return usagef("process %s was analysed while it ran, with --inclusion %s", proc.Name(), was)
	}
	return nil
}

// reuseCommand counts reuse distances.
func (a *app) reuseCommand() *cobra.Command {
	var all wholeFlags
	line, sample := "64", 0
	c := &cobra.Command{
		Use:   "reuse PROFILE",
		Short: "Count reuse distances: misses for caches of every size, working sets over time",
		Long: `reuse counts, for each reference to a line of memory, how many other lines have been
used since the last one. A cache of n lines that evicts the least recently used line
misses the references with n or more: one pass gives the share of misses for all sizes. Each
line that an access touches is a reference. With --sample N no more than N lines
are followed, chosen by a hash, and stand for all; that is faster with large
working sets, and accurate enough with a few thousand lines or more.`,
		Example: "  alleria analyze reuse out\n  alleria analyze reuse --sample 8192 --line 4K out",
		Args:    oneProfile,
		RunE: func(c *cobra.Command, args []string) error {
			size, err := quantity.Size(line)
			if err != nil || size < 8 || size > 1<<30 || bits.OnesCount64(uint64(size)) != 1 {
				return usagef("--line is a power of two from 8 bytes to 1G, not %q", line)
			}
			if sample < 0 || sample > 1<<24 || sample > 0 && sample < 64 {
				return usagef("--sample is a number from 64 to 16777216, or 0 for all lines, not %d", sample)
			}
			changed := changedOf(c.Flags(), "line", "sample")
			return eachResult(a, args, &all, lacksWarmth, func(p *abp.Profile, proc *abp.Process, q abp.Query, progress *analysis.Progress) (*reuse.Result, error) {
				return a.reuseOf(p, proc, &all.orderFlags, reuse.Options{Line: uint64(size), Limit: sample, Threads: q.Threads, Part: stream.PartOf(proc, q)}, changed, progress)
			}, func(_ *abp.Process, r *reuse.Result) error { return r.WriteText(a.stdout, 0) })
		},
	}
	all.register(c.Flags(), "with the histogram")
	c.Flags().StringVar(&line, "line", line, "`size` of a line")
	c.Flags().IntVar(&sample, "sample", 0, "follow at most this `number` of lines; 0: all")
	return c
}

// histobinCommand is the published profiler's example of an analysis, as a command.
func (a *app) histobinCommand() *cobra.Command {
	var filter queryFlags
	json, top := false, 20
	c := &cobra.Command{
		Use:   "histobin PROFILE",
		Short: "Count the ones and zeros of loaded and stored values, by function and region",
		Long: `histobin counts how many bits of the values that a program read and wrote are one and
how many are zero. The values have to be recorded, as they are without a configuration or
with --fields address,value.`,
		Example: "  alleria record --fields address,value -o out -- ./program\n  alleria histobin out",
		Args:    oneProfile,
		RunE: func(_ *cobra.Command, args []string) error {
			if top < 0 {
				return usagef("--top is a number from 0, not %d", top)
			}
			return a.openProfiles(args, func(profiles []*abp.Profile) error {
				q, err := filter.queryRecords(profiles)
				if err != nil {
					return err
				}
				a.sayBursts(profiles, q, lacksCounts)
				all, values := []*analysis.HistoBin{}, uint64(0)
				err = a.eachProcess(profiles[0], q, func(proc *abp.Process, progress *analysis.Progress) error {
					h, err := analysis.HistoBinOf(profiles[0], proc, q, progress)
					if err == nil {
						values += h.Total.Values
						all = append(all, h)
					}
					return err
				})
				if err != nil {
					return err
				}
				if values == 0 {
					return usagef("%s: no values were recorded of what is asked for; record with --fields address,value", args[0])
				}
				if json {
					return a.printJSON(all)
				}
				for _, h := range all {
					if err := h.WriteText(a.stdout, top); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	filter.register(c.Flags())
	c.Flags().BoolVar(&json, "json", false, "print JSON, with everything in it: a list of processes")
	c.Flags().IntVar(&top, "top", 20, "show this `number` of functions and regions per process; 0: all")
	return c
}

// eachProcess calls f for each process of a profile that a query wants, with its progress
// shown.
func (a *app) eachProcess(p *abp.Profile, q abp.Query, f func(proc *abp.Process, progress *analysis.Progress) error) error {
	for _, proc := range p.Processes() {
		if len(q.Processes) > 0 && !slices.Contains(q.Processes, proc.Number()) {
			continue
		}
		progress, stop := a.reading()
		err := f(proc, progress)
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// stridesCommand tells how instructions walk through memory.
func (a *app) stridesCommand() *cobra.Command {
	var all wholeFlags
	c := &cobra.Command{
		Use:   "strides PROFILE",
		Short: "Find the strides in which each instruction walks through memory",
		Long: `strides looks at the loads, and at the stores, of each instruction: how far each access
is from the one before it, of the same instruction and thread. If nine in ten are at the
same address, the pattern is "same"; at one distance, "strided"; at up to four
distances, "mixed". Anything else is "irregular", which hardware prefetchers do not
follow. Each iteration of a string instruction and each lane of a gather is an access.`,
		Example: "  alleria analyze strides out\n  alleria record --analysis strides -o out -- ./program",
		Args:    oneProfile,
		RunE: func(_ *cobra.Command, args []string) error {
			return eachResult(a, args, &all, lacksOrder, func(p *abp.Profile, proc *abp.Process, q abp.Query, progress *analysis.Progress) (*strides.Result, error) {
				return foundOr(a, proc, "strides", &all.orderFlags, nil, func() (*strides.Result, error) {
					return strides.Count(p, proc, q.Threads, stream.PartOf(proc, q), progress)
				})
			}, func(_ *abp.Process, r *strides.Result) error { return r.WriteText(a.stdout, all.top) })
		},
	}
	all.register(c.Flags(), "with everything in it")
	all.registerTop(c.Flags(), "instructions")
	return c
}
