package cache

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"alleria/abp"
	"alleria/abp/abptest"
)

// randomBlocks makes blocks of some instructions, most of which access memory.
func randomBlocks(t *testing.T, rng *rand.Rand, n int) abptest.Blocks {
	t.Helper()
	m, err := abptest.Random(rng, n, abptest.Shape{Addr: func() uint64 { return 0x400000 + uint64(rng.IntN(1<<15)) }, Instructions: func() int { return 1 + rng.IntN(30) },
		Bytes: func() int { return 1 + rng.IntN(9) }, Size: func() uint32 { return uint32(1 + rng.IntN(64)) }, Offset: func() int64 { return int64(0x600000 + rng.IntN(1<<15)) }})
	if err != nil {
		t.Fatal(err)
	}
	return m
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
		words := randomWords(rng, blocks, 20_000)
		state := &abp.Exec{Process: proc, FSBase: 0x7e0000000000}
		result := func(o Options) []byte {
			all := NewTotals(proc, o)
			s := all.Thread()
			if (s.filter == nil) != o.oneByOne {
				t.Fatal("it is not done as was asked for")
			}
			s.Stretch(state, words)
			s.Stretch(&abp.Exec{Process: proc, FSBase: 0x7e0000002340}, words) // another base of fs
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
