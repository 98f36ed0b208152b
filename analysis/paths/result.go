package paths

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/calls"
	"alleria/analysis/stream"
)

// Result is the paths of one process. It is the documented JSON.
type Result struct {
	Process   uint32     `json:"process"`
	Command   []string   `json:"command"`
	Functions []Function `json:"functions"` // in which paths were met
	Paths     []Path     `json:"paths"`     // the most instructions first
	// Sampling is there where only bursts were recorded: all counts are estimates, and paths are cut where bursts end.
	Sampling *analysis.SamplingReport `json:"sampling,omitempty"`
}

// Function is a function with the runs that were met in it.
type Function struct {
	Name  string `json:"name"`
	Image string `json:"image"`
	Path  string `json:"image_path,omitempty"`
	Base  uint64 `json:"image_base,omitempty"` // what addresses of the image's file lack
	// Number is how many paths its graph has, met or not; 0: too many to be counted.
	Number uint64 `json:"paths"`
	Runs   []Run  `json:"runs"` // by address
}

// Run is instructions that follow one another up to a jump.
type Run struct {
	Address      uint64 `json:"address"`
	Jump         uint64 `json:"jump,omitempty"` // address of its last instruction, if that is a jump
	Executed     uint64 `json:"executed"`       // how often it was begun
	Instructions uint64 `json:"instructions"`   // in all of these
}

// Path is a path.
type Path struct {
	Function     int    `json:"function"` // which of Functions
	Number       uint64 `json:"number"`   // among the function's, from 0; only if these could be counted
	Count        uint64 `json:"count"`
	Instructions uint64 `json:"instructions"` // of all of its executions, about: what its runs have on average
	Runs         []int  `json:"runs"`         // of the function, in order
}

// Totals puts together what was counted of a process's threads. Its methods are for one goroutine at a time.
type Totals struct {
	proc *abp.Process
	b    *calls.Builder
	all  trie
	// singly: Counter's
	singly bool
}

// NewTotals begins with nothing.
func NewTotals(proc *abp.Process) *Totals {
	return &Totals{proc: proc, b: calls.NewBuilder(proc, calls.Query{}), all: newTrie()}
}

// OneByOne has each step of a thread carried out by itself, for comparison.
func (t *Totals) OneByOne() *Totals {
	t.singly = true
	return t
}

// Thread returns what counts a thread.
func (t *Totals) Thread() *Counter {
	c := newCounter(t.b)
	c.singly = t.singly
	return c
}

// Add adds what was counted of a thread, which has ended, times scale.
func (t *Totals) Add(c *Counter, scale float64) { t.all.merge(c.finish(), scale) }

// Count counts the threads of a process. Calls are followed through all that they execute, and what q asks for counts. progress
// may be nil.
func Count(p *abp.Profile, proc *abp.Process, q calls.Query, progress *analysis.Progress) (*Result, error) {
	all := NewTotals(proc)
	all.b = calls.NewBuilder(proc, q)
	threads := q.Threads
	list := proc.Threads()
	wanted := func(t *abp.Thread) bool { return len(threads) == 0 || slices.Contains(threads, t.Number) }
	for i := range list {
		if wanted(&list[i]) {
			progress.Expect(&list[i])
		}
	}
	for i := range list {
		if !wanted(&list[i]) {
			continue
		}
		c := all.Thread()
		if err := stream.Thread(p, proc, &list[i], progress, c); err != nil {
			return nil, fmt.Errorf("paths of thread %d: %w", list[i].Number, err)
		}
		all.Add(c, 1)
	}
	return all.Result(), nil
}

// Result names and numbers the paths.
func (t *Totals) Result() *Result {
	out := &Result{Process: t.proc.Number(), Command: t.proc.Header().CommandLine, Functions: []Function{}, Paths: []Path{}, Sampling: analysis.SamplingOf(t.proc)}
	graphs := t.graphs()
	funcs := make([]int32, 0, len(graphs))
	for fn := range graphs {
		funcs = append(funcs, fn)
	}
	slices.SortFunc(funcs, func(a, b int32) int {
		f, g := t.b.FunctionOf(a), t.b.FunctionOf(b)
		return cmp.Or(cmp.Compare(f.Image, g.Image), cmp.Compare(f.Addr, g.Addr), cmp.Compare(f.Name, g.Name))
	})
	place := map[int32]int{}
	index := map[*run]int{}
	for i, fn := range funcs {
		place[fn] = i
		g, f := graphs[fn], t.b.FunctionOf(fn)
		j := Function{Name: f.Name, Image: f.Image, Path: f.ImagePath, Base: f.ImageBase(), Number: g.number()}
		for _, r := range slices.Backward(g.runs) {
			index[r] = len(j.Runs)
			j.Runs = append(j.Runs, Run{r.addr, r.jump, whole(r.met), whole(r.instructions)})
		}
		out.Functions = append(out.Functions, j)
	}
	for n := range t.all.all {
		if c := &t.all.all[n]; math.Round(c.ended) > 0 {
			out.Paths = append(out.Paths, t.path(int32(n), graphs[c.fn], place[c.fn], index, out.Functions[place[c.fn]].Number > 0))
		}
	}
	slices.SortFunc(out.Paths, func(a, b Path) int {
		return cmp.Or(cmp.Compare(b.Instructions, a.Instructions), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Function, b.Function), slices.Compare(a.Runs, b.Runs))
	})
	return out
}

// graphs builds the graph of each function.
func (t *Totals) graphs() map[int32]*graph {
	out := map[int32]*graph{}
	counted := make([]bool, len(t.all.all)) // something of it, or behind it, is to count
	for n := len(t.all.all) - 1; n > 0; n-- {
		c := &t.all.all[n]
		if counted[n] = counted[n] || c.met > 0 || c.ended > 0 || c.instructions > 0; counted[n] {
			counted[c.parent] = true
		}
	}
	for n := 1; n < len(t.all.all); n++ {
		c := &t.all.all[n]
		if !counted[n] {
			continue
		}
		g := out[c.fn]
		if g == nil {
			g = &graph{by: map[uint64]*run{}}
			out[c.fn] = g
		}
		r := g.at(c.addr)
		r.met += c.met
		r.instructions += c.instructions
		r.jump = max(r.jump, c.jump)
		r.ends = r.ends || c.ended > 0
		if c.parent == 0 {
			r.begins = true
		} else {
			g.edge(g.at(t.all.all[c.parent].addr), r)
		}
	}
	return out
}

// path describes the path that ends with a node.
func (t *Totals) path(n int32, g *graph, function int, index map[*run]int, numbered bool) Path {
	out := Path{Function: function, Count: whole(t.all.all[n].ended)}
	var addrs []uint64
	for k := n; k != 0; k = t.all.all[k].parent {
		addrs = append(addrs, t.all.all[k].addr)
	}
	slices.Reverse(addrs)
	each := 0.0
	for _, a := range addrs {
		r := g.by[a]
		out.Runs = append(out.Runs, index[r])
		each += r.instructions / max(r.met, 1)
	}
	out.Instructions = uint64(math.Round(each * float64(out.Count)))
	if numbered {
		out.Number = g.of(addrs)
	}
	return out
}

// whole is a sum without fractions.
func whole(n float64) uint64 { return uint64(math.Round(n)) }

// Check says what is wrong with a result that was read.
func (r *Result) Check() error {
	for i := range r.Paths {
		p := &r.Paths[i]
		if p.Function < 0 || p.Function >= len(r.Functions) || len(p.Runs) == 0 {
			return fmt.Errorf("path %d is of no function", i)
		}
		for _, k := range p.Runs {
			if k < 0 || k >= len(r.Functions[p.Function].Runs) {
				return fmt.Errorf("path %d: there is no run %d", i, k)
			}
		}
	}
	return nil
}

// Liner finds the source of an address of an image's file, which is at base in the process.
type Liner func(image string, base, addr uint64) (file string, line int, ok bool)

// WriteText writes the hottest paths by addresses.
func (r *Result) WriteText(w io.Writer, top int) error { return r.Write(w, top, nil) }

// Write writes the hottest paths: as lines of source where line finds them, else as addresses. line may be nil.
func (r *Result) Write(w io.Writer, top int, line Liner) error {
	out := bufio.NewWriter(w)
	all := uint64(0)
	for i := range r.Functions {
		for k := range r.Functions[i].Runs {
			all += r.Functions[i].Runs[k].Instructions
		}
	}
	fmt.Fprintf(out, "Process %d: %s\n", r.Process, analysis.PrintableCommand(r.Command))
	if r.Sampling != nil {
		r.Sampling.WriteText(out)
	}
	fmt.Fprintf(out, "  %s instructions on %s paths through %s functions\n",
		analysis.FormatExact(all), analysis.FormatExact(uint64(len(r.Paths))), analysis.FormatExact(uint64(len(r.Functions))))
	for i := range r.Paths {
		if top > 0 && i == top {
			fmt.Fprintf(out, "\n  … and %s more\n", analysis.FormatExact(uint64(len(r.Paths)-i)))
			break
		}
		r.writePath(out, &r.Paths[i], all, line)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write paths: %w", err)
	}
	return nil
}

// writePath writes one path.
func (r *Result) writePath(w io.Writer, p *Path, all uint64, line Liner) {
	f := &r.Functions[p.Function]
	number := "path"
	if f.Number > 0 {
		number = fmt.Sprintf("path %d of %s", p.Number, analysis.FormatExact(f.Number))
	}
	fmt.Fprintf(w, "\n  %5.1f %%  %s times  %s (%s), %s, %s instructions\n", 100*float64(p.Instructions)/float64(max(all, 1)), analysis.FormatExact(p.Count),
		f.Name, f.Image, number, analysis.FormatExact(p.Instructions))
	last := ""
	for _, k := range p.Runs {
		text := f.describe(&f.Runs[k], line)
		if text != last { // several runs of one line
			fmt.Fprintf(w, "           %s\n", text)
		}
		last = text
	}
}

// describe names a run by the lines that it begins and ends with, else by addresses.
func (f *Function) describe(r *Run, line Liner) string {
	end := max(r.Jump, r.Address)
	if line != nil {
		file, from, ok := line(f.Path, f.Base, r.Address)
		_, to, ok2 := line(f.Path, f.Base, end)
		switch {
		case ok && (!ok2 || to == from):
			return fmt.Sprintf("%s:%d", file, from)
		case ok:
			return fmt.Sprintf("%s:%d-%d", file, min(from, to), max(from, to))
		}
	}
	if end == r.Address {
		return fmt.Sprintf("%#x", r.Address-f.Base)
	}
	return fmt.Sprintf("%#x-%#x", r.Address-f.Base, end-f.Base)
}
