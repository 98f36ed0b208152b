package convert

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"alleria/abp"
	"alleria/analysis/calls"
)

// firefoxFormat is the processed profile of profiler.firefox.com.
func firefoxFormat() *Format {
	return &Format{
		Name: "firefox", Ending: ".json", Summary: "processed profile for profiler.firefox.com: instructions, or another cost, by stack, a track a thread", one: true,
		Needs: "as collapsed",
		write: writeFirefox,
	}
}

// The tables of a processed profile, version 49. Columns are arrays of equal length, and
// indices into other tables.
type (
	ffThread struct {
		ProcessType         string     `json:"processType"`
		ProcessStartupTime  float64    `json:"processStartupTime"`
		ProcessShutdownTime *float64   `json:"processShutdownTime"`
		RegisterTime        float64    `json:"registerTime"`
		UnregisterTime      *float64   `json:"unregisterTime"`
		PausedRanges        []int      `json:"pausedRanges"`
		Name                string     `json:"name"`
		IsMainThread        bool       `json:"isMainThread"`
		ProcessName         string     `json:"processName"`
		PID                 string     `json:"pid"`
		TID                 uint32     `json:"tid"`
		Samples             ffSamples  `json:"samples"`
		Markers             ffMarkers  `json:"markers"`
		StackTable          ffStacks   `json:"stackTable"`
		FrameTable          ffFrames   `json:"frameTable"`
		FuncTable           ffFuncs    `json:"funcTable"`
		ResourceTable       ffResource `json:"resourceTable"`
		NativeSymbols       ffSymbols  `json:"nativeSymbols"`
		StringArray         []string   `json:"stringArray"`
	}
	ffSamples struct {
		Length     int       `json:"length"`
		Stack      []int     `json:"stack"`
		Time       []float64 `json:"time"`
		Weight     []float64 `json:"weight"`
		WeightType string    `json:"weightType"`
	}
	ffMarkers struct {
		Length    int       `json:"length"`
		Category  []int     `json:"category"`
		Data      []int     `json:"data"`
		EndTime   []float64 `json:"endTime"`
		Name      []int     `json:"name"`
		Phase     []int     `json:"phase"`
		StartTime []float64 `json:"startTime"`
	}
	ffStacks struct {
		Length      int    `json:"length"`
		Prefix      []*int `json:"prefix"`
		Frame       []int  `json:"frame"`
		Category    []int  `json:"category"`
		Subcategory []int  `json:"subcategory"`
	}
	ffFrames struct {
		Length         int    `json:"length"`
		Address        []int  `json:"address"`
		InlineDepth    []int  `json:"inlineDepth"`
		Category       []int  `json:"category"`
		Subcategory    []int  `json:"subcategory"`
		Func           []int  `json:"func"`
		NativeSymbol   []*int `json:"nativeSymbol"`
		InnerWindowID  []*int `json:"innerWindowID"`
		Implementation []*int `json:"implementation"`
		Line           []*int `json:"line"`
		Column         []*int `json:"column"`
	}
	ffFuncs struct {
		Length        int    `json:"length"`
		Name          []int  `json:"name"`
		IsJS          []bool `json:"isJS"`
		RelevantForJS []bool `json:"relevantForJS"`
		Resource      []int  `json:"resource"`
		FileName      []*int `json:"fileName"`
		LineNumber    []*int `json:"lineNumber"`
		ColumnNumber  []*int `json:"columnNumber"`
	}
	ffResource struct {
		Length int    `json:"length"`
		Lib    []*int `json:"lib"`
		Name   []int  `json:"name"`
		Host   []*int `json:"host"`
		Type   []int  `json:"type"`
	}
	ffSymbols struct {
		Length       int    `json:"length"`
		Address      []int  `json:"address"`
		FunctionSize []*int `json:"functionSize"`
		LibIndex     []int  `json:"libIndex"`
		Name         []int  `json:"name"`
	}
)

// ffMeta is what the page wants to know of the whole. Times are of instructions, or whatever the
// cost is: a millisecond is a million, which is right of nanoseconds.
const ffMeta = `{"meta":{"version":24,"preprocessedProfileVersion":49,"interval":1,"startTime":0,"processType":0,"product":%s,` +
	`"importedFrom":"alleria","stackwalk":1,"debug":0,"gcpoison":0,"asyncstack":0,"symbolicated":true,"markerSchema":[],` +
	`"categories":[{"name":"Other","color":"grey","subcategories":["Other"]}]},"libs":[],"pages":[],"threads":[`

// writeFirefox writes a thread after the other.
func writeFirefox(w io.Writer, o *Options) error {
	if err := o.need(abp.FlagInstructions, "instructions"); err != nil {
		return err
	}
	c, err := o.oneCost()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, ffMeta, appendString(nil, o.title()))
	first := true
	err = o.eachTree(c, func(p *abp.Process, t *abp.Thread, root *calls.Node, own func(n *calls.Node) uint64) error {
		b, err := json.Marshal(firefoxThread(p, t, root, &c, own))
		if err != nil {
			return err
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		_, err = out.Write(b)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprint(out, "]}\n")
	return out.Flush()
}

// title is the command of the first process.
func (o *Options) title() string {
	for _, p := range o.processes() {
		return processName(p)
	}
	return ""
}

// firefoxThread makes the tables of a thread.
func firefoxThread(p *abp.Process, t *abp.Thread, root *calls.Node, c *cost, own func(n *calls.Node) uint64) *ffThread {
	m := &ffMaker{own: own, scale: 1, t: &ffThread{ProcessType: "default", PausedRanges: []int{}, Name: fmt.Sprintf("thread %d", t.Number),
		IsMainThread: t.Number == 1, ProcessName: processName(p), PID: fmt.Sprint(p.Header().PID), TID: t.OSID,
		Samples:    ffSamples{Stack: []int{}, Time: []float64{}, Weight: []float64{}, WeightType: "samples"},
		Markers:    ffMarkers{0, []int{}, []int{}, []float64{}, []int{}, []int{}, []float64{}},
		StackTable: ffStacks{0, []*int{}, []int{}, []int{}, []int{}}, ResourceTable: ffResource{0, []*int{}, []int{}, []*int{}, []int{}},
		NativeSymbols: ffSymbols{0, []int{}, []*int{}, []int{}, []int{}}, StringArray: []string{}},
		strings: map[string]int{}, funcs: map[*calls.Function]int{}, images: map[string]int{}}
	switch c.unit {
	case "bytes":
		m.t.Samples.WeightType = "bytes"
	case "nanoseconds":
		m.t.Samples.WeightType, m.scale = "tracing-ms", 1e6
	}
	m.walk(root, nil)
	return m.t
}

// ffMaker fills the tables of a thread.
type ffMaker struct {
	t       *ffThread
	strings map[string]int
	funcs   map[*calls.Function]int
	images  map[string]int
	own     func(n *calls.Node) uint64
	scale   float64 // what weights are divided by
	done    uint64  // of the cost
}

// walk adds the stacks of a node's children and a sample for each that has a cost of its own.
func (m *ffMaker) walk(n *calls.Node, prefix *int) {
	for _, c := range n.Children {
		s := &m.t.StackTable
		at := s.Length
		s.Length++
		s.Prefix, s.Frame = append(s.Prefix, prefix), append(s.Frame, m.function(c.Func))
		s.Category, s.Subcategory = append(s.Category, 0), append(s.Subcategory, 0)
		if cost := m.own(c); cost > 0 {
			sm := &m.t.Samples
			sm.Length++
			sm.Stack, sm.Weight = append(sm.Stack, at), append(sm.Weight, float64(cost)/m.scale)
			sm.Time = append(sm.Time, float64(m.done)/1e6)
			m.done += cost
		}
		m.walk(c, &at)
	}
}

// text returns the number of a string.
func (m *ffMaker) text(s string) int {
	n, ok := m.strings[s]
	if !ok {
		n = len(m.t.StringArray)
		m.strings[s], m.t.StringArray = n, append(m.t.StringArray, s)
	}
	return n
}

// function returns the number of a function and of its one frame.
func (m *ffMaker) function(fn *calls.Function) int {
	if n, ok := m.funcs[fn]; ok {
		return n
	}
	f, r := &m.t.FuncTable, &m.t.ResourceTable
	image, ok := m.images[fn.Image]
	if !ok {
		image = r.Length
		m.images[fn.Image] = image
		r.Length++
		r.Lib, r.Name, r.Host, r.Type = append(r.Lib, nil), append(r.Name, m.text(fn.Image)), append(r.Host, nil), append(r.Type, 1)
	}
	n := f.Length
	m.funcs[fn] = n
	f.Length++
	var file, line *int
	if fn.File != "" {
		name, at := m.text(fn.File), int(fn.Line)
		file, line = &name, &at
	}
	f.Name, f.IsJS, f.RelevantForJS = append(f.Name, m.text(fn.Name)), append(f.IsJS, false), append(f.RelevantForJS, false)
	f.Resource, f.FileName = append(f.Resource, image), append(f.FileName, file)
	f.LineNumber, f.ColumnNumber = append(f.LineNumber, line), append(f.ColumnNumber, nil)
	fr := &m.t.FrameTable
	fr.Length++
	fr.Address, fr.InlineDepth = append(fr.Address, -1), append(fr.InlineDepth, 0)
	fr.Category, fr.Subcategory = append(fr.Category, 0), append(fr.Subcategory, 0)
	fr.Func, fr.NativeSymbol = append(fr.Func, n), append(fr.NativeSymbol, nil)
	fr.InnerWindowID, fr.Implementation = append(fr.InnerWindowID, nil), append(fr.Implementation, nil)
	fr.Line, fr.Column = append(fr.Line, line), append(fr.Column, nil)
	return n
}
