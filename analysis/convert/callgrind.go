package convert

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"alleria/abp"
	"alleria/analysis/calls"
)

// callgrindFormat is what valgrind's callgrind writes with --dump-instr=yes.
func callgrindFormat() *Format {
	return &Format{
		Name: "callgrind", Ending: ".out", Split: SplitProcess,
		Summary: "for callgrind_annotate and KCachegrind: instructions, loads and stores by instruction and line, with calls",
		Needs:   "as pprof",
		write:   writeCallgrind,
	}
}

// cgFunction names a function over all threads.
type cgFunction struct {
	name, image string
	addr        uint64
}

// cgCall is calls of one function from one place of another.
type cgCall struct {
	callee cgFunction
	site   uint64
}

// cgBody is what is known of a function.
type cgBody struct {
	cgFunction
	linked string
	file   string
	line   uint32
	own    map[uint64]*abp.Counts // by address
	calls  map[cgCall]*cgCost
}

// cgCost is how many calls there were, and what they cost with all that they called. What is
// inside of several calls of a recursion counts for each, as callgrind has it.
type cgCost struct {
	calls uint64
	total abp.Counts
}

// cgMaker collects and writes.
type cgMaker struct {
	out     *bufio.Writer
	sources *sources
	image   func(addr uint64) *abp.Image
	bodies  map[cgFunction]*cgBody
	names   map[string]int // compressed names, by kind and name
}

// writeCallgrind writes one process.
func writeCallgrind(w io.Writer, o *Options) error {
	if err := o.need(abp.FlagInstructions, "instructions"); err != nil {
		return err
	}
	m := &cgMaker{out: bufio.NewWriter(w), sources: newSources(o), bodies: map[cgFunction]*cgBody{}, names: map[string]int{}}
	defer m.sources.close()
	var total abp.Counts
	err := o.withStacks(func(s *threadStacks) error {
		s.each(func(n *calls.Node, _ uint64, b *abp.Block, ins int, c abp.Counts) {
			total.Add(c, 1)
			addCounts(m.body(n.Func).own, b.InsAddr(ins), c)
		})
		for i := range s.nodes {
			if n := &s.nodes[i]; n.Func != nil && n.Parent.Func != nil {
				m.called(n)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, p := range o.processes() {
		m.image = imageFinder(p)
		m.head(p, &total)
	}
	var all []*cgBody
	for _, b := range m.bodies {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b *cgBody) int {
		return cmp.Or(cmp.Compare(a.image, b.image), cmp.Compare(a.addr, b.addr), cmp.Compare(a.name, b.name))
	})
	for _, b := range all {
		m.write(b)
	}
	fmt.Fprintf(m.out, "totals: %d %d %d\n", total.Instructions, total.Loads, total.Stores)
	return m.out.Flush()
}

// addCounts adds to one of a map's sums.
func addCounts[K comparable](to map[K]*abp.Counts, k K, c abp.Counts) {
	sum := to[k]
	if sum == nil {
		sum = new(abp.Counts)
		to[k] = sum
	}
	sum.Add(c, 1)
}

// body returns what is known of a function.
func (m *cgMaker) body(f *calls.Function) *cgBody {
	k := cgFunction{f.Name, f.ImagePath, f.Addr}
	b := m.bodies[k]
	if b == nil {
		b = &cgBody{cgFunction: k, linked: f.Linked, file: f.File, line: f.Line, own: map[uint64]*abp.Counts{}, calls: map[cgCall]*cgCost{}}
		m.bodies[k] = b
	}
	return b
}

// called adds the calls of a node.
func (m *cgMaker) called(n *calls.Node) {
	caller := m.body(n.Parent.Func)
	k := cgCall{m.body(n.Func).cgFunction, n.Site}
	if k.site == 0 { // a jump or a signal: nothing says from where
		k.site = n.Parent.Func.Addr
	}
	cost := caller.calls[k]
	if cost == nil {
		cost = &cgCost{}
		caller.calls[k] = cost
	}
	cost.calls += n.Calls
	cost.total.Add(n.Total, 1)
}

// head writes what comes in front of the functions.
func (m *cgMaker) head(p *abp.Process, total *abp.Counts) {
	fmt.Fprintf(m.out, "# callgrind format\nversion: 1\ncreator: alleria\npid: %d\ncmd: %s\npart: 1\n\n",
		p.Header().PID, strings.ReplaceAll(strings.Join(p.Header().CommandLine, " "), "\n", " "))
	fmt.Fprintf(m.out, "positions: instr line\nevents: Ir Dr Dw\nsummary: %d %d %d\n", total.Instructions, total.Loads, total.Stores)
}

// name writes a name, compressed: whole the first time, then by its number.
func (m *cgMaker) name(key, kind, name string) {
	if name == "" {
		name = "???"
	}
	n, known := m.names[kind+name]
	if known {
		fmt.Fprintf(m.out, "%s=(%d)\n", key, n)
		return
	}
	n = len(m.names) + 1
	m.names[kind+name] = n
	fmt.Fprintf(m.out, "%s=(%d) %s\n", key, n, name)
}

// write writes a function.
func (m *cgMaker) write(b *cgBody) {
	fmt.Fprintln(m.out)
	m.name("ob", "ob", b.image)
	file := m.file(b)
	m.name("fl", "fl", file)
	m.name("fn", "fn", b.name)
	addrs := make([]uint64, 0, len(b.own))
	for a := range b.own {
		addrs = append(addrs, a)
	}
	slices.Sort(addrs)
	in := file
	for _, a := range addrs {
		at, line := m.line(a)
		if at == "" {
			at = file
		}
		if at != in { // code of an inlined function, and back
			key := "fi"
			if at == file {
				key = "fe"
			}
			m.name(key, "fl", at)
			in = at
		}
		c := b.own[a]
		fmt.Fprintf(m.out, "%#x %d %d %d %d\n", a, line, c.Instructions, c.Loads, c.Stores)
	}
	m.writeCalls(b, in, file)
}

// writeCalls writes what a function called.
func (m *cgMaker) writeCalls(b *cgBody, in, file string) {
	list := make([]cgCall, 0, len(b.calls))
	for k := range b.calls {
		list = append(list, k)
	}
	slices.SortFunc(list, func(x, y cgCall) int {
		return cmp.Or(cmp.Compare(x.site, y.site), cmp.Compare(x.callee.addr, y.callee.addr), cmp.Compare(x.callee.name, y.callee.name))
	})
	if in != file && len(list) > 0 {
		m.name("fe", "fl", file)
	}
	for _, k := range list {
		callee, cost := m.bodies[k.callee], b.calls[k]
		_, line := m.line(k.site)
		_, target := m.line(callee.addr)
		m.name("cob", "ob", callee.image)
		m.name("cfi", "fl", m.file(callee))
		m.name("cfn", "fn", callee.name)
		fmt.Fprintf(m.out, "calls=%d %#x %d\n%#x %d %d %d %d\n", cost.calls, callee.addr, target,
			k.site, line, cost.total.Instructions, cost.total.Loads, cost.total.Stores)
	}
}

// file returns the source file of a function.
func (m *cgMaker) file(b *cgBody) string {
	if at, line := m.outermost(b.addr); line != 0 {
		return at
	}
	return b.file
}

// line returns the place in the source of an address; line 0 is not known.
func (m *cgMaker) line(addr uint64) (file string, line int) {
	f := m.sources.frames(m.image(addr), addr, "", "")
	return f[0].File, f[0].Line
}

// outermost is line for the function that others were inlined into.
func (m *cgMaker) outermost(addr uint64) (file string, line int) {
	f := m.sources.frames(m.image(addr), addr, "", "")
	return f[len(f)-1].File, f[len(f)-1].Line
}
