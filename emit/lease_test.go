package emit

import (
	"path/filepath"
	"testing"
	"time"

	"alleria/abp"
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
		run, err := NewRun(Options{Dirs: []string{r.dir}}, abp.Run{})
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
