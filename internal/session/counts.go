package session

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"

	"alleria/abp"
	"alleria/engine"
	"alleria/internal/session/plan"
	"alleria/internal/symbols"
)

// counts is what --only count found out.
// Totals are exact at any time: threads are added when they end.
type counts struct {
	threads []abp.CountedThread
	ran     []abp.CountedProgram
	running int               // which program the last of ran is, see process.count
	funcs   map[uint32]uint64 // by the function's number in names
	names   *functionNames
	calls   map[uint32]uint64 // entries, likewise; nil: they are not counted
	edges   map[edge]uint64   // from where functions were entered; nil: that is not counted
	total   uint64
	any     bool // something is counted of the process; the tracer's goroutine's, as all else but begun is the counting one's
	begun   int  // programs of which something is counted, or will be
}

// funcName names a function across the images that a process executes.
// Names and not addresses, because the same library lies elsewhere in the next
// program.
type funcName struct{ image, name string }

// program is which of a process's programs something was counted in, and its file's name.
type program struct {
	number int
	name   string
}

// times is instructions that were executed from an address on.
type times struct{ addr, n uint64 }

// count takes what a thread has counted, that is ending or executes another program. What its counters hold is read now, as its memory is about to be another thread's. To find the functions is left to the
// goroutine that counts: it takes a millisecond for a compiler's process, while which other processes wait for the tracer.
func (ps *process) count(tb *plan.Tables, t thread) {
	c := &ps.counts
	c.any = true
	in := program{c.begun, filepath.Base(ps.path)}
	tc := abp.CountedThread{Number: uint32(t.Num()), TID: uint32(t.TID())}
	all := ps.counting.room()
	t.Counts(func(addr uint64, instructions int, n uint64) {
		n *= uint64(instructions)
		tc.Instructions += n
		all = append(all, times{addr, n})
	})
	names := ps.names
	if c.calls != nil { // of which more is read
		ps.counting.wait()
		c.add(tb, names, in, tc, all)
		c.addCalls(tb, t)
		return
	}
	ps.counting.do(ps.opts.Engine, func() {
		c.add(tb, names, in, tc, all)
		ps.counting.giveBack(all)
	})
}

// add takes what a thread counted. A block belongs to the function that it
// begins in.
//
// It takes a look-up for each block that was executed, not for each execution. Code of a
// function that was inlined counts for the function that it was inlined into.
//
// Names are made once for a function of the run: the hundredth process of a program is of the same images, and
// demangling was a tenth of what a build's count cost.
func (c *counts) add(tb *plan.Tables, names *functionNames, in program, tc abp.CountedThread, all []times) {
	if len(c.ran) == 0 || c.running != in.number {
		c.ran, c.running = append(c.ran, abp.CountedProgram{Name: in.name}), in.number
	}
	c.ran[len(c.ran)-1].Instructions += tc.Instructions
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
	for i := range all {
		l, fn := near.Function(all[i].addr)
		if f := (located{l, fn}); f != last { // neighbours are of one function, mostly
			note()
			last, sum = f, 0
		}
		sum += all[i].n
	}
	note()
	for f, n := range byFunction {
		c.funcs[names.of(f)] += n
	}
	c.total += tc.Instructions
	// A thread that executed another program is the same there, maybe by another id.
	if i := slices.IndexFunc(c.threads, func(o abp.CountedThread) bool { return o.Number == tc.Number }); i >= 0 {
		tc.Instructions += c.threads[i].Instructions
		c.threads[i] = tc
		return
	}
	c.threads = append(c.threads, tc)
}

// counting is a goroutine that does one thing after the other, as they are given to it. The zero value has none yet. Only the tracer's goroutine calls its methods; what it is given to do owns the counts of all processes and
// the names of their functions until it is through (wait).
type counting struct {
	jobs  chan func()
	given sync.WaitGroup
	mu    sync.Mutex
	free  [][]times // room that has been given back, none of it in use; guarded by mu
}

// room is memory for what a thread has counted, which giveBack gives back: the hundredth process of a build needs as much as the one before.
func (w *counting) room() []times {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.free); n > 0 {
		b := w.free[n-1]
		w.free = w.free[:n-1]
		return b[:0]
	}
	return nil
}

func (w *counting) giveBack(b []times) {
	const most = 4
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.free) < most {
		w.free = append(w.free, b)
	}
}

// mostCounting is how many threads' counts wait at most, of which each is some hundred kilobytes.
const mostCounting = 64

// do has something done beside, or at once with countAtOnce.
func (w *counting) do(switches []string, f func()) {
	if slices.Contains(switches, countAtOnce) {
		f()
		return
	}
	if w.jobs == nil {
		w.jobs = make(chan func(), mostCounting)
		go func(jobs <-chan func()) {
			for f := range jobs {
				f()
				w.given.Done()
			}
		}(w.jobs)
	}
	w.given.Add(1)
	w.jobs <- f
}

// wait waits until all is done. end ends the goroutine as well.
func (w *counting) wait() { w.given.Wait() }

func (w *counting) end() {
	w.wait()
	if w.jobs != nil {
		close(w.jobs)
		w.jobs = nil
	}
}

// edge is one place from which a function is entered, by functions' numbers in names.
type edge struct {
	caller, callee uint32
	site           uint64 // the call instruction's address; 0: it was a jump, a signal or the like
}

// noCaller is the caller of who was entered otherwise than by a branch: a program's first function.
const noCaller = ^uint32(0)

// addCalls takes the functions that a thread has entered, and from where.
func (c *counts) addCalls(tb *plan.Tables, t thread) {
	entered, starts := make(map[uint32]uint64), make(map[uint32]uint64)
	t.Entries(func(addr uint64, times uint64) {
		if f := (located{}); f.at(tb, addr) {
			n := c.names.of(f)
			entered[n] += times
			starts[n] = addr
		}
	})
	if c.edges != nil {
		c.addEdges(tb, t, entered, starts)
	}
	for f, n := range entered {
		c.calls[f] += n
	}
}

// at makes it the function of an address, and tells whether that is its first instruction's.
func (f *located) at(tb *plan.Tables, addr uint64) (entry bool) {
	f.image, f.fn = tb.Symbols.Function(addr)
	return f.image != nil && f.fn != nil && f.fn.Addr == f.image.Address(addr)
}

// addEdges takes from where a thread has entered functions, of which it has done so as often as entered says; starts is where they begin. What no branch tells of has no
// caller, but where a call has returned to a function's beginning, as of one that is written to go on in the next. A function's indirect jumps to its own beginning are taken off: they are no entries.
//
// Code without a symbol is a function for each address that is called, as it is to the analysis of records.
func (c *counts) addEdges(tb *plan.Tables, t thread, entered, starts map[uint32]uint64) {
	known := make(map[uint32]uint64)
	returns := make(map[uint64]uint32) // whose direct calls return to an address
	t.Edges(func(from, to uint64, jump bool, times uint64) {
		var caller, callee located
		caller.at(tb, from)
		entry := callee.at(tb, to)
		e := edge{site: from}
		switch {
		case jump && !entry:
			return
		case jump && caller == callee:
			entered[c.names.of(callee)] -= times
			return
		case jump:
			e.site = 0
		}
		e.caller = c.names.of(caller)
		if callee.fn == nil {
			e.callee = c.names.called(callee.image, to)
			entered[e.callee] += times
		} else {
			e.callee = c.names.of(callee)
		}
		c.edges[e] += times
		if !jump {
			returns[from+directCall] = e.caller
		}
		if entry || callee.fn == nil {
			known[e.callee] += times
		}
	})
	for f, n := range entered {
		rest := n - known[f]
		if int64(rest) <= 0 {
			continue
		}
		e := edge{caller: noCaller, callee: f}
		if caller, ok := returns[starts[f]]; ok {
			e.caller = caller
		}
		c.edges[e] += rest
	}
}

// directCall is how many bytes a direct call has.
const directCall = 5

// countCalls has entries of functions counted as well, of what is translated from here on, and where they are from.
func (c *counts) countCalls(p target, tb *plan.Tables, edges bool) {
	if c.calls == nil {
		c.calls = make(map[uint32]uint64)
	}
	if edges && c.edges == nil {
		c.edges = make(map[edge]uint64)
	}
	p.CountEntries(edges, func(addr uint64) engine.Extent {
		l, fn := tb.Symbols.Function(addr)
		if l == nil || fn == nil {
			return engine.Extent{}
		}
		tb.Image(l) // it has a number, by which what is translated is known to go by its names (Names)
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

// called is the number of code without a symbol that was called at an address.
func (n *functionNames) called(l *symbols.Loaded, addr uint64) uint32 {
	name := funcName{name: fmt.Sprintf("%#x", addr)}
	if l != nil {
		name = funcName{image: l.Name, name: fmt.Sprintf("%s+%#x", l.Name, l.Address(addr))}
	}
	number, ok := n.byName[name]
	if !ok {
		number = uint32(len(n.names))
		n.byName[name] = number
		n.names = append(n.names, name)
	}
	return number
}

// result puts the counts in the order in which they are read: threads by number,
// functions by instructions.
// The order is settled to the last name, so that two equal runs print the same.
func (c *counts) result() *abp.Counted {
	out := &abp.Counted{Threads: c.byNumber(), Programs: c.ran, Functions: make([]abp.CountedFunction, 0, len(c.funcs))}
	c.each(func(f abp.CountedFunction) { out.Functions = append(out.Functions, f) })
	slices.SortFunc(out.Functions, inOrder)
	out.Edges = c.edgesOf(out.Functions)
	return out
}

// byNumber is the threads in order.
func (c *counts) byNumber() []abp.CountedThread {
	slices.SortFunc(c.threads, func(a, b abp.CountedThread) int { return cmp.Compare(a.Number, b.Number) })
	return c.threads
}

// each calls f for every function, in no order.
func (c *counts) each(f func(abp.CountedFunction)) {
	for fn, n := range c.funcs {
		name := c.names.names[fn]
		f(abp.CountedFunction{Name: name.name, Image: name.image, Instructions: n, Calls: c.calls[fn]})
	}
	for fn, n := range c.calls { // of code without a symbol instructions are those of its image
		name := c.names.names[fn]
		if _, listed := c.funcs[fn]; n > 0 && !listed {
			f(abp.CountedFunction{Name: name.name, Image: name.image, Calls: n})
		}
	}
}

// inOrder is the order of functions.
func inOrder(a, b abp.CountedFunction) int {
	return cmp.Or(cmp.Compare(b.Instructions, a.Instructions), cmp.Compare(a.Image, b.Image), cmp.Compare(a.Name, b.Name))
}

// first is the first functions in order, most at most, and how many there are. All of a build's, put in order at its end, took half a second.
func (c *counts) first(most int) (first []abp.CountedFunction, all int) {
	c.each(func(f abp.CountedFunction) {
		all++
		if len(first) == most && inOrder(f, first[most-1]) > 0 {
			return
		}
		i, _ := slices.BinarySearchFunc(first, f, inOrder)
		if len(first) == most {
			first = first[:most-1]
		}
		first = slices.Insert(first, i, f)
	})
	return first, all
}

// edgesOf lists the edges between functions, the most calls first, and of each its sites likewise.
func (c *counts) edgesOf(funcs []abp.CountedFunction) (out []abp.CountedEdge) {
	place := make(map[funcName]int, len(funcs))
	for i := range funcs {
		place[funcName{funcs[i].Image, funcs[i].Name}] = i
	}
	index := func(f uint32) int {
		if f == noCaller {
			return -1
		}
		if i, ok := place[c.names.names[f]]; ok {
			return i
		}
		return -1
	}
	at := make(map[[2]int]int)
	for e, n := range c.edges {
		if n == 0 {
			continue
		}
		k := [2]int{index(e.caller), index(e.callee)}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, abp.CountedEdge{Caller: k[0], Callee: k[1]})
		}
		out[i].Calls += n
		out[i].Sites = append(out[i].Sites, [2]uint64{e.site, n})
	}
	for i := range out {
		slices.SortFunc(out[i].Sites, func(a, b [2]uint64) int { return cmp.Or(cmp.Compare(b[1], a[1]), cmp.Compare(a[0], b[0])) })
	}
	slices.SortFunc(out, func(a, b abp.CountedEdge) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Callee, b.Callee))
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
	name := ""
	if process > 1 {
		name = " (" + program + ")"
	}
	fmt.Fprintf(w, "process %d%s: %d instructions\n", process, name, c.total)
	for _, t := range c.byNumber() {
		fmt.Fprintf(w, "  thread %d (%d): %d\n", t.Number, t.TID, t.Instructions)
	}
	shown, all := c.first(countedFunctions)
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
	if more := all - len(shown); more > 0 {
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
