package cache

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"alleria/abp"
)

// madeUp is a process of random blocks.
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

// randomBlocks makes blocks of some instructions, most of which access memory.
func randomBlocks(t *testing.T, rng *rand.Rand, n int) madeUp {
	t.Helper()
	out := madeUp{nil}
	for id := 1; id < n; id++ {
		b := &abp.Block{ID: uint32(id), Addr: 0x400000 + uint64(rng.IntN(1<<15)), Words: rng.IntN(14), TimeWord: abp.NoWord, BranchWord: abp.NoWord}
		for range 1 + rng.IntN(30) {
			in := abp.Ins{Off: uint16(len(b.Code)), Len: uint8(1 + rng.IntN(9)), Flags: abp.InsRecorded | abp.InsAddrs | abp.InsMemory, AccFrom: uint16(len(b.Accesses))}
			b.Code = append(b.Code, make([]byte, in.Len)...)
			for range rng.IntN(3) {
				a := abp.Access{Store: rng.IntN(2) == 0, AddrBits: 64, Size: uint32(1 + rng.IntN(64)), Word: abp.NoWord, AuxWord: abp.NoWord, IndexWord: abp.NoWord, Value: abp.NoWord}
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

// TestEightAtATime: eight accesses at a time come to what one after the other does.
func TestEightAtATime(t *testing.T) {
	if !haveVector() {
		t.Skip("the processor has no AVX-512")
	}
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 7))
		blocks := randomBlocks(t, rng, 40+rng.IntN(300))
		proc := abp.Growing(abp.Header{}, blocks)
		o, err := ParseOptions(func(name string) string {
			all, ok := map[string][]string{"l1d": {"32k,8,64", "4k,2,64", "8k,8,32"}, "l1i": {"32k,8,64", "off", "2k,4,64"}, "ll": {"64k,16,64", "8M,16,64", "off"},
				"l2": {"off", "16k,8,64", "off"}}[name]
			if !ok {
				return ""
			}
			return all[seed%3]
		})
		if err != nil {
			t.Fatal(err)
		}
		var words []uint64
		for range 20_000 {
			id := 1 + min(rng.IntN(len(blocks)-1), rng.IntN(len(blocks)-1))
			words = append(words, uint64(id))
			for range blocks[id].Words {
				words = append(words, 0x7f0000000000+uint64(rng.ExpFloat64()*20000))
			}
		}
		state := &abp.Exec{Process: proc, FSBase: 0x7e0000000000}
		result := func(o Options) []byte {
			all := NewTotals(proc, o)
			s := all.Thread()
			if (s.filter == nil) != o.oneByOne {
				t.Fatal("it is not done as was asked for")
			}
			s.Stretch(state, words)
			s.Stretch(state, words[:0])
			all.Add(s, 1)
			text, err := json.Marshal(all.Result())
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		if got, want := result(o), result(o.NoVector()); string(got) != string(want) {
			t.Fatalf("seed %d: %.600s\none by one %.600s", seed, got, want)
		}
	}
}
