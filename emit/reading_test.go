package emit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"alleria/abp"
)

// flat is an entry without what is only valid until the next.
type flat struct {
	kind            abp.EntryKind
	thread          uint32
	ordinal, addr   uint64
	memAddr, memLen uint64
	store           bool
	value           string
	branch          abp.Branch
	windows         uint64
	tsc             uint64
}

func flatten(e *abp.Entry) flat {
	f := flat{kind: e.Kind, thread: e.Thread, windows: e.Windows}
	switch e.Kind {
	case abp.EntryIns:
		f.ordinal, f.addr, f.tsc = e.Ins.Ordinal, e.Ins.Addr, e.Ins.TSC
	case abp.EntryMem:
		f.ordinal, f.memAddr, f.memLen, f.store, f.value = e.Ins.Ordinal, e.Mem.Addr, uint64(e.Mem.Size), e.Mem.Store, string(e.Mem.Value)
	case abp.EntryBranch:
		f.branch = e.Branch
	}
	return f
}

func collect(t *testing.T, r *abp.Reader) (all []flat) {
	t.Helper()
	for r.Next() {
		all = append(all, flatten(r.Entry()))
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return all
}

func open(t *testing.T, seed uint64) *abp.Profile {
	t.Helper()
	r := record(t, seed, 50, 80, Options{})
	p, err := abp.Open(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func instructions(all []flat) (ins []flat) {
	for _, f := range all {
		if f.kind == abp.EntryIns || f.kind == abp.EntryMem {
			ins = append(ins, f)
		}
	}
	return ins
}

// byThread splits entries, so that orders can be compared.
func byThread(all []flat) map[uint32][]flat {
	m := map[uint32][]flat{}
	for _, f := range instructions(all) {
		f.tsc = 0
		m[f.thread] = append(m[f.thread], f)
	}
	return m
}

func TestSeekEqualsSkip(t *testing.T) {
	p := open(t, 21)
	all := collect(t, p.Reader(abp.Query{}))
	r := p.Reader(abp.Query{})
	for i := 0; i < len(all); i += 1 + len(all)/200 {
		if all[i].kind != abp.EntryIns {
			continue
		}
		if err := r.Seek(all[i].thread, all[i].ordinal); err != nil {
			t.Fatalf("seek %d: %v", all[i].ordinal, err)
		}
		want := instructions(all[i:])
		for k := 0; k < 50 && k < len(want); {
			if !r.Next() {
				t.Fatalf("after seek to %d: end after %d: %v", all[i].ordinal, k, r.Err())
			}
			if f := flatten(r.Entry()); f.kind == abp.EntryIns || f.kind == abp.EntryMem {
				if f != want[k] {
					t.Fatalf("after seek to %d, entry %d: %+v, want %+v", all[i].ordinal, k, f, want[k])
				}
				k++
			}
		}
	}
	if err := r.Seek(1, 1<<40); !errors.Is(err, abp.ErrNoSuchPlace) {
		t.Errorf("seek beyond the end: %v", err)
	}
}

func TestOrdersHoldTheSame(t *testing.T) {
	p := open(t, 22)
	want := byThread(collect(t, p.Reader(abp.Query{})))
	for _, o := range []abp.Order{abp.OrderStorage, abp.OrderTime} {
		all := collect(t, p.Reader(abp.Query{Order: o}))
		got := byThread(all)
		for n := range want {
			if o == abp.OrderStorage { // frames of one thread may lie in several files
				slices.SortStableFunc(got[n], func(a, b flat) int { return int(a.ordinal) - int(b.ordinal) })
			}
			if !slices.Equal(got[n], want[n]) {
				t.Errorf("order %d, thread %d: %d entries, want %d", o, n, len(got[n]), len(want[n]))
			}
		}
	}
}

func TestTimeOrder(t *testing.T) {
	p := open(t, untimed)
	last, n, switches, thread := uint64(0), 0, 0, uint32(0)
	err := p.EachExec(abp.Query{Order: abp.OrderTime}, func(x *abp.Exec) error {
		n++
		if x.Thread != thread {
			thread = x.Thread
			switches++
		}
		if x.TSC < last {
			return fmt.Errorf("execution %d: time goes back from %d to %d", n, last, x.TSC)
		}
		last = x.TSC
		return nil
	})
	if err != nil || n == 0 || switches < 10 {
		t.Error(n, switches, err)
	}
}

func TestTracesHoldTheEntries(t *testing.T) {
	p := open(t, 24)
	all := instructions(collect(t, p.Reader(abp.Query{})))
	r := p.Reader(abp.Query{})
	k := 0
	for r.NextTrace() {
		tr := r.Trace()
		if all[k].kind != abp.EntryIns || all[k].ordinal != tr.Ins.Ordinal || all[k].addr != tr.Ins.Addr {
			t.Fatalf("trace of instruction %d, want %+v", tr.Ins.Ordinal, all[k])
		}
		k++
		for i := range tr.Mems {
			m := &tr.Mems[i]
			if all[k].memAddr != m.Addr || all[k].value != string(m.Value) || all[k].store != m.Store {
				t.Fatalf("access %+v, want %+v", m, all[k])
			}
			k++
		}
	}
	if r.Err() != nil || k != len(all) {
		t.Errorf("%d entries of %d: %v", k, len(all), r.Err())
	}
}

// TestFilters compares filtered reading with filtering what was read.
func TestFilters(t *testing.T) {
	p := open(t, 25)
	all := collect(t, p.Reader(abp.Query{}))
	mid := all[len(all)/2].addr
	queries := map[string]struct {
		q    abp.Query
		keep func(f flat) bool
	}{
		"thread":   {abp.Query{Threads: []uint32{2}}, func(f flat) bool { return f.thread == 2 }},
		"code":     {abp.Query{Code: abp.Range{From: mid}}, func(f flat) bool { return f.addr >= mid }},
		"ordinals": {abp.Query{Ordinals: abp.Range{From: 100, To: 300}}, func(f flat) bool { return f.ordinal >= 100 && f.ordinal < 300 }},
		"none":     {abp.Query{Processes: []uint32{9}}, func(f flat) bool { return false }},
	}
	for name, c := range queries {
		var want, got []flat
		for _, f := range all {
			if f.kind == abp.EntryIns && c.keep(f) {
				want = append(want, f)
			}
		}
		for _, f := range collect(t, p.Reader(c.q)) {
			if f.kind == abp.EntryIns {
				got = append(got, f)
			}
		}
		if !slices.Equal(got, want) || name != "none" && len(got) == 0 {
			t.Errorf("%s: %d instructions, want %d", name, len(got), len(want))
		}
	}
	data := abp.Range{From: 0x7ffe0000_0000, To: 0x7ffe0001_0000}
	n := 0
	for _, f := range collect(t, p.Reader(abp.Query{Data: data})) {
		if f.kind == abp.EntryMem {
			n++
			if f.memAddr+f.memLen <= data.From || f.memAddr >= data.To {
				t.Fatalf("access to %#x", f.memAddr)
			}
		}
	}
	for _, f := range all {
		if f.kind == abp.EntryMem && f.memAddr+max(f.memLen, 1) > data.From && f.memAddr < data.To {
			n--
		}
	}
	if n != 0 {
		t.Errorf("%d accesses too many", n)
	}
}

func TestParallelReaders(t *testing.T) {
	p := open(t, 26)
	want := collect(t, p.Reader(abp.Query{}))
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := p.Reader(abp.Query{})
			k := 0
			for ; r.Next(); k++ {
				if k >= len(want) || flatten(r.Entry()) != want[k] {
					errs[i] = fmt.Errorf("reader %d: entry %d differs", i, k)
					return
				}
			}
			if k != len(want) || r.Err() != nil {
				errs[i] = fmt.Errorf("reader %d: %d entries: %w", i, k, r.Err())
			}
		}()
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// TestNoAllocation: reading on allocates nothing per entry.
func TestNoAllocation(t *testing.T) {
	p := open(t, 27)
	r := p.Reader(abp.Query{})
	n := 0
	for range 200 { // warm up
		r.Next()
	}
	allocs := testing.AllocsPerRun(1000, func() {
		if r.Next() {
			n++
		}
	})
	if allocs > 0.2 {
		t.Errorf("%.2f allocations an entry", allocs)
	}
	if n == 0 {
		t.Error("no entries")
	}
}

// TestFrameBlocks: what frames say that they execute is what they execute.
func TestFrameBlocks(t *testing.T) {
	p := open(t, 28)
	want, got := map[uint32]uint64{}, map[uint32]uint64{}
	err := p.EachExec(abp.Query{}, func(x *abp.Exec) error {
		if !x.IsEmulated {
			want[x.Block.ID]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	proc := p.Processes()[0]
	for _, th := range proc.Threads() {
		for _, ref := range th.Frames {
			blocks, exact, err := proc.FrameBlocks(ref, nil)
			if err != nil {
				t.Fatal(err)
			}
			var sum abp.Counts
			for _, b := range blocks {
				got[b.ID] += b.Execs
				sum.Add(proc.Block(b.ID).Static, b.Execs)
			}
			if exact && sum != ref.Counts {
				t.Errorf("frame %d is not exact", ref.Seq)
			}
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("%d blocks, want %d", len(got), len(want))
	}
}

// TestFunctionFilter: frames are skipped by the blocks they hold, and nothing
// else is lost.
func TestFunctionFilter(t *testing.T) {
	p := open(t, 29)
	var want, got []flat
	r := p.Reader(abp.Query{})
	for r.NextTrace() {
		if r.Trace().Ins.Func == 2 {
			want = append(want, flat{thread: r.Trace().Thread, ordinal: r.Trace().Ins.Ordinal})
		}
	}
	r = p.Reader(abp.Query{Functions: []string{"f2"}})
	for r.NextTrace() {
		if r.Trace().Ins.Func != 0 { // code in no function matches by its address
			got = append(got, flat{thread: r.Trace().Thread, ordinal: r.Trace().Ins.Ordinal})
		}
	}
	if !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("%d instructions, want %d: %v", len(got), len(want), r.Err())
	}
	r = p.Reader(abp.Query{Code: abp.Range{From: 1, To: 2}})
	if r.NextExec() || r.Err() != nil {
		t.Errorf("code that is nowhere: %v", r.Err())
	}
}
