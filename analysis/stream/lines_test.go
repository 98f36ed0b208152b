package stream

import (
	"math/rand/v2"
	"slices"
	"testing"

	"alleria/abp"
	"alleria/abp/abptest"
	"alleria/analysis/lanes"
)

// randomBlocks makes blocks of which some accesses lie across lines.
func randomBlocks(t *testing.T, rng *rand.Rand, n, most int) abptest.Blocks {
	t.Helper()
	m, err := abptest.Random(rng, n, abptest.Shape{Instructions: func() int { return rng.IntN(most) }, Size: func() uint32 { return uint32(rng.IntN(3) * 8) },
		Offset: func() int64 { return int64(0x600000 + rng.IntN(1<<15)*8) }})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestLinesEightAtATime: eight accesses at a time and one by one refer to the same lines in the same order, and hand on about as many as they are asked to.
func TestLinesEightAtATime(t *testing.T) {
	if !lanes.Supported() {
		t.Skip("the processor has no AVX-512")
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 20 {
		most := 40
		if round%5 == 4 {
			most = 600
		}
		m := randomBlocks(t, rng, 30, most)
		proc := abp.Growing(abp.Header{}, m)
		var all [2][]uint64
		many := 1 + rng.IntN(300)
		shift := uint(4 + rng.IntN(5))
		take := func(k int) func([]uint64) {
			return func(keys []uint64) {
				if len(keys) > many+lanes.MostAccesses {
					t.Errorf("%d at once, asked for %d", len(keys), many)
				}
				all[k] = append(all[k], keys...)
			}
		}
		both := []*Lines{NewLines(proc, shift, many, take(0)), newLines(proc, shift, many, take(1))}
		state := abp.Exec{Process: proc, FSBase: 0x7000}
		for range 5 {
			state.FSBase += rng.Uint64N(2) << 20
			var words []uint64
			for range 1000 {
				b := m[1+rng.IntN(len(m)-1)]
				words = append(words, uint64(b.ID))
				for range b.Words {
					words = append(words, rng.Uint64N(1<<47)&^7)
				}
			}
			for _, l := range both {
				l.Stretch(&state, words)
			}
		}
		for _, l := range both {
			l.Flush()
		}
		if !slices.Equal(all[0], all[1]) || len(all[0]) < 1000 {
			t.Fatalf("round %d: %d references, %d one by one", round, len(all[0]), len(all[1]))
		}
	}
}
