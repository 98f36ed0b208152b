package pages

import (
	"maps"
	"math/rand/v2"
	"testing"

	"alleria/abp"
)

// blocks are a source's.
type blocks []*abp.Block

func (m blocks) Block(id uint32) *abp.Block {
	if int(id) < len(m) {
		return m[id]
	}
	return nil
}
func (m blocks) Image(uint32) *abp.Image       { return nil }
func (m blocks) Function(uint32) *abp.Function { return nil }
func (m blocks) Snapshots() []abp.Snapshot     { return nil }
func (m blocks) Images(int) []*abp.Image       { return nil }
func (m blocks) Functions(int) []*abp.Function { return nil }

// random makes blocks of up to most instructions, with accesses of all kinds of plainness.
func random(t testing.TB, rng *rand.Rand, n, most int) blocks {
	out := blocks{nil}
	for id := 1; id < n; id++ {
		b := &abp.Block{ID: uint32(id), Addr: 0x400000, Words: rng.IntN(14), TimeWord: abp.NoWord, BranchWord: abp.NoWord}
		for range rng.IntN(most) {
			in := abp.Ins{Off: uint16(len(b.Code)), Len: 1, Flags: abp.InsRecorded | abp.InsAddrs | abp.InsMemory, AccFrom: uint16(len(b.Accesses))}
			b.Code = append(b.Code, 0x90)
			for range rng.IntN(3) {
				a := abp.Access{Store: rng.IntN(2) == 0, AddrBits: 64, Size: 8, Word: abp.NoWord, AuxWord: abp.NoWord, IndexWord: abp.NoWord, Value: abp.NoWord}
				a.Offset = int64(0x600000 + rng.IntN(1<<15))
				if b.Words > 0 && rng.IntN(8) > 0 {
					a.Word, a.Offset = int16(rng.IntN(b.Words)), int64(rng.IntN(200)-100)
				}
				if rng.IntN(200) == 0 {
					a.Seg = abp.SegFS
				}
				b.Accesses = append(b.Accesses, a)
			}
			in.AccTo = uint16(len(b.Accesses))
			b.Ins = append(b.Ins, in)
		}
		if err := b.Prepare(); err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// executions makes words of whole ones, which stay in a page for a while.
func (m blocks) executions(rng *rand.Rand, n int) (words []uint64) {
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
	if !haveVector() {
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
			words := m.executions(rng, 2000)
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
			words := m.executions(rng, 20000)
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
