package cache

import (
	"encoding/json"
	"math/rand/v2"
	"runtime"
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

// TestLater: where another goroutine goes on behind the first levels all is counted as by one, also where somebody asks on the way and where its queue is full.
func TestLater(t *testing.T) {
	if !haveVector() {
		t.Skip("the processor has no AVX-512, without which there is one goroutine")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 12))
		blocks := randomBlocks(t, rng, 60)
		proc := abp.Growing(abp.Header{}, blocks)
		o, err := ParseOptions(func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		all := []*Totals{NewTotals(proc, o), NewTotals(proc, o)}
		all[0].AtOnce()
		one, two := all[0].Thread(), all[1].Thread()
		two.when.after = eventWords << 6
		begun := 0
		for range 30 {
			words := randomWords(rng, blocks, 1+rng.IntN(8_000))
			state := &abp.Exec{Process: proc, FSBase: 0x7e0000000000 + rng.Uint64N(2)<<16}
			quiet := rng.IntN(8) == 0
			for _, s := range []*Simulator{one, two} {
				if quiet {
					s.Count(false)
				}
				s.Stretch(state, words)
				if quiet {
					s.Count(true)
				}
			}
			if two.later != nil {
				begun++
			}
		}
		var texts []string
		for i, s := range []*Simulator{one, two} {
			all[i].AddWarmed(s, 1)
			text, err := json.Marshal(all[i].Result())
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
		if texts[0] != texts[1] || begun == 0 || one.later != nil || two.later != nil {
			t.Fatalf("seed %d, begun %d times: %.600s\nby one %.600s", seed, begun, texts[1], texts[0])
		}
	}
}

// TestLaterPanics: what the other goroutine panics with is the panic of who asks what was counted, and nobody waits for it before.
func TestLaterPanics(t *testing.T) {
	if !haveVector() {
		t.Skip("the processor has no AVX-512, without which there is one goroutine")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	rng := rand.New(rand.NewPCG(1, 13))
	blocks := randomBlocks(t, rng, 60)
	proc := abp.Growing(abp.Header{}, blocks)
	o, err := ParseOptions(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	all := NewTotals(proc, o)
	s := all.Thread()
	s.when.after = eventWords << 6
	state := &abp.Exec{Process: proc}
	s.Stretch(state, randomWords(rng, blocks, 8_000))
	if s.later == nil {
		t.Fatal("not begun")
	}
	s.item(item{}) // of no instruction
	for range 20 {
		s.Stretch(state, randomWords(rng, blocks, 8_000))
	}
	defer func() {
		if recover() == nil {
			t.Error("nobody heard of it")
		}
	}()
	all.Add(s, 1)
}

// TestMasked: accesses of which a word says which lanes there are come to what each lane does by itself, in lines that they cross and in executions that are cut.
func TestMasked(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 14))
		blocks := randomBlocks(t, rng, 60)
		for _, b := range blocks[1:] {
			for k := range b.Accesses {
				if a := &b.Accesses[k]; rng.IntN(3) == 0 && b.Words >= 2 {
					a.Kind, a.Lanes, a.Size, a.Word, a.AuxWord = abp.AccessMasked, uint8(1+rng.IntN(64)), 1<<rng.IntN(4), int16(rng.IntN(b.Words)), int16(rng.IntN(b.Words))
				}
			}
			if err := b.Prepare(); err != nil {
				t.Fatal(err)
			}
		}
		proc := abp.Growing(abp.Header{}, blocks)
		o := Options{L1D: Shape{4096, 4, 64, LRU}, LL: Shape{64 << 10, 8, 64, LRU}}
		words := randomWords(rng, blocks, 5_000)
		all, first, last, want := NewTotals(proc, o), New(o.L1D), New(o.LL), Misses{}
		s := all.Thread()
		eachExecution(proc, words, func(x *abp.Exec) {
			cut := rng.IntN(9) == 0
			if cut {
				x.Completed = rng.IntN(1 + len(x.Block.Ins))
			}
			x.ForEachAccess(func(m *abp.Mem) {
				n := map[bool][3]*uint64{true: {&want.Writes, &want.L1DWrite, &want.LLWrite}, false: {&want.Reads, &want.L1DRead, &want.LLRead}}[m.Store]
				*n[0]++
				if m.Size == 0 || !first.Miss(m.Addr, uint64(m.Size)) {
					return
				}
				*n[1]++
				if last.Miss(m.Addr, uint64(m.Size)) {
					*n[2]++
				}
			})
			if cut {
				s.Single(x)
			} else {
				s.Stretch(x, append([]uint64{uint64(x.Block.ID)}, x.Words...))
			}
		})
		all.Add(s, 1)
		got := all.Result().Total
		if got.Executed = 0; got != want || want.LLRead == 0 {
			t.Fatalf("seed %d: %+v, each by itself %+v", seed, got, want)
		}
	}
}
