package reuse

import (
	"math"
	"math/rand/v2"
	"testing"

	"alleria/abp"
	"alleria/abp/abptest"
	"alleria/analysis/stream"
)

// TestWarmed: of bursts of which a part does not count references and lines are those of what was recorded, and the part that misses a cache is nearer to
// that of the whole.
func TestWarmed(t *testing.T) {
	for _, limit := range []int{0, 2048} {
		rng := rand.New(rand.NewPCG(3, 11))
		// The program goes through memory slowly, so that a burst begins with what was brought since the one before.
		blocks, err := abptest.Random(rng, 60, abptest.Shape{Instructions: func() int { return 1 + rng.IntN(9) }, Size: func() uint32 { return 4 },
			Offset: func() int64 { return int64(0x600000 + rng.IntN(1<<13)) }})
		if err != nil {
			t.Fatal(err)
		}
		proc := abp.Growing(abp.Header{}, blocks)
		o := Options{Line: 64, Limit: limit}
		whole, cold, warm := NewTotals(proc, o), NewTotals(proc, o), NewTotals(proc, o)
		all, wholeSink := whole.Thread()
		plain, coldSink := cold.Thread()
		warmed, warmSink := warm.Thread()
		sink, base := stream.Warm(warmSink), uint64(0)
		for burst := range 200 {
			state := &abp.Exec{Process: proc}
			var words []uint64
			for range 300 {
				b := blocks[1+rng.IntN(len(blocks)-1)]
				words = append(words, uint64(b.ID))
				for range b.Words {
					words = append(words, base+rng.Uint64N(1<<13))
				}
				base += 8
			}
			wholeSink.Stretch(state, words)
			if burst%4 == 3 {
				coldSink.Stretch(state, words)
				sink.(stream.Gapped).Gap()
				sink.Stretch(state, words)
			}
		}
		whole.Add(all, 1)
		cold.Add(plain, 1)
		warm.Add(warmed, 1)
		ratio := func(r *Result) float64 { return r.Curve[len(r.Curve)-1].MissRatio } // first references: nothing is used again much later
		want, without, with := whole.Result(), cold.Result(), warm.Result()
		if with.References != without.References || limit == 0 && with.Lines != without.Lines {
			t.Errorf("%d references to %g lines, recorded %d, %g", with.References, with.Lines, without.References, without.Lines)
		}
		if off := math.Abs(ratio(with) - ratio(want)); off > 0.33*ratio(want) || ratio(without) < 3*ratio(want) || ratio(want) == 0 {
			t.Errorf("of at most %d lines %.4f of the references miss, without warming %.4f, of all %.4f", limit, ratio(with), ratio(without), ratio(want))
		}
	}
}
