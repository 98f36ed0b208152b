package emit

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"alleria/abp"
	"alleria/abp/frame"
	"alleria/internal/records"
)

// expected is what a reader must yield for one execution.
type expected struct {
	block     uint32
	words     []uint64
	completed int
	emulated  []uint64
	beside    []uint64
	ordinal   uint64
	windows   uint64
	fs, gs    uint64
}

// interpret says what words mean, in the plainest way.
type interpreter struct {
	p       *program
	ordinal uint64
	windows uint64
	fs, gs  uint64
	beside  []uint64 // of the next emulated execution
	out     []expected
}

func (in *interpreter) recorded(b *records.Block, n int) (c uint64) {
	for _, i := range b.Ins[:n] {
		if i.Flags&records.InsRecorded != 0 {
			c++
		}
	}
	return c
}

func (in *interpreter) chunk(words []uint64) {
	cut := -1
	for i := 0; i < len(words); {
		w := words[i]
		i++
		if w>>32 == 0 {
			b := in.p.list[w-1]
			e := expected{block: b.ID, words: words[i : i+b.Words], completed: len(b.Ins), ordinal: in.ordinal, windows: in.windows, fs: in.fs, gs: in.gs}
			i += b.Words
			if cut >= 0 {
				e.completed, cut = cut, -1
			}
			in.ordinal += in.recorded(b, e.completed)
			in.out = append(in.out, e)
			continue
		}
		payload := w & records.MarkPayload
		switch w >> records.MarkShift {
		case records.MarkCut:
			cut = int(payload)
		case records.MarkFS:
			in.fs = words[i]
			i++
		case records.MarkGS:
			in.gs = words[i]
			i++
		case records.MarkWindows:
			in.windows = payload
			i++
		case records.MarkThread:
			i += 3
		case records.MarkSkip:
			i += int(payload)
		case records.MarkBeside:
			n := int(payload >> 48)
			in.beside = append(in.beside, words[i:i+n]...)
			i += n
		case records.MarkEmulated:
			n := int(words[i])
			b := in.p.list[payload-1]
			in.out = append(in.out, expected{block: b.ID, completed: len(b.Ins), emulated: words[i+1 : i+1+2*n], beside: in.beside, ordinal: in.ordinal, windows: in.windows, fs: in.fs, gs: in.gs})
			in.ordinal += in.recorded(b, len(b.Ins))
			in.beside = nil
			i += 1 + 2*n
		}
	}
}

// same compares an execution with what it should be.
func (e *expected) same(x *abp.Exec) error {
	switch {
	case x.Block.ID != e.block:
		return fmt.Errorf("block %d, want %d", x.Block.ID, e.block)
	case !slices.Equal(x.Words, e.words) && !x.IsEmulated:
		return fmt.Errorf("words %x, want %x", x.Words, e.words)
	case x.IsEmulated && !slices.Equal(x.Emulated, e.emulated):
		return fmt.Errorf("emulated %x, want %x", x.Emulated, e.emulated)
	case x.IsEmulated && !slices.Equal(x.Beside, e.beside):
		return fmt.Errorf("beside it %x, want %x", x.Beside, e.beside)
	case x.IsEmulated != (e.words == nil && e.emulated != nil):
		return fmt.Errorf("emulated: %v", x.IsEmulated)
	case x.Completed != e.completed || x.Ordinal != e.ordinal || x.Windows != e.windows:
		return fmt.Errorf("completed %d ordinal %d windows %x, want %d %d %x", x.Completed, x.Ordinal, x.Windows, e.completed, e.ordinal, e.windows)
	case x.FSBase != e.fs || x.GSBase != e.gs:
		return fmt.Errorf("fs %x gs %x, want %x %x", x.FSBase, x.GSBase, e.fs, e.gs)
	}
	return nil
}

// recording is a written run and what must come out of it.
type recording struct {
	dir     string
	prog    *program
	threads map[uint32]*interpreter
}

// record writes a random run: threads whose chunks wander between streams.
func record(t testing.TB, seed uint64, blocks, chunks int, opts Options) *recording {
	t.Helper()
	r := &recording{dir: filepath.Join(t.TempDir(), "run"), prog: newProgram(seed, blocks), threads: map[uint32]*interpreter{}}
	opts.Dirs = append([]string{r.dir}, opts.Dirs...)
	run, err := NewRun(opts, abp.Run{Tool: "test", Command: []string{"prog"}})
	if err != nil {
		t.Fatal(err)
	}
	table := r.prog.blocks
	if seed%2 == 0 { // translated in an earlier run
		if table, _ = records.FromKept(table.Keep(), 1<<12, false); table == nil {
			t.Fatal("no table")
		}
	}
	p, err := run.NewProcess(abp.Header{Process: 1, PID: 77, TSCFrequency: 1e9, Started: time.Unix(1, 0)}, table)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint32(4) {
		p.AddFunction(abp.Function{Number: i, Name: fmt.Sprintf("f%d", i), Addr: 0x400000})
		p.AddImage(abp.Image{Number: i, Path: fmt.Sprintf("/lib/%d", i)})
	}
	sinks, fed := []Sink{p.SinkOf(0), p.SinkOf(1), p.SinkOf(2)}, map[uint32]uint64{}
	rng := r.prog.rng
	for i := range chunks {
		thread := uint32(1 + rng.IntN(3))
		in := r.threads[thread]
		if in == nil {
			in = &interpreter{p: r.prog}
			r.threads[thread] = in
		}
		var words []uint64
		for range rng.IntN(60) {
			words = r.prog.item(words)
		}
		if rng.IntN(2) == 0 {
			words = r.prog.loop(words)
		}
		s := sinks[rng.IntN(len(sinks))]
		if i < len(sinks) { // each has a file
			s = sinks[i]
		}
		from, to := Place{Chunk: fed[thread]}, Place{Chunk: fed[thread] + 1}
		fed[thread]++
		if err := s.ConsumeAt(int(thread), from, to, words, uint64(1000*i), uint64(1000*i+900)); err != nil {
			t.Fatal(err)
		}
		in.chunk(words)
		if rng.IntN(10) == 0 {
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.Close(abp.EndInfo{Ended: 5e9}); err != nil {
		t.Fatal(err)
	}
	if err := run.Finish(abp.Outcome{State: abp.OutcomeComplete}); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRoundTrip(t *testing.T) {
	for seed := range uint64(12) {
		for _, level := range []int{0, -1, 3} {
			opts := Options{Level: level, Dirs: []string{filepath.Join(t.TempDir(), "second")}}
			checkRun(t, record(t, seed, 1+int(seed*8), int(seed*8), opts))
		}
	}
}

func checkRun(t *testing.T, r *recording) {
	t.Helper()
	p, err := abp.Open(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if !p.Complete() {
		t.Error("not complete")
	}
	counts := map[uint32]*abp.Counts{}
	at := map[uint32]int{}
	err = p.EachExec(abp.Query{}, func(x *abp.Exec) error {
		in := r.threads[x.Thread]
		if at[x.Thread] >= len(in.out) {
			return fmt.Errorf("thread %d: too many", x.Thread)
		}
		e := &in.out[at[x.Thread]]
		at[x.Thread]++
		if err := e.same(x); err != nil {
			return fmt.Errorf("thread %d, execution %d: %w", x.Thread, at[x.Thread]-1, err)
		}
		c := counts[x.Thread]
		if c == nil {
			c = new(abp.Counts)
			counts[x.Thread] = c
		}
		c.Add(slowCounts(x), 1)
		if slowCounts(x) != x.Counts() {
			return fmt.Errorf("counts %+v, want %+v", x.Counts(), slowCounts(x))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for n, in := range r.threads {
		if at[n] != len(in.out) {
			t.Errorf("thread %d: %d executions, want %d", n, at[n], len(in.out))
		}
	}
	if len(p.Processes()) != 1 {
		t.Fatalf("%d processes", len(p.Processes()))
	}
	var sum abp.Counts
	for _, th := range p.Process(1).Threads() {
		if c := counts[th.Number]; c != nil && th.Counts != *c {
			t.Errorf("thread %d: counts %+v, want %+v", th.Number, th.Counts, *c)
		}
		sum.Add(th.Counts, 1)
	}
	if got := p.Process(1).Header().Counts; got != sum {
		t.Errorf("header counts %+v, want %+v", got, sum)
	}
	if len(p.Run().Processes) != 1 || p.Run().Processes[0].Counts != sum {
		t.Errorf("run.json counts %+v, want %+v", p.Run().Processes, sum)
	}
}

// slowCounts counts an execution by expanding it.
func slowCounts(x *abp.Exec) (c abp.Counts) {
	for _, in := range x.Block.Ins[:x.Completed] {
		if in.Flags&abp.InsRecorded != 0 {
			c.Instructions++
			if in.Flags&abp.InsMemory != 0 {
				c.MemInstructions++
			}
		}
	}
	x.ForEachAccess(func(m *abp.Mem) {
		if m.Store {
			c.Stores++
			c.BytesWritten += uint64(m.Size)
		} else {
			c.Loads++
			c.BytesRead += uint64(m.Size)
		}
	})
	return c
}

// TestNumbers: the engine and the encoder mean the same by an execution's first word.
func TestNumbers(t *testing.T) {
	enc, err := frame.NewEncoderOf(frame.Version4, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	enc.Sized()
	for _, words := range []int{0, 1, 125, 126, 127, 1000} {
		w := records.Number(1<<records.NumberBits-2, words)
		id, size := records.SplitNumber(uint64(w))
		if id != 1<<records.NumberBits-2 || size != 0 && size != words+1 || (size == 0) != (words > 126) || int32(w) < 0 {
			t.Errorf("%d words: number %d, size %d", words, id, size)
		}
		if n := enc.Number(uint64(w)); n != id {
			t.Errorf("%d words: block %d for the encoder, %d for the engine", words, n, id)
		}
	}
}

// TestFirstStamp: a block that was stamped before its chunk was opened, as one that did not fit into the chunk before, lies in
// the time of its frame.
func TestFirstStamp(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run, err := NewRun(Options{Dirs: []string{dir}}, abp.Run{Tool: "test"})
	if err != nil {
		t.Fatal(err)
	}
	table := new(records.Blocks)
	id := table.Add(&records.Block{Addr: 0x1000, Words: 1, TimeWord: 0, BranchWord: records.NoWord, Code: []byte{0x90},
		Ins: []records.Ins{{Len: 1, Flags: records.InsRecorded}}})
	p, err := run.NewProcess(abp.Header{Process: 1, TSCFrequency: 1e9, Started: time.Unix(1, 0)}, table)
	if err != nil {
		t.Fatal(err)
	}
	words := []uint64{records.Mark(records.MarkThread, 1), 1, 77, 990, uint64(id), 990, uint64(id), 1010}
	if err := p.SinkOf(0).ConsumeAt(1, Place{}, Place{Chunk: 1}, words, 1000, 2000); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(abp.EndInfo{Ended: 5e9}); err != nil {
		t.Fatal(err)
	}
	if err := run.Finish(abp.Outcome{State: abp.OutcomeComplete}); err != nil {
		t.Fatal(err)
	}
	read, err := abp.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	n := 0
	if err := read.EachExec(abp.Query{Time: abp.Range{From: 980, To: 1000}}, func(*abp.Exec) error { n++; return nil }); err != nil || n != 1 {
		t.Errorf("%d executions before the chunk was opened, want 1: %v", n, err)
	}
}
