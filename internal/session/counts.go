package session

import (
	"fmt"
	"io"
	"sort"

	"alleria/engine"
	"alleria/internal/symbols"
)

// counts is what --only count found out.
type counts struct {
	threads []threadCount
	funcs   map[string]uint64 // image and function
	total   uint64
}

type threadCount struct {
	num, tid int
	n        uint64
}

// add takes what a thread counted. A block belongs to the function that it
// begins in.
func (c *counts) add(tb *tables, t *engine.Thread) {
	if c.funcs == nil {
		c.funcs = make(map[string]uint64)
	}
	tc := threadCount{num: t.Num(), tid: t.TID()}
	t.Counts(func(addr uint64, instructions int, times uint64) {
		n := uint64(instructions) * times
		tc.n += n
		c.funcs[countName(tb.symbols.Function(addr))] += n
	})
	c.total += tc.n
	c.threads = append(c.threads, tc)
}

func countName(l *symbols.Loaded, fn *symbols.Function) string {
	switch {
	case l == nil:
		return "[no image]"
	case fn == nil:
		return l.Name + "\t[no function]"
	}
	return l.Name + "\t" + fn.Name()
}

// countedFunctions is how many functions the table shows.
const countedFunctions = 20

// print writes the counts by process, thread and function.
func (c *counts) print(w io.Writer) {
	fmt.Fprintf(w, "process 1: %d instructions\n", c.total)
	for _, t := range c.threads {
		fmt.Fprintf(w, "  thread %d (%d): %d\n", t.num, t.tid, t.n)
	}
	names := make([]string, 0, len(c.funcs))
	for n := range c.funcs {
		names = append(names, n)
	}
	sort.Slice(names, func(i, j int) bool {
		if c.funcs[names[i]] != c.funcs[names[j]] {
			return c.funcs[names[i]] > c.funcs[names[j]]
		}
		return names[i] < names[j]
	})
	for i, n := range names {
		if i == countedFunctions {
			fmt.Fprintf(w, "  … and %d more functions\n", len(names)-i)
			break
		}
		fmt.Fprintf(w, "  %15d  %5.1f %%  %s\n", c.funcs[n], 100*float64(c.funcs[n])/float64(c.total), n)
	}
}
