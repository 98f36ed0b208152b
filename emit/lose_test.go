package emit

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"alleria/abp"
)

// TestLose has consuming panic at every kind of place, in threads whose chunks wander between streams: what is written and what is counted as
// lost are together what there was, and what is written can be read.
func TestLose(t *testing.T) {
	for seed := range uint64(20) {
		for _, at := range []string{"before", "within", "behind", "closing"} {
			t.Run(fmt.Sprint(at, seed), func(t *testing.T) { loseAt(t, seed, at) })
		}
	}
}

func loseAt(t *testing.T, seed uint64, at string) {
	prog, dir := newProgram(seed, 30), filepath.Join(t.TempDir(), "run")
	run, err := NewRun(Options{Dirs: []string{dir}}, abp.Run{Tool: "test"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := run.NewProcess(abp.Header{Process: 1, TSCFrequency: 1e9}, prog.blocks)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint32(4) {
		p.AddFunction(abp.Function{Number: i, Name: fmt.Sprint("f", i), Addr: 0x400000})
		p.AddImage(abp.Image{Number: i, Path: fmt.Sprint("/lib/", i)})
	}
	streams := []*Stream{p.StreamOf(0), p.StreamOf(3)}
	rng, in, fed := prog.rng, map[int]*interpreter{}, map[int]uint64{}
	const chunks = 40
	for i := range chunks {
		thread := 1 + rng.IntN(2)
		if in[thread] == nil {
			in[thread] = &interpreter{p: prog}
		}
		var words []uint64
		for range 5 + rng.IntN(40) {
			words = prog.item(words)
		}
		in[thread].chunk(words)
		s := streams[rng.IntN(2)]
		from, to := Place{Chunk: fed[thread]}, Place{Chunk: fed[thread] + 1}
		fed[thread]++
		if i != chunks/2 {
			if err := s.ConsumeAt(thread, from, to, words, uint64(1000*i), uint64(1000*i+900)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		panicsAt(t, s, at, thread, from, to, words, uint64(1000*i))
		s.Lose(thread, from, to, words)
	}
	if err := p.Close(abp.EndInfo{Ended: 5e9}); err != nil {
		t.Fatal(err)
	}
	if err := run.Finish(abp.Outcome{State: abp.OutcomeCutOff}); err != nil {
		t.Fatal(err)
	}
	want := uint64(0)
	for _, i := range in {
		want += i.ordinal
	}
	counts, _ := p.Counts()
	lost := p.Lost()
	if counts.Instructions+lost.Instructions != want {
		t.Errorf("%d instructions written, %d lost, %d there were", counts.Instructions, lost.Instructions, want)
	}
	if (lost.Instructions == 0) != (at == "behind") {
		t.Errorf("%d instructions lost", lost.Instructions)
	}
	for _, pr := range problems(t, dir) {
		if !pr.CutOff {
			t.Error(pr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "p1", "4.abp")); err != nil {
		t.Error(err)
	}
}

// panicsAt leaves a stream as a panic does.
func panicsAt(t *testing.T, s *Stream, at string, thread int, from, to Place, words []uint64, now uint64) {
	t.Helper()
	switch at {
	case "before": // while another frame was looked for
	case "within": // half of the words are encoded
		f, err := s.frameFor(uint32(thread), from)
		if err != nil {
			t.Fatal(err)
		}
		f.chunk = begun{on: true, words: words, plus: f.plus, minus: f.minus, execs: f.enc.Execs()}
		it, half := s.p.raw(words), 0
		for it.Next() && it.To <= len(words)/2 {
			half = it.To
		}
		if err := f.enc.Chunk(words[:half], 0, 0); err != nil {
			t.Fatal(err)
		}
	case "behind": // the words are in a frame that is whole
		if err := s.ConsumeAt(thread, from, to, words, now, now+900); err != nil {
			t.Fatal(err)
		}
	case "closing": // the frame with the words is about to be closed
		if err := s.ConsumeAt(thread, from, to, words, now, now+900); err != nil {
			t.Fatal(err)
		}
		for i, f := range s.open {
			if f.thread.Number == uint32(thread) {
				s.closing = f
				s.open = append(s.open[:i:i], s.open[i+1:]...)
				return
			}
		}
	}
}
