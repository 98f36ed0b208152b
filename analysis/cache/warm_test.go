package cache

import (
	"math"
	"math/rand/v2"
	"testing"

	"alleria/abp"
	"alleria/abp/abptest"
	"alleria/analysis/stream"
)

// TestWarmed: of bursts that have warmed caches executions and accesses are those of what was recorded, and the part of accesses that miss is nearer to
// that of the whole.
func TestWarmed(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 11))
		// The program goes through memory slowly, so that a burst begins with what was brought since the one before.
		blocks, err := abptest.Random(rng, 60, abptest.Shape{Addr: func() uint64 { return 0x400000 + uint64(rng.IntN(1<<13)) }, Instructions: func() int { return 1 + rng.IntN(9) },
			Bytes: func() int { return 1 + rng.IntN(9) }, Size: func() uint32 { return 4 }, Offset: func() int64 { return int64(0x600000 + rng.IntN(1<<13)) }})
		if err != nil {
			t.Fatal(err)
		}
		proc := abp.Growing(abp.Header{}, blocks)
		o, err := ParseOptions(func(name string) string { return map[string]string{"l1d": "64k,8,64", "ll": "off"}[name] })
		if err != nil {
			t.Fatal(err)
		}
		whole, cold, warm := NewTotals(proc, o), NewTotals(proc, o), NewTotals(proc, o)
		all, plain, warmed := whole.Thread(), cold.Thread(), warm.Thread()
		sink := stream.Warm(warmed)
		base := uint64(0)
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
			all.Stretch(state, words)
			if burst%4 == 3 {
				plain.Stretch(state, words)
				sink.(stream.Gapped).Gap()
				sink.Stretch(state, words)
			}
		}
		whole.Add(all, 1)
		cold.Add(plain, 1)
		warm.AddWarmed(warmed, 1)
		ratio := func(m *Misses) float64 { return float64(m.L1DRead+m.L1DWrite) / float64(m.Reads+m.Writes) }
		want, without, with := whole.Result().Total, cold.Result().Total, warm.Result().Total
		if with.Executed != without.Executed || with.Reads != without.Reads || with.Writes != without.Writes {
			t.Errorf("seed %d: %+v, recorded %+v", seed, with, without)
		}
		if off := math.Abs(ratio(&with) - ratio(&want)); off > 0.33*ratio(&want) || ratio(&without) < 3*ratio(&want) {
			t.Errorf("seed %d: %.4f of the accesses miss, without warming %.4f, of all %.4f", seed, ratio(&with), ratio(&without), ratio(&want))
		}
	}
}
