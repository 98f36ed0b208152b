package emit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"alleria/abp"
	"alleria/internal/records"
)

func problems(t *testing.T, path string) (all []abp.Problem) {
	t.Helper()
	if err := abp.Verify(path, func(p abp.Problem) { all = append(all, p) }); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestVerifyGood(t *testing.T) {
	for seed := range uint64(5) {
		r := record(t, seed, 40, 60, Options{})
		if all := problems(t, r.dir); len(all) > 0 {
			t.Errorf("seed %d: %v", seed, all)
		}
		for _, name := range []string{"p1", "p1/main.abp", "p1/1.abp"} {
			if all := problems(t, filepath.Join(r.dir, name)); len(all) > 0 {
				t.Errorf("seed %d: %s: %v", seed, name, all)
			}
		}
	}
}

// readAll opens what is there and iterates over everything, so that a panic or
// an endless loop would show. It returns the number of entries.
func readAll(path string) (int, error) {
	p, err := abp.Open(path)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	n := 0
	for _, o := range []abp.Order{abp.OrderThread, abp.OrderTime, abp.OrderStorage} {
		r := p.Reader(abp.Query{Order: o})
		for r.Next() {
			n++
		}
		if r.Err() != nil {
			return n, r.Err()
		}
	}
	return n, nil
}

// replace writes a file anew.
func replace(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTruncation cuts each file of a small run at every byte: what precedes the
// cut must be readable, and the problem must be a cut.
func TestTruncation(t *testing.T) {
	r := record(t, 7, 3, 3, Options{})
	for _, name := range []string{"p1/main.abp", "p1/1.abp"} {
		path := filepath.Join(r.dir, name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sections := 0
		for n := abp.HeaderSize; n < len(whole); n++ {
			replace(t, path, whole[:n])
			f, err := abp.OpenFile(path)
			if err != nil {
				t.Fatalf("%s cut at %d: %v", name, n, err)
			}
			if len(f.Sections()) < sections {
				t.Fatalf("%s cut at %d: %d sections, were %d", name, n, len(f.Sections()), sections)
			}
			sections = len(f.Sections())
			if f.Complete() {
				t.Errorf("%s cut at %d is complete", name, n)
			}
			f.Close()
			if n%16 == 0 { // also where the main file lacks what the other refers to
				if _, err := readAll(r.dir); err != nil {
					t.Fatalf("%s cut at %d: %v", name, n, err)
				}
			}
			if n%16 > 1 && n < len(whole)-64 {
				continue // opening is what may go wrong at any byte
			}
			all := problems(t, path)
			if len(all) == 0 {
				t.Fatalf("%s cut at %d: no problem", name, n)
			}
			for _, p := range all {
				if !p.CutOff {
					t.Fatalf("%s cut at %d: %v", name, n, p)
				}
			}
		}
		for n := range abp.HeaderSize {
			replace(t, path, whole[:n])
			if _, err := abp.OpenFile(path); err == nil {
				t.Fatalf("%s cut at %d opens", name, n)
			}
		}
		replace(t, path, whole)
	}
}

// TestBitFlips flips each bit in turn: Verify must find every one, as what it
// is.
func TestBitFlips(t *testing.T) {
	r := record(t, 8, 3, 3, Options{})
	for _, name := range []string{"p1/main.abp", "p1/1.abp"} {
		path := filepath.Join(r.dir, name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(whole); i += 5 {
			b := bytes.Clone(whole)
			b[i] ^= 1 << (i % 8)
			replace(t, path, b)
			if len(problems(t, path)) == 0 {
				t.Errorf("%s: flip at %d not found", name, i)
			}
			if i%64 == 0 {
				_, _ = readAll(r.dir) // must end without a panic
			}
		}
		replace(t, path, whole)
	}
}

// TestKilled leaves a run as a killed recorder does: no directory, no last
// words, run.json still says running.
func TestKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	prog := newProgram(3, 20)
	run, err := NewRun(Options{Dirs: []string{dir}}, abp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := run.NewProcess(abp.Header{Process: 1}, prog.blocks)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint32(4) {
		p.AddFunction(abp.Function{Number: i})
		p.AddImage(abp.Image{Number: i})
	}
	s := p.NewStream()
	in := &interpreter{p: prog}
	for i := range 50 {
		var words []uint64
		for range 30 {
			words = prog.item(words)
		}
		if err := s.Consume(1, words, uint64(i), uint64(i)); err != nil {
			t.Fatal(err)
		}
		in.chunk(words)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	profile, err := abp.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer profile.Close()
	if profile.Complete() || profile.Run().Outcome.State != abp.OutcomeRunning {
		t.Error("complete")
	}
	n := 0
	err = profile.EachExec(abp.Query{}, func(x *abp.Exec) error {
		n++
		return in.out[n-1].same(x)
	})
	if err != nil || n != len(in.out) {
		t.Errorf("%d executions of %d: %v", n, len(in.out), err)
	}
	for _, problem := range problems(t, dir) {
		if !problem.CutOff {
			t.Error(problem)
		}
	}
}

func TestOutputDirectory(t *testing.T) {
	dir := t.TempDir()
	replace(t, filepath.Join(dir, configName), nil)
	first, err := NewRun(Options{Dirs: []string{dir}}, abp.Run{})
	if err != nil {
		t.Fatalf("a configuration alone: %v", err)
	}
	for _, force := range []bool{false, true} {
		if _, err := NewRun(Options{Dirs: []string{filepath.Join(dir, "p1"), dir}, Force: force}, abp.Run{}); !errors.Is(err, ErrRunning) {
			t.Errorf("while it is recorded: %v", err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, abp.RunFile)); err != nil {
		t.Errorf("the run that is recorded: %v", err)
	}
	first.Release() // as its recorder's end does
	replace(t, filepath.Join(dir, "precious"), []byte("x"))
	if err := os.MkdirAll(filepath.Join(dir, "p12"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := NewRun(Options{Dirs: []string{dir}}, abp.Run{}); err == nil || !strings.Contains(err.Error(), ErrExists.Error()) {
		t.Errorf("occupied: %v", err)
	}
	if _, err := NewRun(Options{Dirs: []string{dir}, Force: true}, abp.Run{}); err != nil {
		t.Errorf("forced: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "p12")); !os.IsNotExist(err) {
		t.Errorf("old process directory: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "precious")); err != nil {
		t.Errorf("someone else's file: %v", err)
	}
}

// TestWriteError: an error of the output comes back once, what follows is
// dropped, and what precedes stays readable.
func TestWriteError(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	prog := newProgram(5, 20)
	run, err := NewRun(Options{Dirs: []string{dir}}, abp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := run.NewProcess(abp.Header{Process: 1}, prog.blocks)
	if err != nil {
		t.Fatal(err)
	}
	s := p.NewStream()
	in := &interpreter{p: prog}
	feed := func() error {
		words := prog.loop(prog.item(nil))
		in.chunk(words)
		return errors.Join(s.Consume(1, words, 0, 0), s.Flush())
	}
	for range 3 {
		if err := feed(); err != nil {
			t.Fatal(err)
		}
	}
	good := len(in.out)
	s.out.file.Close() // as good as a full disk
	if err := feed(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("first: %v", err)
	}
	if err := feed(); err != nil {
		t.Errorf("again: %v", err)
	}
	profile, err := abp.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer profile.Close()
	n := 0
	err = profile.EachExec(abp.Query{}, func(x *abp.Exec) error {
		n++
		return in.out[n-1].same(x)
	})
	if err != nil || n != good {
		t.Errorf("%d executions, want %d: %v", n, good, err)
	}
}

// TestDiscard: what is dropped is counted, whether records say how long they are or not, blocks are known ahead or each is looked up, one thread records or several take turns, up to a bound too; words that no
// engine writes are refused.
func TestDiscard(t *testing.T) {
	for _, o := range []Options{{Discard: true}, {Discard: true, Sizes: true}, {Discard: true, Sizes: true, MeetEach: true}, {Discard: true, Sizes: true, MaxInstructions: 700}} {
		discard(t, o, 1)
		discard(t, o, 3)
	}
}

func discard(t *testing.T, o Options, threads int) {
	t.Helper()
	prog, p, s := dropping(t, o)
	var want abp.Counts
	each := make([]abp.Counts, threads+1)
	for i := range uint64(20) {
		thread := 1 + int(i)%threads
		was := want
		var words []uint64
		for k := range 50 {
			b := prog.list[prog.rng.IntN(len(prog.list))]
			at := len(words)
			words = prog.record(words, b)
			full := p.blocks.convert(b.ID)
			want.Add(full.Static, 1)
			full.DynamicCounts(words[at+1:], len(full.Ins), func(_ int, c abp.Counts) { want.Add(c, 1) })
			if o.Sizes && k%5 != 0 {
				words[at] = uint64(records.Number(uint32(words[at]), b.Words))
			}
		}
		if err := s.ConsumeAt(thread, Place{Chunk: i}, Place{Chunk: i + 1}, words, 0, 0); err != nil {
			t.Fatal(err)
		}
		each[thread].Add(want, 1)
		each[thread].Sub(was)
		if i == 10 {
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if o.MaxInstructions == 0 {
		short, wrong := []uint64{uint64(prog.list[0].ID)}, []uint64{uint64(records.Number(prog.list[0].ID, prog.list[0].Words+1)), 0, 0, 0, 0, 0, 0, 0, 0, 0}
		if prog.list[0].Words == 0 {
			t.Fatal("the first block has no words")
		}
		if err := s.ConsumeAt(1, Place{Chunk: 20}, Place{Chunk: 21}, short, 0, 0); !errors.Is(err, records.ErrMalformed) {
			t.Errorf("a record that is cut short: %v", err)
		}
		if err := s.ConsumeAt(2, Place{Chunk: 20}, Place{Chunk: 21}, wrong, 0, 0); o.Sizes && !errors.Is(err, records.ErrMalformed) {
			t.Errorf("a record of another size: %v", err)
		}
	}
	if err := p.Close(abp.EndInfo{}); err != nil {
		t.Fatal(err)
	}
	got, _ := p.Counts()
	for n := range each {
		if n > 0 && o.MaxInstructions == 0 && p.thread(uint32(n)).total() != each[n] {
			t.Errorf("%+v: thread %d of %d: %+v, want %+v", o, n, threads, p.thread(uint32(n)).total(), each[n])
		}
	}
	switch {
	case o.MaxInstructions == 0 && got != want:
		t.Errorf("sizes %t: %+v, want %+v", o.Sizes, got, want)
	case o.MaxInstructions != 0 && (got.Instructions < o.MaxInstructions || got.Instructions >= o.MaxInstructions+64): // the last execution counts whole
		t.Errorf("%d instructions of at most %d", got.Instructions, o.MaxInstructions)
	}
	if err := p.run.Finish(abp.Outcome{State: abp.OutcomeComplete}); err != nil {
		t.Fatal(err)
	}
}

// dropping is a program's process whose records are dropped.
func dropping(t *testing.T, o Options) (*program, *ProcessWriter, Sink) {
	t.Helper()
	prog := newProgram(4, 600) // of which a thread executes a small part in each of its turns
	run, err := NewRun(o, abp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := run.NewProcess(abp.Header{Process: 1}, prog.blocks)
	if err != nil {
		t.Fatal(err)
	}
	return prog, p, p.SinkOf(0)
}

// TestDiscardLengths: a record that is longer than its block's, which nothing looks at where blocks are known ahead, is told of when counts are added up; one of a block whose words matter at once.
func TestDiscardLengths(t *testing.T) {
	for _, each := range []bool{false, true} {
		prog, p, s := dropping(t, Options{Discard: true, Sizes: true, MeetEach: each})
		b := prog.list[0]
		if b.Words == 0 || p.blocks.convert(b.ID).Dynamic {
			t.Fatal("the first block has no words, or they matter")
		}
		right := prog.record(nil, b)
		right[0] = uint64(records.Number(b.ID, b.Words))
		wrong := append(slices.Clone(right), 0)
		wrong[0] = uint64(records.Number(b.ID, b.Words+1))
		err := s.ConsumeAt(1, Place{}, Place{Chunk: 1}, right, 0, 0)
		if err == nil {
			if err = s.Flush(); err == nil {
				err = s.ConsumeAt(1, Place{Chunk: 1}, Place{Chunk: 2}, wrong, 0, 0)
			}
		}
		if !each && err != nil {
			t.Error(err)
		}
		if !each {
			err = s.Flush()
		}
		if !errors.Is(err, records.ErrMalformed) {
			t.Errorf("each %t: %v", each, err)
		}
		odd := prog.list[slices.IndexFunc(prog.list, func(b *records.Block) bool { return p.blocks.convert(b.ID).Dynamic })]
		good := prog.record(nil, odd)
		good[0] = uint64(records.Number(odd.ID, odd.Words))
		short := append(slices.Clone(good), uint64(records.Number(odd.ID, odd.Words-1)))
		short = append(short, good[1:odd.Words]...)
		if err := s.ConsumeAt(1, Place{Chunk: 2}, Place{Chunk: 3}, short, 0, 0); !errors.Is(err, records.ErrMalformed) {
			t.Errorf("each %t: a record without a word that matters: %v", each, err)
		}
	}
}

// TestDiscardSettles: what a thread has executed of a block is added up before its count of 31 bits is full.
func TestDiscardSettles(t *testing.T) {
	for _, sizes := range []bool{true, false} {
		prog, p, s := dropping(t, Options{Discard: true, Sizes: sizes})
		w, ok := s.(*Dropper)
		if !ok {
			t.Fatalf("%T", s)
		}
		b := prog.list[0]
		words := prog.record(nil, b)
		if sizes {
			words[0] = uint64(records.Number(b.ID, b.Words))
		}
		consume := func(chunk uint64) {
			if err := s.ConsumeAt(1, Place{Chunk: chunk}, Place{Chunk: chunk + 1}, words, 0, 0); err != nil {
				t.Fatal(err)
			}
		}
		consume(0)
		consume(1)
		if w.walked = unmet - 1; sizes {
			w.quick[b.ID], w.passed = unmet-2, (unmet-2)*(1+uint64(b.Words))
		} else {
			w.met[b.ID].execs = unmet - 2
		}
		consume(2)
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		want := uint64(unmet-1) * p.blocks.convert(b.ID).Static.Instructions
		if got, _ := p.Counts(); got.Instructions != want {
			t.Errorf("sizes %t: %d instructions, want %d", sizes, got.Instructions, want)
		}
	}
}

// TestGaps deletes, exchanges and renames parts of runs: whoever reads the rest says so.
func TestGaps(t *testing.T) {
	two := func(t *testing.T) (string, string) {
		more := filepath.Join(t.TempDir(), "more")
		r := record(t, 9, 10, 60, Options{Dirs: []string{more}})
		if _, err := os.Stat(filepath.Join(more, "p1", "2.abp")); err != nil {
			t.Fatalf("the run has one output only: %v", err)
		}
		return r.dir, more
	}
	other := record(t, 10, 10, 60, Options{}).dir
	tests := []struct {
		name string
		harm func(dir, more string) error
		open string // path in dir to verify
		want string
	}{
		{"sub-profile", func(d, _ string) error { return os.Remove(d + "/p1/1.abp") }, "", "1.abp: offset 0: corrupt: is missing"},
		{"all sub-profiles", func(d, m string) error {
			return errors.Join(os.Remove(d+"/p1/1.abp"), os.Remove(m+"/p1/2.abp"))
		}, "", "2.abp: offset 0: corrupt: is missing"},
		{"main", func(d, _ string) error { return os.Remove(d + "/p1/main.abp") }, "", "main.abp: offset 0: corrupt: is missing"},
		{"main of a process's directory", func(d, _ string) error { return os.Remove(d + "/p1/main.abp") }, "p1", "main.abp is missing"},
		{"process", func(d, _ string) error { return os.RemoveAll(d + "/p1") }, "", "main.abp: offset 0: corrupt: is missing"},
		{"output", func(_, m string) error { return os.RemoveAll(m) }, "", "more: offset 0: corrupt: is missing"},
		{"output, of a process", func(_, m string) error { return os.RemoveAll(m) }, "p1", "2.abp: offset 0: corrupt: is missing"},
		{"run.json", func(d, _ string) error { return os.Remove(d + "/run.json") }, "", "run.json: offset 0: corrupt: is missing"},
		{"another run's sub-profile", func(d, _ string) error { return os.Rename(other+"/p1/1.abp", d+"/p1/1.abp") }, "", "1.abp: offset 0: corrupt: is not of this run"},
		{"another number", func(d, m string) error { return os.Rename(m+"/p1/2.abp", d+"/p1/1.abp") }, "", "1.abp: offset 0: corrupt: is not of this run"},
		{"another run's process", func(d, _ string) error {
			return errors.Join(os.RemoveAll(d+"/p1"), os.Rename(record(t, 11, 5, 9, Options{}).dir+"/p1", d+"/p1"))
		}, "", "main.abp: offset 0: corrupt: has "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, more := two(t)
			if err := tt.harm(dir, more); err != nil {
				t.Fatal(err)
			}
			all := problems(t, filepath.Join(dir, tt.open))
			found := false
			for _, p := range all {
				found = found || strings.Contains(p.String(), tt.want) && !p.CutOff
			}
			if !found {
				t.Errorf("want %q, have %v", tt.want, all)
			}
			p, err := abp.Open(filepath.Join(dir, tt.open))
			if err != nil {
				return
			}
			defer p.Close()
			if p.Complete() {
				t.Error("complete")
			}
		})
	}
	// A process's directory finds what lies elsewhere.
	dir, _ := two(t)
	p, err := abp.Open(filepath.Join(dir, "p1"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if n := len(p.Processes()[0].Files()); n != 3 || len(p.Gaps()) > 0 {
		t.Errorf("%d files of 3, gaps %v", n, p.Gaps())
	}
}

// TestTablesBeforeWhatRefersToThem: functions that come before an image's row are kept, and others of that image behind it: wherever the file is cut
// off, no row refers to one that is not there.
func TestTablesBeforeWhatRefersToThem(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run, err := NewRun(Options{Dirs: []string{dir}}, abp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := run.NewProcess(abp.Header{Process: 1}, newProgram(3, 20).blocks)
	if err != nil {
		t.Fatal(err)
	}
	p.AddImage(abp.Image{Number: 1})
	if err := p.FlushTables(); err != nil {
		t.Fatal(err)
	}
	p.AddFunction(abp.Function{Number: 1, Image: 1})
	p.AddImage(abp.Image{Number: 2})
	p.AddFunction(abp.Function{Number: 2, Image: 2})
	if err := p.FlushTables(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(p.Dir(), abp.MainFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := abp.HeaderSize; n <= len(whole); n++ {
		replace(t, path, whole[:n])
		for _, problem := range problems(t, path) {
			if !problem.CutOff {
				t.Fatalf("cut at %d of %d: %v", n, len(whole), problem)
			}
		}
	}
}

// TestVerifyRegions: a snapshot whose regions make no sense is found; a change may tell of the same memory twice.
func TestVerifyRegions(t *testing.T) {
	page := func(from, to uint64) abp.Region { return abp.Region{Start: from << 12, End: to << 12} }
	for _, c := range []struct {
		row  abp.Snapshot
		want string
	}{
		{abp.Snapshot{Regions: []abp.Region{page(1, 2), page(2, 4)}}, ""},
		{abp.Snapshot{Change: true, Regions: []abp.Region{page(1, 4), page(2, 3)}}, ""},
		{abp.Snapshot{Regions: []abp.Region{page(1, 4), page(2, 5)}}, "region 1 begins at 0x2000, within the one before"},
		{abp.Snapshot{Change: true, Regions: []abp.Region{page(4, 4)}}, "region 0 ends at 0x4000"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		run, err := NewRun(Options{Dirs: []string{dir}}, abp.Run{Tool: "test"})
		if err != nil {
			t.Fatal(err)
		}
		p, err := run.NewProcess(abp.Header{Process: 1}, newProgram(1, 1).blocks)
		if err != nil {
			t.Fatal(err)
		}
		p.AddSnapshot(c.row)
		if err := errors.Join(p.Close(abp.EndInfo{}), run.Finish(abp.Outcome{State: abp.OutcomeComplete})); err != nil {
			t.Fatal(err)
		}
		all := problems(t, dir)
		if c.want == "" && len(all) > 0 || c.want != "" && (len(all) != 1 || !strings.Contains(all[0].String(), c.want)) {
			t.Errorf("%+v: %v, expected %q", c.row, all, c.want)
		}
	}
}
