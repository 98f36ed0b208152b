package main

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/cache"
	"alleria/analysis/reuse"
)

// cacheFlags are the caches as they were written.
type cacheFlags struct {
	l1i, l1d, l2, ll, itlb, dtlb string
}

// options reads the shapes.
func (f *cacheFlags) options() (o cache.Options, err error) {
	for _, c := range []struct {
		name, text string
		to         *cache.Shape
		tlb        bool
	}{
		{"--l1i", f.l1i, &o.L1I, false}, {"--l1d", f.l1d, &o.L1D, false}, {"--l2", f.l2, &o.L2, false}, {"--ll", f.ll, &o.LL, false},
		{"--itlb", f.itlb, &o.ITLB, true}, {"--dtlb", f.dtlb, &o.DTLB, true},
	} {
		if c.text == "" || c.text == "off" {
			continue
		}
		if c.tlb {
			*c.to, err = parseTLB(c.text)
		} else {
			*c.to, err = cache.ParseShape(c.text)
		}
		if err != nil {
			return o, usagef("%s: %w", c.name, err)
		}
	}
	if o.L1I.Ways == 0 && o.ITLB.Ways > 0 {
		return o, usagef("--itlb needs --l1i")
	}
	return o, nil
}

// parseTLB reads ENTRIES,WAYS,PAGE: a cache whose lines are pages.
func parseTLB(text string) (s cache.Shape, err error) {
	entries, rest, ok := strings.Cut(text, ",")
	ways, page, ok2 := strings.Cut(rest, ",")
	var n, size uint64
	if ok && ok2 {
		if n, err = parseCount(entries); err == nil {
			var bytes int64
			bytes, err = parseSize(strings.ToUpper(strings.SplitN(page, ",", 2)[0]))
			size = uint64(bytes)
		}
	}
	if !ok || !ok2 || err != nil || n > 1<<20 || size > 1<<30 {
		return s, fmt.Errorf("%q is not ENTRIES,WAYS,PAGE like 64,4,4k", text)
	}
	return cache.ParseShape(fmt.Sprintf("%d,%s,%s", n*size, ways, page))
}

// cacheCommand simulates caches over what was recorded.
func (a *app) cacheCommand() *cobra.Command {
	var filter orderFlags
	var f cacheFlags
	json, top := false, 20
	c := &cobra.Command{
		Use:   "cache PROFILE",
		Short: "Simulate caches and translation buffers: misses by function and by line of data",
		Long: `cache takes every recorded access, in its order, through a hierarchy of caches. A
cache is SIZE,WAYS,LINE and, if it is not to evict the line that was used longest
ago, fifo or random; "off" leaves it out. Buffers for translations are
ENTRIES,WAYS,PAGE. An access that touches two lines is one access, and one miss if
any of the two is missing, as cachegrind counts. Code is followed as far as it was
recorded: record with --select any for all of it. Threads go one after the other
through the same caches.`,
		Example: "  alleria analyze cache --l1d 48k,12,64 --ll 32M,16,64 out\n  alleria analyze cache --dtlb 64,4,4k --ll off out",
		Args:    oneProfile,
		RunE: func(_ *cobra.Command, args []string) error {
			o, err := f.options()
			if err != nil {
				return err
			}
			if top < 0 {
				return usagef("--top is a number from 0, not %d", top)
			}
			return openProfiles(args, func(profiles []*abp.Profile) error {
				q, err := filter.query(profiles)
				if err != nil {
					return err
				}
				o.Threads = q.Threads
				all := []*cache.Result{}
				err = a.eachProcess(profiles[0], q, func(proc *abp.Process, progress *analysis.Progress) error {
					r, err := cache.Simulate(profiles[0], proc, o, progress)
					all = append(all, r)
					return err
				})
				if err != nil || json {
					return a.jsonUnless(err, all)
				}
				for _, r := range all {
					if err := r.WriteText(a.stdout, top); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	fl := c.Flags()
	f.register(fl, &filter)
	fl.BoolVar(&json, "json", false, "print JSON, everything in it: a list of processes")
	fl.IntVar(&top, "top", 20, "show this `number` of functions and lines; 0: all")
	return c
}

// register declares the caches, and the filters that keep the order.
func (f *cacheFlags) register(fl *pflag.FlagSet, filter *orderFlags) {
	fl.UintSliceVar(&filter.processes, "process", nil, "only these processes, by `number`")
	fl.UintSliceVar(&filter.threads, "thread", nil, "only these threads, by `number` within their process")
	fl.StringVar(&f.l1i, "l1i", "32k,8,64", "first-level `cache` of instructions")
	fl.StringVar(&f.l1d, "l1d", "32k,8,64", "first-level `cache` of data")
	fl.StringVar(&f.l2, "l2", "off", "second-level `cache`, of both")
	fl.StringVar(&f.ll, "ll", "8M,16,64", "last-level `cache`, of both")
	fl.StringVar(&f.itlb, "itlb", "off", "translation `buffer` of instructions, like 64,8,4k")
	fl.StringVar(&f.dtlb, "dtlb", "off", "translation `buffer` of data, like 64,4,4k")
}

// reuseCommand counts reuse distances.
func (a *app) reuseCommand() *cobra.Command {
	var filter orderFlags
	json, line, sample := false, "64", 0
	c := &cobra.Command{
		Use:   "reuse PROFILE",
		Short: "Count reuse distances: misses for caches of every size, working sets over time",
		Long: `reuse counts, for each reference to a line of memory, how many other lines have been
used since the last one. A cache of n lines that evicts the line used longest ago
misses those with n or more: one pass gives the share of misses for all sizes. Each
line that an access touches is a reference. With --sample N no more than N lines
are followed, chosen by a hash, and stand for all; that is faster with large
working sets, and near enough from some thousand lines on.`,
		Example: "  alleria analyze reuse out\n  alleria analyze reuse --sample 8192 --line 4K out",
		Args:    oneProfile,
		RunE: func(_ *cobra.Command, args []string) error {
			size, err := parseSize(line)
			if err != nil || size < 8 || size > 1<<30 || bits.OnesCount64(uint64(size)) != 1 {
				return usagef("--line is a power of two from 8 bytes to 1G, not %q", line)
			}
			if sample < 0 || sample > 1<<24 || sample > 0 && sample < 64 {
				return usagef("--sample is a number from 64 to 16777216, or 0 for all lines, not %d", sample)
			}
			return openProfiles(args, func(profiles []*abp.Profile) error {
				q, err := filter.query(profiles)
				if err != nil {
					return err
				}
				all := []*reuse.Result{}
				err = a.eachProcess(profiles[0], q, func(proc *abp.Process, progress *analysis.Progress) error {
					r, err := reuse.Count(profiles[0], proc, reuse.Options{Line: uint64(size), Limit: sample, Threads: q.Threads}, progress)
					all = append(all, r)
					return err
				})
				if err != nil || json {
					return a.jsonUnless(err, all)
				}
				for _, r := range all {
					if err := r.WriteText(a.stdout); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	fl := c.Flags()
	fl.UintSliceVar(&filter.processes, "process", nil, "only these processes, by `number`")
	fl.UintSliceVar(&filter.threads, "thread", nil, "only these threads, by `number` within their process")
	fl.StringVar(&line, "line", line, "`size` of a line")
	fl.IntVar(&sample, "sample", 0, "follow at most this `number` of lines; 0: all")
	fl.BoolVar(&json, "json", false, "print JSON, with the histogram: a list of processes")
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
			return openProfiles(args, func(profiles []*abp.Profile) error {
				q, err := filter.query(profiles)
				if err != nil {
					return err
				}
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
					return usagef("%s: no value of what is asked for was recorded; record with --fields address,value", args[0])
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
	c.Flags().BoolVar(&json, "json", false, "print JSON, everything in it: a list of processes")
	c.Flags().IntVar(&top, "top", 20, "show this `number` of functions and regions a process; 0: all")
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

// jsonUnless prints JSON unless there is an error.
func (a *app) jsonUnless(err error, v any) error {
	if err != nil {
		return err
	}
	return a.printJSON(v)
}
