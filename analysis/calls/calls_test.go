package calls

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/synthetic"
)

// openDemo opens the synthetic run.
func openDemo(t *testing.T) *abp.Profile {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := synthetic.Write(dir); err != nil {
		t.Fatal(err)
	}
	p, err := abp.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// TestSumsAreTheReports: exclusive counts by function are those of the report, with any number of processors.
func TestSumsAreTheReports(t *testing.T) {
	p := openDemo(t)
	r, err := analysis.Summarise([]*abp.Profile{p}, abp.Query{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Build(p, p.Process(1), Query{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tree.Root.Total != r.Processes[0].Counts {
		t.Errorf("tree has %+v, report %+v", tree.Root.Total, r.Processes[0].Counts)
	}
	own := map[string]abp.Counts{}
	for _, m := range tree.Methods() {
		c := own[m.Func.Name+"@"+m.Func.Image]
		c.Add(m.Own, 1)
		own[m.Func.Name+"@"+m.Func.Image] = c
	}
	for _, f := range r.Processes[0].Functions {
		if got := own[f.Name+"@"+f.Image]; got != f.Counts {
			t.Errorf("%s: %+v, report %+v", f.Name, got, f.Counts)
		}
	}
	one, err := Build(p, p.Process(1), Query{Threads: []uint32{2}}, nil)
	if err != nil || one.Root.Total != r.Processes[0].PerThread[1].Counts {
		t.Errorf("thread 2: %+v %v", one.Root.Total, err)
	}
	var out bytes.Buffer
	for _, write := range []func() error{
		func() error { return tree.WriteMethods(&out, TextOptions{}) },
		func() error { return tree.WriteGraph(&out, TextOptions{}) },
		func() error { return tree.WriteTree(&out, TextOptions{}) },
	} {
		out.Reset()
		if err := write(); err != nil || !bytes.Contains(out.Bytes(), []byte("demo::work")) {
			t.Errorf("%v\n%s", err, out.String())
		}
	}
}

// testTracker has three functions of 100 bytes each, from 1000, 2000 and 3000 on, without a
// profile.
func testTracker() (*Tracker, *planner) {
	pl := &planner{}
	for i := range int32(3) {
		pl.add(&Function{Name: string('a' + i), Addr: uint64(1000 * (i + 1)), match: i})
	}
	return newTracker(pl, MostSites), pl
}

// path is the names of the functions that have not returned.
func (t *Tracker) path() (s string) {
	for _, f := range t.frames {
		s += t.pl.funcs[f.fn].Name
	}
	return s
}

// testCall and testReturn are a call and a return, up to the next instruction.
func (t *Tracker) testCall(slot, ret, addr uint64, fn int32) {
	t.pend = pending{op: opCall, ret: ret, slot: slot}
	t.arrive(addr, fn)
}

func (t *Tracker) testReturn(slot, addr uint64, fn int32) {
	t.pend = pending{op: opRet, slot: slot}
	t.arrive(addr, fn)
}

// TestStack goes through what stacks do, with stack addresses and without.
func TestStack(t *testing.T) {
	for _, slots := range []bool{true, false} {
		tr, _ := testTracker()
		at := func(n uint64) uint64 {
			if slots {
				return 1<<40 + n
			}
			return 0
		}
		step := func(want string) {
			t.Helper()
			if got := tr.path(); got != want {
				t.Fatalf("with slots %v: %q, want %q", slots, got, want)
			}
		}
		tr.arrive(1010, 0) // in the middle of a, whose caller is not known
		step("a")
		tr.testCall(at(800), 1020, 2000, 1)
		step("ab")
		tr.testCall(at(700), 2020, 3000, 2)
		step("abc")
		tr.testReturn(at(700), 2020, 1)
		step("ab")
		tr.arrive(3000, 2) // a tail call of c
		step("abc")
		tr.testReturn(at(800), 1020, 0)
		step("a")
		tr.testCall(at(800), 1030, 2000, 1)
		tr.testCall(at(700), 2030, 2000, 1)
		tr.testCall(at(600), 2030, 3000, 2)
		step("abbc")
		tr.arrive(1040, 0) // longjmp
		step("a")
		tr.testCall(at(800), 1030, 2000, 1)
		tr.testCall(at(700), 2030, 3000, 2)
		tr.testReturn(at(800), 1030, 0) // of an unwinder, beyond c
		step("a")
		tr.arrive(3000, 2) // a signal's handler
		step("ac")
		tr.testReturn(at(300), 1050, 0)
		step("a")
		if slots {
			// Another stack, and back, and there again.
			tr.testCall(at(800), 1060, 2000, 1)
			tr.testReturn(at(1<<30), 3000, 2)
			step("abc")
			tr.testCall(at(1<<30-100), 3020, 2000, 1)
			tr.testCall(at(1<<30-200), 2020, 3000, 2)
			step("abcbc")
			tr.testReturn(at(800), 1060, 0)
			step("a")
			tr.testCall(at(800), 1070, 2000, 1)
			tr.testReturn(at(1<<30-200), 2020, 1)
			step("abcb")
			tr.testReturn(at(800), 1070, 0)
			// An exception through a recursion, to a landing pad: only the slot says how far.
			for i := range uint64(3) {
				tr.testCall(at(800-100*i), 2030, 2000, 1)
			}
			tr.testCall(at(500), 2030, 3000, 2)
			step("abbbc")
			tr.testReturn(at(700), 2055, 1)
			step("ab")
		}
	}
}

// TestDeep: a recursion without end does not make a tree without end.
func TestDeep(t *testing.T) {
	tr, _ := testTracker()
	tr.arrive(1010, 0)
	for i := range uint64(3 * MaxDepth) {
		tr.testCall(1<<40-16*i, 1050, 1000, 0)
	}
	if n := len(tr.nodes.all); n > MaxDepth+2 {
		t.Errorf("%d nodes", n)
	}
	var calls uint64
	for i := range tr.nodes.all {
		calls += tr.nodes.all[i].calls
	}
	if calls != 3*MaxDepth {
		t.Errorf("%d calls", calls)
	}
}

// TestClassify has encodings, with what objdump calls them.
func TestClassify(t *testing.T) {
	for _, c := range []struct {
		code string
		want op
	}{
		{"\xe8\x00\x00\x00\x00", opCall}, {"\xff\xd0", opCall}, {"\x41\xff\xd4", opCall}, {"\xff\x15\x00\x00\x00\x00", opCall},
		{"\xf2\xe8\x00\x00\x00\x00", opCall}, {"\x3e\xff\xd0", opCall}, {"\xc3", opRet}, {"\xf3\xc3", opRet}, {"\xc2\x08\x00", opRet},
		{"\xe9\x00\x00\x00\x00", opJump}, {"\xeb\x00", opJump}, {"\xff\xe0", opJump}, {"\xf2\xff\x25\x00\x00\x00\x00", opJump},
		{"\xff\x30", opNone}, {"\xff\x00", opNone}, {"\x74\x00", opNone}, {"\x0f\x05", opNone}, {"\x90", opNone}, {"", opNone}, {"\x66", opNone},
	} {
		if got := classify([]byte(c.code)); got != c.want {
			t.Errorf("%x: %d, want %d", c.code, got, c.want)
		}
	}
}

// TestWriteJSON: a tree that is written node by node is what package json makes of its documented form, and comes back from it.
func TestWriteJSON(t *testing.T) {
	fn := func(name string) *Function { return &Function{Name: name, Image: "a\"b", Addr: 7} }
	f, g := fn("f<int>"), fn("g")
	tree := &Tree{Process: 3, Command: []string{"x", "y"}, Root: &Node{}, place: func(a uint64) string { return map[uint64]string{5: "main+0x5 <é>\n"}[a] }}
	add := func(parent *Node, n Node) *Node {
		n.Parent = parent
		parent.Children = append(parent.Children, &n)
		tree.Nodes++
		return &n
	}
	counts := abp.Counts{Instructions: 1, MemInstructions: 2, Loads: 3, Stores: 1<<64 - 1, BytesRead: 5, BytesWritten: 6}
	a := add(tree.Root, Node{Func: f, Own: counts, Total: counts, OwnSeconds: 0.25, TotalSeconds: 1e-9})
	b := add(a, Node{Func: g, Site: 5, Calls: 9, Total: counts})
	add(b, Node{Func: f, Site: 6, Calls: 1, TotalSeconds: 3})
	add(tree.Root, Node{Func: g, Site: 5})
	for n := range 2000 { // more than is written at a time
		add(a, Node{Func: f, Site: uint64(n), Calls: uint64(n)})
	}
	var got bytes.Buffer
	want, err := json.Marshal(tree.TreeJSON())
	if err := errors.Join(err, tree.WriteJSON(&got)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) || got.Len() < 1<<16 {
		t.Errorf("%.900s\nwant %.900s", got.Bytes(), want)
	}
	var back Tree
	if err := json.Unmarshal(got.Bytes(), &back); err != nil || back.Nodes != tree.Nodes || back.Root.Children[0].Children[0].Children[0].TotalSeconds != 3 {
		t.Errorf("read %+v: %v", back, err)
	}
	empty := &Tree{Root: &Node{}}
	got.Reset()
	if want, err = json.Marshal(empty.TreeJSON()); err != nil || empty.WriteJSON(&got) != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s, want %s", got.Bytes(), want)
	}
}
