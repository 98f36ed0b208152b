package calls

import (
	"cmp"
	"fmt"
	"slices"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/stream"
)

// NoFunction is the name of code that no function holds and that was not seen being called.
const NoFunction = "[no function]"

// Function is one function of a process.
type Function struct {
	Name      string // demangled where it can be; image+0xOFFSET where only its address is known
	Linked    string // as linked, where that differs
	Image     string // file name, or [no image]
	ImagePath string
	File      string // source of the definition, where known
	Line      uint32
	Addr      uint64 // of its first byte, 0: of several places
	Size      uint64 // bytes, 0: not known

	image  *abp.Image
	number int32
	match  int32 // number of the function that blocks of it name
}

// Mapped is the image that it is in, nil: none.
func (f *Function) Mapped() *abp.Image { return f.image }

// Node is a function in the context of its callers: all calls of it from one place of one
// such context, or, Merged, from all places of it, in all threads.
type Node struct {
	Func  *Function // nil for the root
	Site  uint64    // address of the call instruction, 0: it was entered by something else, or Merged
	Calls uint64    // 0 where it was only ever met in its middle
	Own   abp.Counts
	Total abp.Counts // with all that it called
	// Seconds are 0 where blocks were not stamped with their time.
	OwnSeconds, TotalSeconds float64
	Parent                   *Node   // nil for the root
	Merged                   bool    // it is of several call sites, see MostSites
	Children                 []*Node // the most instructions first

	number int // of WriteJSON and TreeJSON
}

// Tree is the call tree of a process.
type Tree struct {
	Process uint32
	Command []string
	Root    *Node // its children are the functions whose callers are not known
	Nodes   int
	Deepest int // calls within calls, at most MaxDepth
	Merged  int // nodes that are of several call sites
	// Sampling is nil where everything was recorded. Else all counts are estimates.
	Sampling *analysis.SamplingReport

	spread *analysis.Spread
	place  func(addr uint64) string
}

// Query says what is counted. Calls are followed through everything all the same.
type Query struct {
	Threads []uint32  // numbers; none: all
	Windows uint64    // bit i: what ran with window i open; 0: all
	Time    abp.Range // TSC
	Sites   int       // so many contexts are told apart by call sites; 0: MostSites

	none bool // nothing: the process has no window of those that were named
}

// QueryOf takes over what a reader's query says of threads, windows and time, for a process.
func QueryOf(p *abp.Process, q abp.Query) Query {
	part := stream.PartOf(p, q)
	return Query{Threads: q.Threads, Windows: part.Windows, Time: part.Time, none: part.None}
}

// apart is how many contexts are told apart by call sites.
func (q *Query) apart() int {
	if q.Sites == 0 {
		return MostSites
	}
	return q.Sites
}

// wants returns what decides whether something counts, nil if everything does.
func (q *Query) wants() func(x *abp.Exec) bool {
	part := stream.Part{Windows: q.Windows, Time: q.Time, None: q.none}
	if part.All() {
		return nil
	}
	return part.Has
}

// finish makes a Tree of the nodes of all threads, and returns them by number as well.
func (b *Builder) finish(all *nodes) (*Tree, []Node) {
	all.round()
	p, pl := b.proc, b.pl
	t := &Tree{Process: p.Number(), Command: p.Header().CommandLine, Nodes: len(all.all) - 1, Sampling: b.sampling, spread: b.spread, place: pl.describe}
	made := make([]Node, len(all.all))
	funcs := pl.functions()
	perSecond := float64(p.Header().TSCFrequency)
	for i := len(all.all) - 1; i > 0; i-- { // children have higher numbers than their parents
		n, m := &all.all[i], &made[i]
		m.Func, m.Site, m.Calls, m.Own, m.Parent = funcs[n.fn], n.site, n.calls, n.own, &made[n.parent]
		if n.site == anywhere {
			m.Site, m.Merged = 0, true
			t.Merged++
		}
		m.Total.Add(m.Own, 1)
		if perSecond > 0 {
			m.OwnSeconds = float64(n.ticks) / perSecond
		}
		m.TotalSeconds += m.OwnSeconds
		made[n.parent].TotalSeconds += m.TotalSeconds
		made[n.parent].Total.Add(m.Total, 1)
		made[n.parent].Children = append(made[n.parent].Children, m)
		t.Deepest = max(t.Deepest, int(n.depth))
	}
	for i := range made {
		slices.SortFunc(made[i].Children, func(a, b *Node) int {
			return cmp.Or(cmp.Compare(b.Total.Instructions, a.Total.Instructions), cmp.Compare(b.Calls, a.Calls),
				compareFunctions(a.Func, b.Func), cmp.Compare(a.Site, b.Site))
		})
	}
	t.Root = &made[root]
	if t.Sampling != nil {
		t.Sampling.Error = t.error(nil)
		if b.executed > 0 {
			t.Sampling.CallersUnknown = b.lacking / b.executed
		}
	}
	return t, made
}

// callersLack tells whether callers of more than a hundredth are not known, since only bursts were recorded.
func (t *Tree) callersLack() bool { return t.Sampling != nil && t.Sampling.CallersUnknown >= 0.01 }

// Stacks is the root for who writes whole stacks. Where only bursts were recorded and not all outermost callers are known, a function stands for them.
func (t *Tree) Stacks() *Node {
	if !t.callersLack() {
		return t.Root
	}
	top := *t.Root
	unknown := top
	unknown.Func, unknown.Parent, unknown.Calls = &Function{Name: UnknownCaller, number: -1}, &top, 0
	top.Children = []*Node{&unknown}
	return &top
}

// Place names a call site: the function that it is in, and the offset in it.
func (t *Tree) Place(site uint64) string {
	if site == 0 {
		return ""
	}
	return t.place(site)
}

// hex writes an address.
func hex(n uint64) string { return fmt.Sprintf("%#x", n) }

// ImageBase is what addresses of the image's file lack in the process, 0 where it is in none.
func (f *Function) ImageBase() uint64 {
	if f.image == nil {
		return 0
	}
	return f.image.Base
}
