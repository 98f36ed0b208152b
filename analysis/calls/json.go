package calls

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

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
	out := TreeJSON{Process: t.Process, Command: t.Command, Total: t.Root.Total, Sampling: t.Sampling, Functions: []FunctionJSON{}, Nodes: []NodeJSON{}}
	funcs := map[*Function]int{}
	numbers := map[*Node]int{t.Root: -1}
	t.walk(func(n *Node) {
		f, ok := funcs[n.Func]
		if !ok {
			f = len(out.Functions)
			funcs[n.Func] = f
			out.Functions = append(out.Functions, n.Func.json())
		}
		numbers[n] = len(out.Nodes)
		out.Nodes = append(out.Nodes, NodeJSON{numbers[n.Parent], f, n.Site, t.Place(n.Site), n.Calls, n.Own, n.Total, timesJSON{n.OwnSeconds, n.TotalSeconds}})
	}, func(*Node) {})
	return out
}

// MarshalJSON gives the tree its documented form.
func (t *Tree) MarshalJSON() ([]byte, error) { return json.Marshal(t.TreeJSON()) }

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
		made[i+1] = Node{Func: funcs[n.Function], Site: n.Site, Calls: n.Calls, Own: n.Exclusive, Total: n.Inclusive, OwnSeconds: n.ExclusiveSeconds, TotalSeconds: n.InclusiveSeconds, Parent: parent}
		parent.Children = append(parent.Children, &made[i+1])
		depth[i+1] = depth[n.Parent+1] + 1
		if depth[i+1] > MaxDepth+1 {
			return fmt.Errorf("call tree: node %d is too deep: %w", i, errTree)
		}
		t.Deepest = max(t.Deepest, depth[i+1])
		places[n.Site] = n.Place
	}
	t.Root.Total, t.Sampling = j.Total, j.Sampling
	for _, c := range t.Root.Children {
		t.Root.TotalSeconds += c.TotalSeconds
	}
	return nil
}

// WriteText writes the counts by function.
func (t *Tree) WriteText(w io.Writer, top int) error { return t.WriteMethods(w, TextOptions{Top: top}) }
