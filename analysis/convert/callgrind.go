package convert

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/calls"
)

// callgrindFormat is what valgrind's callgrind writes with --dump-instr=yes.
func callgrindFormat() *Format {
	return &Format{
		Name: "callgrind", Ending: ".out", Split: SplitProcess,
		Summary: "for callgrind_annotate and KCachegrind: instructions, loads, stores and time by instruction and line, with calls", all: true,
		Needs: "as pprof",
		write: writeCallgrind,
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
	mapped *abp.Image
	file   string
	line   uint32
	own    map[uint64]*costs // by address
	calls  map[cgCall]*cgCost
}

// cgCost is how many calls there were, and what they cost with all that they called. What is
// inside of several calls of a recursion counts for each, as callgrind has it.
type cgCost struct {
	calls uint64
	total costs
}

// cgMaker collects and writes.
type cgMaker struct {
	out     *bufio.Writer
	sources *sources
	bodies  map[cgFunction]*cgBody
	names   map[string]int // compressed names, by kind and name
	events  []cgEvent
	of      *abp.Process // whose time stamps are counted
}

// cgEvent is a column. Those of misses are called what callgrind calls them, so that KCachegrind knows them and what it makes of them.
type cgEvent struct {
	name, long string // long is for what callgrind does not have
	of         func(c *costs) uint64
}

// cgEvents lists the columns of a file.
func (o *Options) cgEvents() []cgEvent {
	list := []cgEvent{{"Ir", "", func(c *costs) uint64 { return c.Instructions }}, {"Dr", "", func(c *costs) uint64 { return c.Loads }},
		{"Dw", "", func(c *costs) uint64 { return c.Stores }}}
	if o.Misses != nil {
		for _, e := range []struct {
			name string
			kind int
		}{{"I1mr", missesL1I}, {"D1mr", missesL1DRead}, {"D1mw", missesL1DWrite}, {"ILmr", missesLLI}, {"DLmr", missesLLRead}, {"DLmw", missesLLWrite}} {
			list = append(list, cgEvent{e.name, "", func(c *costs) uint64 { return c.more[e.kind] }})
		}
	}
	if o.timed() {
		list = append(list, cgEvent{"Time", "Time [ns]", func(c *costs) uint64 { return c.time }})
	}
	return list
}

// values are a line's.
func (m *cgMaker) values(c *costs) string {
	c.time = nanoseconds(m.of, c.more[ticks])
	var out []byte
	for i := range m.events {
		if i > 0 {
			out = append(out, ' ')
		}
		out = strconv.AppendUint(out, m.events[i].of(c), 10)
	}
	return string(out)
}

// writeCallgrind writes one process.
func writeCallgrind(w io.Writer, o *Options) error {
	if err := o.need(abp.FlagInstructions, "instructions"); err != nil {
		return err
	}
	m := &cgMaker{out: bufio.NewWriter(w), sources: newSources(o), bodies: map[cgFunction]*cgBody{}, names: map[string]int{}, events: o.cgEvents()}
	defer m.sources.close()
	var total costs
	err := o.withStacks(func(s *threadStacks) error {
		s.each(func(n *calls.Node, _ uint64, b *abp.Block, ins int, c abp.Counts) {
			total.Add(c, 1)
			m.body(n.Func).at(b.InsAddr(ins)).Add(c, 1)
		})
		s.eachMore(func(n *calls.Node, _ uint64, b *abp.Block, ins int, c *moreCosts) {
			total.more.add(c)
			m.body(n.Func).at(b.InsAddr(ins)).more.add(c)
		})
		m.callsOf(s)
		return nil
	})
	if err != nil {
		return err
	}
	for _, p := range o.processes() {
		m.of = p
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
	fmt.Fprintf(m.out, "totals: %s\n", m.values(&total))
	return m.out.Flush()
}

// at returns the costs of an instruction by itself.
func (b *cgBody) at(addr uint64) *costs {
	c := b.own[addr]
	if c == nil {
		c = new(costs)
		b.own[addr] = c
	}
	return c
}

// callsOf adds the calls of a thread.
func (m *cgMaker) callsOf(s *threadStacks) {
	more := s.byNode() // and with what each called, below: children have higher numbers than their parents
	for i := len(s.nodes) - 1; i > 0; i-- {
		n := &s.nodes[i]
		sum, all := more[n.Parent], more[n]
		sum.add(&all)
		more[n.Parent] = sum
		if n.Func != nil && n.Parent.Func != nil {
			m.called(n, &costs{Counts: n.Total, more: all})
		}
	}
}

// body returns what is known of a function.
func (m *cgMaker) body(f *calls.Function) *cgBody {
	k := cgFunction{f.Name, f.ImagePath, f.Addr}
	b := m.bodies[k]
	if b == nil {
		b = &cgBody{cgFunction: k, linked: f.Linked, mapped: f.Mapped(), file: f.File, line: f.Line, own: map[uint64]*costs{}, calls: map[cgCall]*cgCost{}}
		m.bodies[k] = b
	}
	return b
}

// called adds the calls of a node, which cost so much.
func (m *cgMaker) called(n *calls.Node, total *costs) {
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
	cost.total.Add(total.Counts, 1)
	cost.total.more.add(&total.more)
}

// head writes what comes in front of the functions.
func (m *cgMaker) head(p *abp.Process, total *costs) {
	fmt.Fprintf(m.out, "# callgrind format\nversion: 1\ncreator: alleria\npid: %d\ncmd: %s\npart: 1\n\n",
		p.Header().PID, analysis.PrintableCommand(p.Header().CommandLine))
	fmt.Fprint(m.out, "positions: instr line\n")
	names := make([]string, len(m.events))
	for i, e := range m.events {
		names[i] = e.name
		if e.long != "" {
			fmt.Fprintf(m.out, "event: %s : %s\n", e.name, e.long)
		}
	}
	fmt.Fprintf(m.out, "events: %s\nsummary: %s\n", strings.Join(names, " "), m.values(total))
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
	fmt.Fprintf(m.out, "%s=(%d) %s\n", key, n, analysis.Printable(name))
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
		at, line := m.line(b, a)
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
		fmt.Fprintf(m.out, "%#x %d %s\n", a, line, m.values(b.own[a]))
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
		_, line := m.line(b, k.site)
		_, target := m.line(callee, callee.addr)
		m.name("cob", "ob", callee.image)
		m.name("cfi", "fl", m.file(callee))
		m.name("cfn", "fn", callee.name)
		fmt.Fprintf(m.out, "calls=%d %#x %d\n%#x %d %s\n", cost.calls, callee.addr, target, k.site, line, m.values(&cost.total))
	}
}

// file returns the source file of a function.
func (m *cgMaker) file(b *cgBody) string {
	if at, line := m.outermost(b, b.addr); line != 0 {
		return at
	}
	return b.file
}

// line returns the place in the source of an address in a function; line 0 is not known.
func (m *cgMaker) line(b *cgBody, addr uint64) (file string, line int) {
	f := m.sources.frames(b.mapped, addr, "", "")
	return f[0].File, f[0].Line
}

// outermost is line for the function that others were inlined into.
func (m *cgMaker) outermost(b *cgBody, addr uint64) (file string, line int) {
	f := m.sources.frames(b.mapped, addr, "", "")
	return f[len(f)-1].File, f[len(f)-1].Line
}
