package session

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"alleria/abp"
	"alleria/engine"
	"alleria/internal/session/plan"
	"alleria/internal/symbols"
)

// counts is what --only count found out.
// Totals are exact at any time: threads are added when they end.
type counts struct {
	threads []abp.CountedThread
	funcs   map[uint32]uint64 // by the function's number in names
	names   *functionNames
	calls   map[uint32]uint64 // entries, likewise; nil: they are not counted
	total   uint64
}

// funcName names a function across the images that a process executes.
// Names and not addresses, because the same library lies elsewhere in the next
// program.
type funcName struct{ image, name string }

// add takes what a thread counted. A block belongs to the function that it
// begins in.
//
// It takes a look-up for each block that was executed, not for each execution. Code of a
// function that was inlined counts for the function that it was inlined into.
//
// Names are made once for a function of the run: the hundredth process of a program is of the same images, and
// demangling was a tenth of what a build's count cost.
func (c *counts) add(tb *plan.Tables, names *functionNames, t thread) {
	if c.funcs == nil {
		c.funcs, c.names = make(map[uint32]uint64), names
	}
	byFunction := make(map[located]uint64)
	var last located
	var sum uint64
	note := func() {
		if last != (located{}) || sum != 0 {
			byFunction[last] += sum
		}
	}
	near := tb.Symbols.Near()
	tc := abp.CountedThread{Number: uint32(t.Num()), TID: uint32(t.TID())}
	t.Counts(func(addr uint64, instructions int, times uint64) {
		n := uint64(instructions) * times
		tc.Instructions += n
		l, fn := near.Function(addr)
		if f := (located{l, fn}); f != last { // neighbours are of one function, mostly
			note()
			last, sum = f, 0
		}
		sum += n
	})
	note()
	for f, n := range byFunction {
		c.funcs[names.of(f)] += n
	}
	c.total += tc.Instructions
	if c.calls != nil {
		t.Entries(func(addr uint64, times uint64) {
			if l, fn := tb.Symbols.Function(addr); l != nil && fn != nil && fn.Addr == l.Address(addr) {
				c.calls[names.of(located{l, fn})] += times
			}
		})
	}
	// A thread that executed another program is the same there, maybe by another id.
	if i := slices.IndexFunc(c.threads, func(o abp.CountedThread) bool { return o.Number == tc.Number }); i >= 0 {
		tc.Instructions += c.threads[i].Instructions
		c.threads[i] = tc
		return
	}
	c.threads = append(c.threads, tc)
}

// countCalls has entries of functions counted as well, of what is translated from here on.
func (c *counts) countCalls(p target, tb *plan.Tables) {
	if c.calls == nil {
		c.calls = make(map[uint32]uint64)
	}
	p.CountEntries(func(addr uint64) engine.Extent {
		l, fn := tb.Symbols.Function(addr)
		if l == nil || fn == nil {
			return engine.Extent{}
		}
		return engine.Extent{Start: fn.Addr + l.Bias, End: fn.Addr + l.Bias + fn.Size}
	})
}

// located is a function where it is loaded; either may be nil.
type located struct {
	image *symbols.Loaded
	fn    *symbols.Function
}

// functionNames numbers the functions of a run. What is kept of each process then has no pointers: that of hundreds, with
// thousands of functions each, was a third of the time of counting a build, spent on collecting garbage.
type functionNames struct {
	known  map[functionOf]uint32
	byName map[funcName]uint32
	names  []funcName
}

// functionOf is a function in an image by a name.
type functionOf struct {
	image string
	fn    *symbols.Function
}

func newFunctionNames() *functionNames {
	return &functionNames{known: make(map[functionOf]uint32), byName: make(map[funcName]uint32)}
}

// of is the number of a function. Functions of one name in images of one name have one number.
func (n *functionNames) of(f located) uint32 {
	key := functionOf{fn: f.fn}
	if f.image != nil {
		key.image = f.image.Name
	}
	if number, ok := n.known[key]; ok {
		return number
	}
	name := funcName{image: key.image}
	if key.fn != nil {
		name.name = key.fn.Name()
	}
	number, ok := n.byName[name]
	if !ok {
		number = uint32(len(n.names))
		n.byName[name] = number
		n.names = append(n.names, name)
	}
	n.known[key] = number
	return number
}

// result puts the counts in the order in which they are read: threads by number,
// functions by instructions.
// The order is settled to the last name, so that two equal runs print the same.
func (c *counts) result() *abp.Counted {
	out := &abp.Counted{Threads: c.threads, Functions: make([]abp.CountedFunction, 0, len(c.funcs))}
	slices.SortFunc(out.Threads, func(a, b abp.CountedThread) int { return cmp.Compare(a.Number, b.Number) })
	for f, n := range c.funcs {
		name := c.names.names[f]
		out.Functions = append(out.Functions, abp.CountedFunction{Name: name.name, Image: name.image, Instructions: n, Calls: c.calls[f]})
	}
	slices.SortFunc(out.Functions, func(a, b abp.CountedFunction) int {
		return cmp.Or(cmp.Compare(b.Instructions, a.Instructions), cmp.Compare(a.Image, b.Image), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// entry is what run.json says of the process.
// Counting has no profile: run.json is all there is, if an output was asked for.
func (c *counts) entry(e abp.ProcessEntry) abp.ProcessEntry {
	e.Threads, e.Counts, e.Counted = len(c.threads), abp.Counts{Instructions: c.total}, c.result()
	return e
}

// countedFunctions is how many functions the table shows; run.json has all.
const countedFunctions = 20

// print writes the counts of a process by thread and function.
func (c *counts) print(w io.Writer, process int, program string) {
	r := c.result()
	name := ""
	if process > 1 {
		name = " (" + program + ")"
	}
	fmt.Fprintf(w, "process %d%s: %d instructions\n", process, name, c.total)
	for _, t := range r.Threads {
		fmt.Fprintf(w, "  thread %d (%d): %d\n", t.Number, t.TID, t.Instructions)
	}
	shown := r.Functions[:min(countedFunctions, len(r.Functions))]
	width := 0
	for _, f := range shown {
		width = max(width, len(imageName(f)))
	}
	for _, f := range shown {
		name := f.Name
		if name == "" {
			name = "[no function]"
		}
		if c.calls != nil {
			fmt.Fprintf(w, "  %12d calls", f.Calls)
		}
		fmt.Fprintf(w, "  %15d  %5.1f %%  %-*s  %s\n", f.Instructions, 100*float64(f.Instructions)/float64(max(c.total, 1)), width, imageName(f), name)
	}
	if more := len(r.Functions) - len(shown); more > 0 {
		fmt.Fprintf(w, "  … and %d more functions\n", more)
	}
}

// imageName is what the table says of a function's image.
// Code in no image is a JIT's, mostly.
func imageName(f abp.CountedFunction) string {
	if f.Image == "" {
		return "[no image]"
	}
	return f.Image
}
