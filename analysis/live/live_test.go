package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"alleria/abp"
	"alleria/analysis/cache"
	"alleria/analysis/calls"
	"alleria/analysis/paths"
	"alleria/analysis/reuse"
	"alleria/analysis/stream"
	"alleria/analysis/strides"
	"alleria/analysis/synthetic"
)

// recorded is the tables of a recorded process, as if they grew.
type recorded struct{ p *abp.Process }

func (r recorded) Block(id uint32) *abp.Block         { return r.p.Block(id) }
func (r recorded) Image(n uint32) *abp.Image          { return r.p.Image(n) }
func (r recorded) Function(n uint32) *abp.Function    { return r.p.Function(n) }
func (r recorded) Images(from int) []*abp.Image       { return pointers(r.p.Images())[from:] }
func (r recorded) Snapshots() []abp.Snapshot          { return r.p.Snapshots() }
func (r recorded) Functions(from int) []*abp.Function { return pointers(r.p.Functions())[from:] }

func pointers[T any](rows []T) (out []*T) {
	for i := range rows {
		out = append(out, &rows[i])
	}
	return out
}

// replay hands a thread's records to a Thread as its ring would hold them.
type replay struct {
	t     *testing.T
	to    *Thread
	state abp.Exec
}

func (r *replay) marks(x *abp.Exec) (words []uint64) {
	if x.FSBase != r.state.FSBase {
		words = append(words, abp.Mark(abp.MarkFS, 0), x.FSBase)
	}
	if x.GSBase != r.state.GSBase {
		words = append(words, abp.Mark(abp.MarkGS, 0), x.GSBase)
	}
	if x.Windows != r.state.Windows {
		words = append(words, abp.Mark(abp.MarkWindows, x.Windows), 1)
	}
	r.state = *x
	return words
}

func (r *replay) consume(words []uint64) {
	if err := r.to.Consume(words, 0); err != nil {
		r.t.Error(err)
	}
}

func (r *replay) Stretch(x *abp.Exec, words []uint64) { r.consume(append(r.marks(x), words...)) }

func (r *replay) Single(x *abp.Exec) {
	words := r.marks(x)
	if x.IsEmulated {
		words = append(words, abp.Mark(abp.MarkEmulated, uint64(x.Block.ID)), uint64(len(x.Emulated)/2))
		r.consume(append(words, x.Emulated...))
		return
	}
	words = append(words, abp.Mark(abp.MarkCut, uint64(x.Completed)), uint64(x.Block.ID))
	r.consume(append(words, x.Words...))
}

// open writes a made-up profile and opens it.
func open(t testing.TB, executions int) (*abp.Profile, *abp.Process) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	var err error
	if executions > 0 {
		err = synthetic.WriteLarge(dir, executions)
	} else {
		err = synthetic.Write(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	if executions > 0 {
		dir = filepath.Join(dir, "p1")
	}
	p, err := abp.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p, p.Processes()[0]
}

// play has a profile's records analysed as if they came from rings.
func play(t *testing.T, p *abp.Profile, proc *abp.Process, live *Process) {
	t.Helper()
	for i := range proc.Threads() {
		th := live.Thread(proc.Threads()[i].Number)
		if err := stream.Thread(p, proc, &proc.Threads()[i], nil, &replay{t: t, to: th}); err != nil {
			t.Fatal(err)
		}
		if got := th.Counts(); got != proc.Threads()[i].Counts {
			t.Errorf("thread %d: %+v, the profile %+v", th.number, got, proc.Threads()[i].Counts)
		}
		live.End(th, 1)
	}
}

// TestEqualsProfiles: from a ring comes what comes from the profile, and it survives being written and read.
func TestEqualsProfiles(t *testing.T) {
	for _, executions := range []int{0, 50_000} {
		p, proc := open(t, executions)
		specs, err := Parse("methods,callgraph,paths,cache(dtlb=64,4,4k;l2=256k,8,64),reuse(line=128),strides,heatmap")
		if err != nil {
			t.Fatal(err)
		}
		live := NewProcess(abp.Growing(*proc.Header(), recorded{proc}), specs)
		play(t, p, proc, live)
		tree, err := calls.Build(p, proc, calls.Query{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		o, _ := cache.ParseOptions(func(name string) string {
			return map[string]string{"dtlb": "64,4,4k", "l2": "256k,8,64"}[name]
		})
		misses, err := cache.Simulate(p, proc, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		far, err := reuse.Count(p, proc, reuse.Options{Line: 128}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ways, err := paths.Count(p, proc, calls.Query{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		walks, err := strides.Count(p, proc, nil, stream.Part{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"strides": walks, KindCalls: tree, "cache": misses, "reuse": far, "paths": ways}
		all := live.Finish()
		if len(all) != 6 {
			t.Errorf("%d outcomes: two views of calls are one analysis", len(all))
		}
		for i := range all {
			o := &all[i]
			if o.Err != nil {
				t.Errorf("%s: %v", o.Spec.Name, o.Err)
				continue
			}
			dir := t.TempDir()
			if err := Write(dir, o, &Sampling{Bursts: 3}); err != nil {
				t.Fatal(err)
			}
			f, read, err := Read(dir, o.Spec.Kind)
			if err != nil || f.Sampling.Bursts != 3 {
				t.Fatalf("%s: %v", o.Spec.Kind, err)
			}
			got, _ := json.Marshal(read)
			made, _ := json.Marshal(o.Result)
			if !bytes.Equal(got, made) {
				t.Errorf("%s is not what was written", o.Spec.Kind)
			}
			if r, ok := read.(*cache.Result); ok { // the profile has a snapshot of the address space
				for _, r := range []*cache.Result{r, misses} {
					for i := range r.Lines {
						r.Lines[i].Place = ""
					}
				}
				got, _ = json.Marshal(r)
			}
			if w := want[o.Spec.Kind]; w != nil {
				if text, _ := json.Marshal(w); !bytes.Equal(text, got) {
					t.Errorf("%s: %.300s\nof the profile %.300s", o.Spec.Kind, got, text)
				}
			}
		}
	}
}

// bad is an analysis that panics when it has got something.
type bad struct{ stream.Sink }

func (b *bad) Thread() stream.Sink         { return b }
func (b *bad) Add(stream.Sink, float64)    {}
func (b *bad) Result() Result              { return nil }
func (b *bad) Stretch(*abp.Exec, []uint64) { panic("it cannot count") }
func (b *bad) Single(*abp.Exec)            { panic("it cannot count") }

// TestPanics: an analysis that panics is over and named, with its place; others go on.
func TestPanics(t *testing.T) {
	p, proc := open(t, 0)
	specs, err := Parse("heatmap")
	if err != nil {
		t.Fatal(err)
	}
	specs = append([]Spec{{Name: "bad", Kind: "bad", make: func(*abp.Process) Analysis { return &bad{} }}}, specs...)
	live := NewProcess(abp.Growing(*proc.Header(), recorded{proc}), specs)
	play(t, p, proc, live)
	all := live.Finish()
	if all[0].Err == nil || !strings.Contains(all[0].Err.Error(), "it cannot count") || !strings.Contains(all[0].Err.Error(), "live_test.go") || all[0].Result != nil {
		t.Errorf("%+v", all[0])
	}
	if all[1].Err != nil || len(all[1].Result.(*HeatResult).Pages) == 0 {
		t.Errorf("%+v", all[1])
	}
}

// badWalker follows calls, and panics in its third stretch.
type badWalker struct {
	*calls.Tracker
	left int
}

func (b *badWalker) Walk(x *abp.Exec, words []uint64, w *stream.Walked) {
	if b.left--; b.left == 0 {
		b.Tracker.Walk(x, words[:1+x.Process.Block(uint32(words[0])).Words], w)
		panic("it has lost its way")
	}
	b.Tracker.Walk(x, words, w)
}

// onlyCalls is an analysis of a badWalker.
type onlyCalls struct{ *callsAnalysis }

func (a onlyCalls) Thread() stream.Sink { return &badWalker{a.b.Thread(), 3} }

// TestWalks: calls alone are followed over words that nobody else goes over, and come to what they do beside others and one by one. Where the analysis is over, what has been executed is counted all the same.
func TestWalks(t *testing.T) {
	for _, executions := range []int{0, 50_000} {
		p, proc := open(t, executions)
		var want []byte
		for _, names := range []string{"calltree", "calltree,strides", "one"} {
			specs, err := Parse(strings.ReplaceAll(names, "one", "callgraph"))
			if err != nil {
				t.Fatal(err)
			}
			if names == "one" {
				specs = OneByOne(specs)
			}
			live := NewProcess(abp.Growing(*proc.Header(), recorded{proc}), specs)
			if w, ok := live.Thread(99).sinks[0].(stream.Walker); !ok || w.Walks() == (names == "one") {
				t.Skip("there is no loop")
			}
			play(t, p, proc, live)
			got, err := json.Marshal(live.Finish()[0].Result)
			if err != nil || want != nil && !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes, not %d, %v", names, len(got), len(want), err)
			}
			want = got
		}
		live := NewProcess(abp.Growing(*proc.Header(), recorded{proc}), []Spec{{Name: "bad", Kind: "bad", make: func(p *abp.Process) Analysis { return onlyCalls{newCalls(p, calls.Query{})} }}})
		play(t, p, proc, live)
		if o := live.Finish()[0]; o.Err == nil || !strings.Contains(o.Err.Error(), "lost its way") {
			t.Errorf("%+v", o)
		}
	}
}

// TestParse: what is no list of analyses is refused with words.
func TestParse(t *testing.T) {
	for _, text := range []string{"", "method", "cache(l1d=3)", "cache(l3=1k,1,64)", "reuse(line=65)", "methods(a=b)", "cache,cache", "cache(l1d=1k,1,64", "heatmap(block=3)", "reuse(sample=1)", "methods(sites=0)", "calltree(sites=x)", "methods(sites=3),calltree(sites=4)", "cache(itlb=64,4,4k;l1i=off)"} {
		if s, err := Parse(text); err == nil {
			t.Errorf("%q: %v", text, s)
		}
	}
	if s, err := Parse("methods,reuse,calltree(sites=4)"); err != nil || s[0].Options["sites"] != "4" || s[1].Options != nil {
		t.Errorf("views of calls: %v %v", s, err)
	}
	s, err := Parse("methods, cache(l1d=48k,12,64; ll=off),reuse(sample=4096)")
	if err != nil || len(s) != 3 || s[1].Options["l1d"] != "48k,12,64" || s[1].Options["ll"] != "off" {
		t.Errorf("%v %v", s, err)
	}
}

// FuzzDecode: a file is read or refused.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"format":1,"analysis":"calls","result":{"total":{},"functions":[{"name":"f"}],"nodes":[{"parent":-1,"function":0}]}}`))
	f.Add([]byte(`{"format":1,"analysis":"heatmap","result":{"grain":4096,"pages":[[4096,1,2]]}}`))
	f.Add([]byte(`{"format":1,"analysis":"paths","result":{"functions":[{"runs":[{"address":1}]}],"paths":[{"function":0,"runs":[0]}]}}`))
	f.Add([]byte(`{"format":1,"analysis":"cache","result":{}}`))
	f.Add([]byte(`{"format":1,"analysis":"reuse","result":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, r, err := Decode(text)
		if (err == nil) != (file != nil && r != nil) {
			t.Fatalf("%v %v %v", file, r, err)
		}
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Error(err)
			}
			return
		}
		var out bytes.Buffer
		for _, name := range []string{"methods", "callgraph", "calltree"} {
			if err := WriteSummary(&out, name, r, 5); err != nil {
				t.Error(err)
			}
		}
	})
}

// FuzzConsume: whatever a ring holds, it is taken or refused, and nothing panics that is not held.
func FuzzConsume(f *testing.F) {
	_, proc := open(f, 0)
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0x81, 2, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, text []byte) {
		specs, err := Parse("methods,paths,cache,reuse,heatmap")
		if err != nil {
			t.Fatal(err)
		}
		p := NewProcess(abp.Growing(*proc.Header(), recorded{proc}), specs)
		th := p.Thread(1)
		words := make([]uint64, len(text)/8)
		for i := range words {
			for k := range 8 {
				words[i] |= uint64(text[8*i+k]) << (8 * k)
			}
		}
		for i := range words { // strings of all lengths would be followed access by access
			words[i] &= 0xff00_0000_0000_ffff
		}
		_ = th.Consume(words, 0)
		p.End(th, 1)
		for _, o := range p.Finish() {
			if o.Err != nil && strings.Contains(o.Err.Error(), "runtime error") {
				t.Errorf("%s: %v", o.Spec.Name, o.Err)
			}
		}
	})
}

// TestPathsOneByOne: paths of which what steps do to them is known by then are those of steps that are carried out one by one, also over gaps.
func TestPathsOneByOne(t *testing.T) {
	for _, executions := range []int{0, 50_000} {
		p, proc := open(t, executions)
		var all []string
		for _, totals := range []*paths.Totals{paths.NewTotals(proc), paths.NewTotals(proc).OneByOne()} {
			for i := range proc.Threads() {
				c := totals.Thread()
				c.Scale(2)
				if err := stream.Thread(p, proc, &proc.Threads()[i], nil, &gapped{c, 0}); err != nil {
					t.Fatal(err)
				}
				totals.Add(c, 0.5)
			}
			made, err := json.Marshal(totals.Result())
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(made))
		}
		if all[0] != all[1] || len(all[0]) < 200 {
			t.Errorf("%s\nonce known, one by one\n%s", all[0], all[1])
		}
	}
}

// gapped has records missing behind each third stretch.
type gapped struct {
	*paths.Counter
	n int
}

func (g *gapped) Stretch(state *abp.Exec, words []uint64) {
	g.Counter.Stretch(state, words)
	if g.n++; g.n%3 == 0 {
		g.Gap()
	}
}
