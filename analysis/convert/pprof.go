package convert

import (
	"cmp"
	"encoding/hex"
	"io"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"alleria/abp"
	"alleria/analysis/calls"
	"alleria/internal/symbols"
)

// pprofFormat is the protocol buffer of google/pprof, compressed.
func pprofFormat() *Format {
	return &Format{
		Name: "pprof", Ending: ".pb.gz", Binary: true, Packed: true,
		Summary: "for go tool pprof: instructions, loads, stores, bytes, calls and time, with call stacks, inlined functions and source lines", all: true,
		Needs: "instructions (--select any for all of them), addresses for right stacks, debug information for lines",
		write: writePprof,
	}
}

// pprofMaker puts a profile together.
type pprofMaker struct {
	out       *profile.Profile
	sources   *sources
	mappings  map[*abp.Image]*profile.Mapping
	functions map[profile.Function]*profile.Function
	locations map[pprofPlace]*profile.Location
	samples   map[pprofSample]*profile.Sample
	stacks    map[*calls.Node][]*profile.Location // of the callers of a node
	costs     []cost                              // the values of a sample
}

// pprofPlace is an address in a function of a process.
type pprofPlace struct {
	proc     *abp.Process
	image    *abp.Image // another one's may have lain at the address before
	addr     uint64
	function string
}

// pprofSample is what has one sample.
type pprofSample struct {
	node    *calls.Node
	windows uint64
	place   *profile.Location
}

// writePprof has a sample for each instruction in the context of its callers, thread and
// windows.
func writePprof(w io.Writer, o *Options) error {
	if err := o.need(abp.FlagInstructions, "instructions"); err != nil {
		return err
	}
	m := &pprofMaker{out: &profile.Profile{DefaultSampleType: "instructions"}, sources: newSources(o),
		mappings: map[*abp.Image]*profile.Mapping{}, functions: map[profile.Function]*profile.Function{}, locations: map[pprofPlace]*profile.Location{}}
	defer m.sources.close()
	m.costs = o.columns()
	for _, c := range m.costs {
		m.out.SampleType = append(m.out.SampleType, &profile.ValueType{Type: c.name, Unit: c.unit})
	}
	for i, p := range o.processes() {
		h := p.Header()
		m.out.Comments = append(m.out.Comments, strings.Join(h.CommandLine, " "))
		if i == 0 && !h.Started.IsZero() {
			m.out.TimeNanos = h.Started.UnixNano()
			if h.Ended.After(h.Started) {
				m.out.DurationNanos = int64(h.Ended.Sub(h.Started))
			}
		}
		m.addMappings(p)
	}
	if err := o.withStacks(func(s *threadStacks) error { m.thread(s); return nil }); err != nil {
		return err
	}
	if err := m.out.CheckValid(); err != nil {
		return err
	}
	return m.out.Write(w)
}

// addMappings adds the images of a process. Only a mapping per image: pprof wants them not to
// overlap, and tells images apart by their build-ids.
func (m *pprofMaker) addMappings(p *abp.Process) {
	images := make([]*abp.Image, 0, len(p.Images()))
	for i := range p.Images() {
		images = append(images, &p.Images()[i])
	}
	// The first mapping is what pprof takes for the program.
	slices.SortStableFunc(images, func(a, b *abp.Image) int { return cmp.Compare(b2i(b.Main), b2i(a.Main)) })
	for _, img := range images {
		for _, s := range img.Segments {
			if s.Prot&4 == 0 { // PROT_EXEC
				continue
			}
			mp := &profile.Mapping{ID: uint64(len(m.out.Mapping) + 1), Start: s.Start, Limit: s.End, Offset: s.Offset,
				File: img.Path, BuildID: hex.EncodeToString(img.BuildID), HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
			m.out.Mapping = append(m.out.Mapping, mp)
			if m.mappings[img] == nil {
				m.mappings[img] = mp
			}
		}
	}
}

// b2i makes booleans comparable.
func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// thread adds what was counted of a thread.
func (m *pprofMaker) thread(s *threadStacks) {
	m.samples, m.stacks = map[pprofSample]*profile.Sample{}, map[*calls.Node][]*profile.Location{}
	s.each(func(node *calls.Node, windows uint64, b *abp.Block, ins int, c abp.Counts) {
		m.add(m.sample(s, node, windows, b.InsAddr(ins)), &costs{Counts: c})
	})
	s.eachMore(func(node *calls.Node, windows uint64, b *abp.Block, ins int, more *moreCosts) {
		m.add(m.sample(s, node, windows, b.InsAddr(ins)), &costs{more: *more, time: nanoseconds(s.proc, more[ticks])})
	})
	for i := range s.nodes {
		if n := &s.nodes[i]; n.Calls > 0 && n.Func != nil {
			m.add(m.sample(s, n, 0, n.Func.Addr), &costs{calls: n.Calls})
		}
	}
}

// add adds costs to a sample.
func (m *pprofMaker) add(s *profile.Sample, c *costs) {
	for i := range m.costs {
		s.Value[i] += int64(m.costs[i].of(c))
	}
}

// sample returns the sample of an instruction, made if it is new.
func (m *pprofMaker) sample(s *threadStacks, node *calls.Node, windows, addr uint64) *profile.Sample {
	k := pprofSample{node, windows, m.location(s.proc, node.Func, addr)}
	if found := m.samples[k]; found != nil {
		return found
	}
	out := &profile.Sample{Value: make([]int64, len(m.costs)), Label: map[string][]string{},
		NumLabel: map[string][]int64{"process": {int64(s.proc.Number())}, "thread": {int64(s.thread.Number)}}}
	if names := windowNames(s.proc, windows); len(names) > 0 {
		out.Label["window"] = names
	}
	out.Location = append([]*profile.Location{k.place}, m.callers(s.proc, node)...)
	m.samples[k] = out
	m.out.Sample = append(m.out.Sample, out)
	return out
}

// callers returns where a node was called from, the nearest first.
func (m *pprofMaker) callers(p *abp.Process, n *calls.Node) []*profile.Location {
	if n.Parent == nil || n.Parent.Func == nil {
		if len(p.Strata()) == 0 {
			return nil
		}
		return []*profile.Location{m.unknown()}
	}
	if l, ok := m.stacks[n]; ok {
		return l
	}
	site := n.Site
	if site == 0 { // a jump or a signal: nothing says from where
		site = n.Parent.Func.Addr
	}
	l := append([]*profile.Location{m.location(p, n.Parent.Func, site)}, m.callers(p, n.Parent)...)
	m.stacks[n] = l
	return l
}

// unknown is the place of callers that are not known, since only bursts were recorded.
func (m *pprofMaker) unknown() *profile.Location {
	k := pprofPlace{function: calls.UnknownCaller}
	if found := m.locations[k]; found != nil {
		return found
	}
	l := &profile.Location{ID: uint64(len(m.out.Location) + 1), Line: []profile.Line{{Function: m.function(k.function, symbols.Frame{Function: k.function})}}}
	m.locations[k] = l
	m.out.Location = append(m.out.Location, l)
	return l
}

// location returns the location of an address, made if it is new.
func (m *pprofMaker) location(p *abp.Process, f *calls.Function, addr uint64) *profile.Location {
	img := f.Mapped()
	k := pprofPlace{p, img, addr, f.Name}
	if found := m.locations[k]; found != nil {
		return found
	}
	l := &profile.Location{ID: uint64(len(m.out.Location) + 1), Address: addr, Mapping: m.mappings[img]}
	frames := m.sources.frames(img, addr, f.Name, f.Linked)
	for i, fr := range frames {
		name := symbols.Demangle(fr.Function)
		if i == len(frames)-1 {
			name = f.Name
			if fr.File == "" {
				fr.File, fr.Line = f.File, int(f.Line)
			}
		}
		l.Line = append(l.Line, profile.Line{Function: m.function(name, fr), Line: int64(fr.Line)})
	}
	m.locations[k] = l
	m.out.Location = append(m.out.Location, l)
	return l
}

// function returns the function of a frame, made if it is new.
func (m *pprofMaker) function(name string, fr symbols.Frame) *profile.Function {
	k := profile.Function{Name: name, SystemName: fr.Function, Filename: fr.File}
	if found := m.functions[k]; found != nil {
		return found
	}
	f := k
	f.ID = uint64(len(m.out.Function) + 1)
	m.functions[k] = &f
	m.out.Function = append(m.out.Function, &f)
	return &f
}
