package pages

import (
	"maps"
	"math/rand/v2"
	"testing"

	"alleria/abp"
	"alleria/abp/abptest"
	"alleria/analysis/lanes"
)

// random makes blocks of up to most instructions.
func random(t testing.TB, rng *rand.Rand, n, most int) abptest.Blocks {
	t.Helper()
	m, err := abptest.Random(rng, n, abptest.Shape{Instructions: func() int { return rng.IntN(most) }, Offset: func() int64 { return int64(0x600000 + rng.IntN(1<<15)) }})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// executions makes words of whole ones, which stay in a page for a while.
func executions(m abptest.Blocks, rng *rand.Rand, n int) (words []uint64) {
	base := make([]uint64, len(m))
	for range n {
		id := 1 + rng.IntN(len(m)-1)
		if rng.IntN(4) == 0 {
			base[id] = rng.Uint64N(1 << 47)
		}
		words = append(words, uint64(id))
		for range m[id].Words {
			words = append(words, base[id]+rng.Uint64N(64))
		}
	}
	return words
}

// counts is what was told, by page and kind.
type counts map[[2]uint64]uint64

func (c counts) add(shift uint) func(addr uint64, store bool, n uint64) {
	return func(addr uint64, store bool, n uint64) {
		kind := uint64(0)
		if store {
			kind = 1
		}
		c[[2]uint64{addr >> shift, kind}] += n
	}
}

// TestEightAtATime: eight at a time, and one by one, come to what each access by itself does, whatever the cuts between stretches, with blocks of more accesses than
// a plan can have, and when it is asked in between.
func TestEightAtATime(t *testing.T) {
	if !lanes.Supported() {
		t.Skip("the processor has no AVX-512")
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 20 {
		most := 40
		if round%5 == 4 {
			most = 600
		}
		m := random(t, rng, 30, most)
		proc := abp.Growing(abp.Header{}, m)
		shift := uint(rng.IntN(3) * 6)
		vector, scalar, each := counts{}, counts{}, counts{}
		a, b := New(shift, vector.add(shift)), newCounter(shift, scalar.add(shift))
		state := abp.Exec{Process: proc, FSBase: 0x7000}
		one := each.add(shift)
		for range 5 {
			state.FSBase += rng.Uint64N(2) << 20
			words := executions(m, rng, 2000)
			a.Stretch(&state, words)
			b.Stretch(&state, words)
			if rng.IntN(2) == 0 {
				a.Flush()
			}
			x := state
			for i := 0; i < len(words); i += m[words[i]].Words + 1 {
				x.Whole(m[words[i]], words[i+1:])
				x.ForEachAccess(func(m *abp.Mem) { one(m.Addr, m.Store, 1) })
			}
		}
		a.Flush()
		b.Flush()
		if !maps.Equal(vector, each) || !maps.Equal(scalar, each) || len(each) < 100 {
			t.Fatalf("round %d: %d pages, %d one by one, %d by each access", round, len(vector), len(scalar), len(each))
		}
		a.Flush()
		if !maps.Equal(vector, each) {
			t.Fatalf("round %d: a second flush tells something", round)
		}
	}
}

// BenchmarkStretch counts accesses a second.
func BenchmarkStretch(b *testing.B) {
	for name, make := range map[string]func(uint, func(uint64, bool, uint64)) *Counter{"vector": New, "scalar": newCounter} {
		b.Run(name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(3, 4))
			m := random(b, rng, 200, 12)
			words := executions(m, rng, 20000)
			accesses := 0
			for i := 0; i < len(words); i += m[words[i]].Words + 1 {
				accesses += len(m[words[i]].Accesses)
			}
			sum := uint64(0)
			c := make(12, func(_ uint64, _ bool, n uint64) { sum += n })
			state := abp.Exec{Process: abp.Growing(abp.Header{}, m)}
			b.ResetTimer()
			for range b.N {
				c.Stretch(&state, words)
			}
			b.ReportMetric(float64(accesses)*float64(b.N)/b.Elapsed().Seconds()/1e6, "M/s")
		})
	}
}
