package stream

import (
	"math/rand/v2"
	"slices"
	"testing"

	"alleria/abp"
)

// madeUp is a source of random blocks.
type madeUp []*abp.Block

func (m madeUp) Block(id uint32) *abp.Block {
	if int(id) < len(m) {
		return m[id]
	}
	return nil
}
func (m madeUp) Image(uint32) *abp.Image       { return nil }
func (m madeUp) Function(uint32) *abp.Function { return nil }
func (m madeUp) Snapshots() []abp.Snapshot     { return nil }
func (m madeUp) Images(int) []*abp.Image       { return nil }
func (m madeUp) Functions(int) []*abp.Function { return nil }

// randomBlocks makes blocks with accesses of all kinds of plainness, some of them across lines.
func randomBlocks(t *testing.T, rng *rand.Rand, n, most int) madeUp {
	t.Helper()
	out := madeUp{nil}
	for id := 1; id < n; id++ {
		b := &abp.Block{ID: uint32(id), Addr: 0x400000, Words: rng.IntN(14), TimeWord: abp.NoWord, BranchWord: abp.NoWord}
		for range rng.IntN(most) {
			in := abp.Ins{Off: uint16(len(b.Code)), Len: 1, Flags: abp.InsRecorded | abp.InsAddrs | abp.InsMemory, AccFrom: uint16(len(b.Accesses))}
			b.Code = append(b.Code, 0x90)
			for range rng.IntN(3) {
				a := abp.Access{Store: rng.IntN(2) == 0, AddrBits: 64, Size: uint32(rng.IntN(3) * 8), Word: abp.NoWord, AuxWord: abp.NoWord, IndexWord: abp.NoWord, Value: abp.NoWord}
				a.Offset = int64(0x600000 + rng.IntN(1<<15)*8)
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

// TestLinesEightAtATime: eight accesses at a time and one by one refer to the same lines in the same order, and hand on about as many as they are asked to.
func TestLinesEightAtATime(t *testing.T) {
	if !haveVector() {
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
				if len(keys) > many+lanes*mostGroups {
					t.Errorf("%d at once, asked for %d", len(keys), many)
				}
				all[k] = append(all[k], keys...)
			}
		}
		both := []*Lines{NewLines(proc, shift, many, take(0)), newLines(proc, shift, many, take(1))}
		state := abp.Exec{Process: proc, FSBase: 0x7000}
		for range 5 {
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
