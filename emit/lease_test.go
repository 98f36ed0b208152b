package emit

import (
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"alleria/abp"
	"alleria/internal/records"
)

// part is what one call of ConsumeAt gets.
type part struct {
	thread   uint32
	from, to Place
	words    []uint64
}

// TestLeases: several streams work on different stretches of one thread at the
// same time, in any order between them, and what comes out is as if one had
// done it all.
func TestLeases(t *testing.T) {
	for seed := range uint64(10) {
		r := &recording{dir: filepath.Join(t.TempDir(), "run"), prog: newProgram(seed, 30), threads: map[uint32]*interpreter{}}
		run, p := leased(t, r, Options{})
		queues := leases(r, 4)
		rng := r.prog.rng
		streams := make([]*Stream, len(queues))
		for i := range streams {
			streams[i] = p.NewStream()
		}
		for left := true; left; {
			left = false
			for i, q := range queues {
				left = left || len(q) > 0
				if len(q) == 0 || rng.IntN(2) == 0 {
					continue
				}
				if err := streams[i].ConsumeAt(int(q[0].thread), q[0].from, q[0].to, q[0].words, q[0].from.Chunk, q[0].from.Chunk+1); err != nil {
					t.Fatal(err)
				}
				if len(q) > 1 && q[1].from != q[0].to {
					if err := streams[i].CloseThread(int(q[0].thread)); err != nil {
						t.Fatal(err)
					}
				}
				queues[i] = q[1:]
			}
		}
		if err := p.Close(abp.EndInfo{}); err != nil {
			t.Fatal(err)
		}
		if err := run.Finish(abp.Outcome{State: abp.OutcomeComplete}); err != nil {
			t.Fatal(err)
		}
		checkRun(t, r)
		if all := problems(t, r.dir); len(all) > 0 {
			t.Error(all)
		}
	}
}

// TestRowsOfLeases: a row of SAMPLING is about the frames of the chunks from its own on, however many parts those in front were taken in.
func TestRowsOfLeases(t *testing.T) {
	const every = 7 // chunks of a row
	for seed := range uint64(10) {
		r := &recording{dir: filepath.Join(t.TempDir(), "run"), prog: newProgram(seed, 30), threads: map[uint32]*interpreter{}}
		run, p := leased(t, r, Options{})
		want, got := map[abp.Sampling]uint64{}, map[abp.Sampling]uint64{} // executions
		for thread := range uint32(2) {
			for chunk := uint64(0); chunk < 30; chunk += every {
				p.AddSampling(abp.Sampling{Thread: thread + 1, Chunk: chunk, Recorded: 1})
				p.CutFrame(int(thread+1), chunk)
			}
		}
		for _, q := range leases(r, 4) {
			stream := p.NewStream()
			for _, c := range q {
				if err := stream.ConsumeAt(int(c.thread), c.from, c.to, c.words, c.from.Chunk, c.from.Chunk+1); err != nil {
					t.Fatal(err)
				}
				for it := p.raw(c.words); it.Next(); {
					if it.Mark == 0 || it.Mark == records.MarkEmulated {
						want[abp.Sampling{Thread: c.thread, Chunk: c.from.Chunk / every * every, Recorded: 1}]++
					}
				}
			}
		}
		if err := p.Close(abp.EndInfo{}); err != nil {
			t.Fatal(err)
		}
		if err := run.Finish(abp.Outcome{State: abp.OutcomeComplete}); err != nil {
			t.Fatal(err)
		}
		if all := problems(t, r.dir); len(all) > 0 {
			t.Error(all)
		}
		prof, err := abp.Open(r.dir)
		if err != nil {
			t.Fatal(err)
		}
		proc := prof.Processes()[0]
		for _, th := range proc.Threads() {
			for _, f := range th.Frames {
				got[proc.Strata()[proc.StratumOf(f)].Sampling] += f.Execs
			}
		}
		if err := prof.Close(); err != nil || !maps.Equal(got, want) {
			t.Errorf("seed %d, %v: executions of rows %v, want %v", seed, err, got, want)
		}
	}
}

// leased begins a run of one process.
func leased(t *testing.T, r *recording, o Options) (*Run, *ProcessWriter) {
	t.Helper()
	o.Dirs = []string{r.dir}
	run, err := NewRun(o, abp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := run.NewProcess(abp.Header{Process: 1, Started: time.Unix(1, 0)}, r.prog.blocks)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint32(4) {
		p.AddFunction(abp.Function{Number: i})
		p.AddImage(abp.Image{Number: i})
	}
	return run, p
}

// leases deals the chunks of two threads out to streams, in stretches, some
// chunks in two parts.
func leases(r *recording, streams int) [][]part {
	queues := make([][]part, streams)
	rng := r.prog.rng
	for thread := uint32(1); thread <= 2; thread++ {
		in := &interpreter{p: r.prog}
		r.threads[thread] = in
		to := rng.IntN(streams)
		for chunk := range uint64(30) {
			if rng.IntN(3) == 0 {
				to = rng.IntN(streams)
			}
			var words []uint64
			for range rng.IntN(30) {
				words = r.prog.item(words)
			}
			half := uint64(len(words))
			second := r.prog.loop(nil)
			in.chunk(words)
			in.chunk(second)
			queues[to] = append(queues[to], part{thread, Place{Chunk: chunk}, Place{chunk, half}, words})
			if half == 0 { // a part of nothing
				queues[to] = queues[to][:len(queues[to])-1]
			}
			queues[to] = append(queues[to], part{thread, Place{chunk, half}, Place{Chunk: chunk + 1}, second})
		}
	}
	return queues
}

// TestLeasesAtOnce: streams that work at the same time, each in a goroutine, with a bound. The stream whose frame the
// others' waited for cuts theirs while they encode further ones: it must use nothing of theirs. The race detector looks on.
func TestLeasesAtOnce(t *testing.T) {
	for seed := range uint64(20) {
		r := &recording{dir: filepath.Join(t.TempDir(), "run"), prog: newProgram(seed, 30), threads: map[uint32]*interpreter{}}
		queues := leases(r, 4)
		var all uint64
		for _, in := range r.threads {
			for _, e := range in.out {
				all += uint64(e.completed)
			}
		}
		run, p := leased(t, r, Options{MaxInstructions: 1 + all/2})
		var work sync.WaitGroup
		for _, q := range queues {
			stream := p.NewStream()
			work.Go(func() {
				for i := range q {
					if err := stream.ConsumeAt(int(q[i].thread), q[i].from, q[i].to, q[i].words, q[i].from.Chunk, q[i].from.Chunk+1); err != nil {
						t.Error(err)
					}
					if i+1 == len(q) || q[i+1].from != q[i].to {
						if err := stream.CloseThread(int(q[i].thread)); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		work.Wait()
		if err := p.Close(abp.EndInfo{}); err != nil {
			t.Fatal(err)
		}
		if err := run.Finish(abp.Outcome{State: abp.OutcomeComplete}); err != nil {
			t.Fatal(err)
		}
		prefixOf(t, r)
		if found := problems(t, r.dir); len(found) > 0 {
			t.Error(found)
		}
	}
}

// TestPrefixKeepsMarks: a bound that is reached within what a mark stands for keeps all of it. Blocks of real programs that are executed for the tracer have one instruction.
func TestPrefixKeepsMarks(t *testing.T) {
	r := &recording{dir: filepath.Join(t.TempDir(), "run"), prog: newProgram(1, 30)}
	run, p := leased(t, r, Options{})
	tried := 0
	for id := uint32(1); id <= 30; id++ {
		b := p.blocks.convert(id)
		if b == nil || b.Static.Instructions < 2 {
			continue
		}
		tried++
		words := []uint64{records.Mark(records.MarkEmulated, uint64(id)), 0}
		if got, n := p.prefix(words, 1); !slices.Equal(got, words) || n != 1 {
			t.Errorf("block %d: %x with %d instructions", id, got, n)
		}
	}
	if tried == 0 {
		t.Error("no block has several instructions")
	}
	if err := p.Close(abp.EndInfo{}); err != nil {
		t.Fatal(err)
	}
	if err := run.Finish(abp.Outcome{State: abp.OutcomeComplete}); err != nil {
		t.Fatal(err)
	}
}
