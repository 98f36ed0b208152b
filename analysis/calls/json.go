package calls

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"alleria/abp"
	"alleria/analysis"
)

// The types below are the documented JSON of trees. Functions are numbered by their place in
// a list, since names need not be unique. Addresses are numbers, as in all JSON of ours that
// is not a dump.

// FunctionJSON is a Function.
type FunctionJSON struct {
	Name    string `json:"name"`
	Linked  string `json:"linked_name,omitempty"`
	Image   string `json:"image"`
	File    string `json:"file,omitempty"`
	Line    uint32 `json:"line,omitempty"`
	Address uint64 `json:"address,omitempty"`
}

// MethodJSON is a Method.
type MethodJSON struct {
	FunctionJSON
	Calls     uint64     `json:"calls"`
	Exclusive abp.Counts `json:"exclusive"`
	Inclusive abp.Counts `json:"inclusive"`
	timesJSON
	// Of estimates, see Method.
	Error          float64 `json:"error,omitempty"`
	InclusiveError float64 `json:"inclusive_error,omitempty"`
}

// timesJSON is there where blocks were stamped with their time.
type timesJSON struct {
	ExclusiveSeconds float64 `json:"exclusive_seconds,omitempty"`
	InclusiveSeconds float64 `json:"inclusive_seconds,omitempty"`
}

// EdgeJSON is an Edge. Caller is null where it is not known.
type EdgeJSON struct {
	Caller    *FunctionJSON `json:"caller"`
	Callee    *FunctionJSON `json:"callee"`
	Calls     uint64        `json:"calls"`
	Inclusive abp.Counts    `json:"inclusive"`
	Nested    abp.Counts    `json:"inclusive_each_call"`
	Seconds   float64       `json:"inclusive_seconds,omitempty"` // where blocks were stamped with their time
	Sites     []SiteJSON    `json:"sites"`
	Error     float64       `json:"error,omitempty"` // of Inclusive, where it is an estimate
}

// SiteJSON is a Site.
type SiteJSON struct {
	Address uint64 `json:"address"`
	Place   string `json:"place,omitempty"`
	Calls   uint64 `json:"calls"`
}

// TreeJSON is a tree: nodes refer to functions and to their parents by number, parents come
// before their children, and the root is left out (parent -1).
type TreeJSON struct {
	Process   uint32                   `json:"process"`
	Command   []string                 `json:"command"`
	Total     abp.Counts               `json:"total"`
	Sampling  *analysis.SamplingReport `json:"sampling,omitempty"` // where all counts are estimates
	Functions []FunctionJSON           `json:"functions"`
	Nodes     []NodeJSON               `json:"nodes"`
}

// NodeJSON is a Node.
type NodeJSON struct {
	Parent    int        `json:"parent"`
	Function  int        `json:"function"`
	Site      uint64     `json:"site,omitempty"`
	Place     string     `json:"place,omitempty"`
	Merged    bool       `json:"merged,omitempty"` // it is of several call sites
	Calls     uint64     `json:"calls"`
	Exclusive abp.Counts `json:"exclusive"`
	Inclusive abp.Counts `json:"inclusive"`
	timesJSON
}

// json gives a function its documented form.
func (f *Function) json() FunctionJSON {
	return FunctionJSON{Name: f.Name, Linked: f.Linked, Image: f.Image, File: f.File, Line: f.Line, Address: f.Addr}
}

// MethodsJSON is what analyze methods --json prints of a process.
type MethodsJSON struct {
	Process   uint32                   `json:"process"`
	Command   []string                 `json:"command"`
	Total     abp.Counts               `json:"total"`
	Sampling  *analysis.SamplingReport `json:"sampling,omitempty"` // where all counts are estimates
	Functions []MethodJSON             `json:"functions"`
}

// MethodsJSON gives the counts by function their documented form.
func (t *Tree) MethodsJSON() MethodsJSON {
	out := MethodsJSON{Process: t.Process, Command: t.Command, Total: t.Root.Total, Sampling: t.Sampling, Functions: []MethodJSON{}}
	for _, m := range t.Methods() {
		out.Functions = append(out.Functions, MethodJSON{m.Func.json(), m.Calls, m.Own, m.Total, timesJSON{m.OwnSeconds, m.TotalSeconds}, m.OwnError, m.TotalError})
	}
	return out
}

// GraphJSON is what analyze callgraph --json prints of a process.
type GraphJSON struct {
	Process   uint32                   `json:"process"`
	Command   []string                 `json:"command"`
	Total     abp.Counts               `json:"total"`
	Sampling  *analysis.SamplingReport `json:"sampling,omitempty"` // where all counts are estimates
	Functions []MethodJSON             `json:"functions"`
	Edges     []EdgeJSON               `json:"edges"`
}

// GraphJSON gives the call graph its documented form.
func (t *Tree) GraphJSON() GraphJSON {
	m := t.MethodsJSON()
	return GraphJSON{m.Process, m.Command, m.Total, m.Sampling, m.Functions, t.EdgesJSON(t.Edges())}
}

// EdgesJSON gives edges their documented form.
func (t *Tree) EdgesJSON(edges []*Edge) []EdgeJSON {
	out := []EdgeJSON{}
	for _, e := range edges {
		callee := e.Callee.json()
		j := EdgeJSON{Callee: &callee, Calls: e.Calls, Inclusive: e.Total, Nested: e.Nested, Seconds: e.Seconds, Sites: []SiteJSON{}, Error: e.Error}
		if e.Caller != nil {
			caller := e.Caller.json()
			j.Caller = &caller
		}
		for _, s := range e.Sites {
			j.Sites = append(j.Sites, SiteJSON{s.Addr, t.Place(s.Addr), s.Calls})
		}
		out = append(out, j)
	}
	return out
}

// TreeJSON gives the tree its documented form.
func (t *Tree) TreeJSON() TreeJSON {
	out, funcs := t.headJSON()
	out.Nodes = make([]NodeJSON, 0, t.Nodes)
	t.walk(func(n *Node) {
		n.number = len(out.Nodes)
		out.Nodes = append(out.Nodes, NodeJSON{n.parentNumber(), funcs[n.Func], n.Site, t.Place(n.Site), n.Merged, n.Calls, n.Own, n.Total, timesJSON{n.OwnSeconds, n.TotalSeconds}})
	}, func(*Node) {})
	return out
}

// headJSON is the tree's documented form without its nodes, and the numbers of its functions.
func (t *Tree) headJSON() (TreeJSON, map[*Function]int) {
	out := TreeJSON{Process: t.Process, Command: t.Command, Total: t.Root.Total, Sampling: t.Sampling, Functions: []FunctionJSON{}, Nodes: []NodeJSON{}}
	funcs := map[*Function]int{}
	t.walk(func(n *Node) {
		if _, ok := funcs[n.Func]; !ok {
			funcs[n.Func] = len(out.Functions)
			out.Functions = append(out.Functions, n.Func.json())
		}
	}, func(*Node) {})
	return out, funcs
}

// parentNumber is the number of the node that it is below, -1: the root.
func (n *Node) parentNumber() int {
	if n.Parent.Parent == nil {
		return -1
	}
	return n.Parent.number
}

// WriteJSON writes the tree's documented form, node by node: a compiler's tree has a million, and as one text in memory, which package json goes over three
// times on its way into a file, they took longer than the calls.
func (t *Tree) WriteJSON(w io.Writer) error {
	head, funcs := t.headJSON()
	text, err := json.Marshal(head)
	if err != nil {
		return fmt.Errorf("call tree: %w", err)
	}
	const end = "]}" // of the nodes, which are none, and of all
	text = text[:len(text)-len(end)]
	places := map[uint64][]byte{}
	number := 0
	t.walk(func(n *Node) {
		if err != nil {
			return
		}
		if number > 0 {
			text = append(text, ',')
		}
		n.number = number
		number++
		place, ok := places[n.Site]
		if !ok {
			place, _ = json.Marshal(t.Place(n.Site)) // of a string it cannot fail
			places[n.Site] = place
		}
		if text = n.appendJSON(text, funcs[n.Func], place); len(text) > 1<<16 {
			_, err = w.Write(text)
			text = text[:0]
		}
	}, func(*Node) {})
	if err == nil {
		_, err = w.Write(append(text, end...))
	}
	if err != nil {
		return fmt.Errorf("call tree: %w", err)
	}
	return nil
}

// appendJSON appends what NodeJSON is marshalled to; place is the place's JSON.
func (n *Node) appendJSON(b []byte, function int, place []byte) []byte {
	b = strconv.AppendInt(append(b, `{"parent":`...), int64(n.parentNumber()), 10)
	b = strconv.AppendInt(append(b, `,"function":`...), int64(function), 10)
	if n.Site != 0 {
		b = strconv.AppendUint(append(b, `,"site":`...), n.Site, 10)
	}
	if len(place) > len(`""`) {
		b = append(append(b, `,"place":`...), place...)
	}
	if n.Merged {
		b = append(b, `,"merged":true`...)
	}
	b = strconv.AppendUint(append(b, `,"calls":`...), n.Calls, 10)
	b = appendCounts(append(b, `,"exclusive":`...), &n.Own)
	b = appendCounts(append(b, `,"inclusive":`...), &n.Total)
	if n.OwnSeconds != 0 || n.TotalSeconds != 0 {
		times, _ := json.Marshal(timesJSON{n.OwnSeconds, n.TotalSeconds}) // of finite numbers it cannot fail
		b = append(append(b, ','), times[1:len(times)-1]...)
	}
	return append(b, '}')
}

// appendCounts appends what abp.Counts are marshalled to.
func appendCounts(b []byte, c *abp.Counts) []byte {
	b = strconv.AppendUint(append(b, `{"instructions":`...), c.Instructions, 10)
	b = strconv.AppendUint(append(b, `,"memory_instructions":`...), c.MemInstructions, 10)
	b = strconv.AppendUint(append(b, `,"loads":`...), c.Loads, 10)
	b = strconv.AppendUint(append(b, `,"stores":`...), c.Stores, 10)
	b = strconv.AppendUint(append(b, `,"bytes_read":`...), c.BytesRead, 10)
	b = strconv.AppendUint(append(b, `,"bytes_written":`...), c.BytesWritten, 10)
	return append(b, '}')
}

// MarshalJSON gives the tree its documented form.
func (t *Tree) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	err := t.WriteJSON(&b)
	return b.Bytes(), err
}

// errTree is what is wrong with a tree that was read.
var errTree = errors.New("not a tree of calls")

// UnmarshalJSON reads the documented form.
func (t *Tree) UnmarshalJSON(text []byte) error {
	var j TreeJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return fmt.Errorf("call tree: %w", err)
	}
	funcs := make([]*Function, len(j.Functions))
	for i := range j.Functions {
		f := &j.Functions[i]
		funcs[i] = &Function{number: int32(i), Name: f.Name, Linked: f.Linked, Image: f.Image, File: f.File, Line: f.Line, Addr: f.Address}
	}
	made := make([]Node, len(j.Nodes)+1)
	places := map[uint64]string{}
	*t = Tree{Process: j.Process, Command: j.Command, Root: &made[0], Nodes: len(j.Nodes), place: func(a uint64) string { return places[a] }}
	depth := make([]int, len(made))
	for i := range j.Nodes {
		n := &j.Nodes[i]
		if n.Parent < -1 || n.Parent >= i || n.Function < 0 || n.Function >= len(funcs) {
			return fmt.Errorf("call tree: node %d: %w", i, errTree)
		}
		parent := &made[n.Parent+1]
		made[i+1] = Node{Func: funcs[n.Function], Site: n.Site, Merged: n.Merged, Calls: n.Calls, Own: n.Exclusive, Total: n.Inclusive, OwnSeconds: n.ExclusiveSeconds, TotalSeconds: n.InclusiveSeconds, Parent: parent}
		parent.Children = append(parent.Children, &made[i+1])
		depth[i+1] = depth[n.Parent+1] + 1
		if depth[i+1] > MaxDepth+1 {
			return fmt.Errorf("call tree: node %d is too deep: %w", i, errTree)
		}
		t.Deepest = max(t.Deepest, depth[i+1])
		places[n.Site] = n.Place
		if n.Merged {
			t.Merged++
		}
	}
	t.Root.Total, t.Sampling = j.Total, j.Sampling
	for _, c := range t.Root.Children {
		t.Root.TotalSeconds += c.TotalSeconds
	}
	return nil
}

// WriteText writes the counts by function.
func (t *Tree) WriteText(w io.Writer, top int) error { return t.WriteMethods(w, TextOptions{Top: top}) }
