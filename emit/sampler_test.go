package emit

import (
	"errors"
	"path/filepath"
	"testing"

	"alleria/abp"
	"alleria/internal/records"
)

// TestSampledLosses: where instructions are sampled, words that no engine writes end a frame and not what comes behind
// it, and what a panic loses is counted by the engine's blocks and not by the profile's, whose numbers differ.
func TestSampledLosses(t *testing.T) {
	for seed := range uint64(10) {
		prog := newProgram(seed, 30)
		run, err := NewRun(Options{Dirs: []string{filepath.Join(t.TempDir(), "run")}}, abp.Run{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := run.NewProcess(abp.Header{Process: 1}, prog.blocks)
		if err != nil {
			t.Fatal(err)
		}
		p.Sample() // no block has a rate: all is kept
		out := p.SinkOf(0)
		in := &interpreter{p: prog}
		const chunks = 6
		for i := range uint64(chunks) {
			var words []uint64
			for range 5 + prog.rng.IntN(40) {
				words = prog.item(words)
			}
			in.chunk(words)
			from, to := Place{Chunk: i}, Place{Chunk: i + 1}
			if i == 2 {
				words = append(words, 1<<20) // no such block
			}
			if i == 4 {
				out.Lose(1, from, to, words)
				continue
			}
			if err := out.ConsumeAt(1, from, to, words, i, i+1); errors.Is(err, records.ErrMalformed) != (i == 2) {
				t.Errorf("seed %d, chunk %d: %v", seed, i, err)
			}
		}
		if err := p.Close(abp.EndInfo{}); err != nil {
			t.Fatal(err)
		}
		if err := run.Finish(abp.Outcome{State: abp.OutcomeCutOff}); err != nil {
			t.Fatal(err)
		}
		counts, _ := p.Counts()
		if lost := p.Lost(); counts.Instructions+lost.Instructions != in.ordinal || lost.Instructions == 0 {
			t.Errorf("seed %d: %d written, %d lost, %d there were", seed, counts.Instructions, lost.Instructions, in.ordinal)
		}
	}
}
