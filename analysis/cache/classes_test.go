package cache

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"alleria/abp"
	"alleria/abp/abptest"
	"alleria/analysis/stream"
)

// TestClasses: some processors, each with a class of sets, come to what one does: with accesses in lines of several classes, levels with lines of different sizes, with and without
// the loop in C, parts that do not count, and executions that are cut or emulated.
func TestClasses(t *testing.T) {
	shapes := []map[string]string{
		{"l1d": "32k,8,64", "l1i": "32k,8,64", "l2": "off", "ll": "64k,16,64"},
		{"l1d": "4k,2,64", "l1i": "off", "l2": "16k,8,64", "ll": "128k,16,128"},
		{"l1d": "8k,8,32", "l1i": "2k,4,64", "l2": "16k,8,64", "ll": "64k,16,64,fifo"},
		{"l1d": "4k,4,64,fifo", "l1i": "4k,4,32", "l2": "off", "ll": "off", "dtlb": "64,4,4k", "itlb": "8,2,4k"},
		{"l1d": "4k,4,64,random", "l1i": "4k,4,32,random", "l2": "off", "ll": "32k,8,64,random", "dtlb": "64,4,4k"},
		{"l1d": "4k,4,64", "l1i": "4k,2,64", "l2": "8k,4,64", "ll": "16k,4,64", "inclusion": "inclusive"},
		{"l1d": "4k,4,64", "l1i": "4k,2,64", "l2": "8k,4,64", "ll": "16k,4,64", "inclusion": "exclusive"},
		{"l1d": "2k,4,64,random", "l1i": "off", "l2": "off", "ll": "16k,4,64,fifo", "inclusion": "inclusive", "itlb": ""},
	}
	divided := 0
	for seed := range uint64(16) {
		rng := rand.New(rand.NewPCG(seed, 19))
		blocks := randomBlocks(t, rng, 40+rng.IntN(200))
		proc := abp.Growing(abp.Header{}, blocks)
		o, err := ParseOptions(func(name string) string { return shapes[seed%8][name] })
		if err != nil {
			t.Fatal(err)
		}
		if seed >= 8 {
			o = o.NoVector()
		}
		var feeds []func(s stream.Counted)
		for range 20 {
			words := randomWords(rng, blocks, rng.IntN(300))
			feeds = append(feeds, func(s stream.Counted) {
				s.Stretch(&abp.Exec{Process: proc, FSBase: 0x7e0000000000}, append([]uint64(nil), words...))
			})
			x := abp.Exec{Process: proc, FSBase: 0x7e0000000000}
			cut := randomWords(rng, blocks, 1)
			x.Whole(proc.Block(uint32(cut[0])), cut[1:])
			x.Completed = rng.IntN(len(x.Block.Ins) + 1)
			on := rng.IntN(6) > 0
			feeds = append(feeds, func(s stream.Counted) {
				one := x
				s.Single(&one)
				s.Count(on)
			})
		}
		all := NewTotals(proc, o)
		s := all.Thread()
		for _, f := range feeds {
			f(s)
		}
		all.Add(s, 1)
		want, err := json.Marshal(all.Result())
		if err != nil {
			t.Fatal(err)
		}
		for _, processors := range []int{2, 4, 7} {
			all := NewTotals(proc, o)
			c := all.Classes(processors)
			c.most = 1 + rng.IntN(4000)
			divided = max(divided, len(c.classes))
			for _, f := range feeds {
				f(c)
			}
			all.AddClasses(c, 1)
			got, err := json.Marshal(all.Result())
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Fatalf("seed %d, %d processors: %.900s\none %.900s", seed, processors, got, want)
			}
		}
	}
	if divided != 4 {
		t.Errorf("%d classes at most", divided)
	}
}

// TestClassesOfThreads: so do threads in the order of time, each with first levels of its own in front of a last one that they share, or one after the other in the same caches.
func TestClassesOfThreads(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 23))
		blocks := randomBlocks(t, rng, 40+rng.IntN(100))
		proc := abp.Growing(abp.Header{}, blocks)
		o, err := ParseOptions(func(name string) string {
			return map[string]string{"l1d": []string{"4k,4,64", "4k,4,64,random"}[seed/4%2], "l1i": "2k,2,64", "l2": []string{"", "8k,4,64"}[seed%2], "ll": "16k,4,64", "dtlb": []string{"", "16,4,4k"}[seed/2%2],
				"inclusion": []string{"neither", "inclusive", "exclusive"}[seed%3], "shared-ll": "yes"}[name]
		})
		if err != nil {
			t.Fatal(err)
		}
		o.Part.Windows = 1
		var execs []abp.Exec
		for range 1000 {
			words := randomWords(rng, blocks, 1)
			x := abp.Exec{Process: proc, Thread: uint32(10 + rng.IntN(3)*rng.IntN(2)), FSBase: 0x7e0000000000, Windows: uint64(min(1, rng.IntN(4)))}
			x.Whole(proc.Block(uint32(words[0])), words[1:])
			if rng.IntN(20) == 0 {
				x.Completed = rng.IntN(len(x.Block.Ins) + 1)
			}
			execs = append(execs, x)
		}
		result := func(processors int) string {
			o.Processors = processors
			by := newThreads(NewTotals(proc, o))
			if (by.split != nil) != (processors > 1) {
				t.Fatalf("with %d processors it is not done as was asked for", processors)
			}
			if by.split != nil {
				by.split.most = 1 + rng.IntN(4000)
			}
			for i := range execs {
				x := execs[i]
				by.take(&x)
			}
			by.sum()
			text, err := json.Marshal(by.all.Result())
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		want := result(1)
		for _, processors := range []int{2, 5, 16} {
			if got := result(processors); got != want {
				t.Fatalf("seed %d, %d processors: %.900s\none %.900s", seed, processors, got, want)
			}
		}
	}
}

// TestClassesPanic: what panics on a goroutine of a simulation is the panic of who hands it executions.
func TestClassesPanic(t *testing.T) {
	proc := abp.Growing(abp.Header{}, abptest.Blocks{nil})
	all := NewTotals(proc, Options{L1D: Shape{4096, 4, 64, LRU}})
	c := all.Classes(2)
	defer func() {
		if v := fmt.Sprint(recover()); !strings.Contains(v, ", at ") || !strings.Contains(v, ".go:") {
			t.Errorf("%s", v)
		}
	}()
	c.Stretch(&abp.Exec{Process: proc}, []uint64{7}) // no such block
	all.AddClasses(c, 1)
}

// TestClassesRefused: what cannot be divided is not.
func TestClassesRefused(t *testing.T) {
	for _, o := range []map[string]string{{"l1d": "512,8,64"}, {"l1d": "off"}, {"ll": "2M,1,1M"}} {
		parsed, err := ParseOptions(func(name string) string { return o[name] })
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := parsed.split(8); n != 1 {
			t.Errorf("%v: %d classes", o, n)
		}
	}
}

// TestRandomEviction holds caches of one set that evict at random to another generator's choices, and to what is to be expected of one line more than there are ways: behind a miss
// the line that has gone is any of them, so that 2/(N+1) of the references miss.
func TestRandomEviction(t *testing.T) {
	for _, c := range []struct{ ways, lines uint64 }{{4, 5}, {16, 17}, {16, 24}, {64, 80}, {8, 32}} {
		shape := Shape{c.ways * 64, int(c.ways), 64, Random}
		plain, related := New(shape), newLevel(shape, Inclusive, nil)
		const rounds = 20_000
		var misses, missed uint64
		for i := range rounds * c.lines {
			if plain.Miss(i%c.lines*64, 1) {
				misses++
			}
			missed += uint64(related.access(i%c.lines*64, 1, 6))
		}
		rng := rand.New(rand.NewPCG(c.ways, c.lines))
		var set []uint64
		other := uint64(0)
		for i := range rounds * c.lines {
			switch l := i % c.lines; {
			case slices.Contains(set, l):
				continue
			case len(set) < int(c.ways):
				set = append(set, l)
			default:
				set[rng.IntN(len(set))] = l
			}
			other++
		}
		want := float64(other) / float64(rounds*c.lines)
		if c.lines == c.ways+1 {
			want = 2 / float64(c.lines)
		}
		for _, n := range []uint64{misses, missed} {
			if got := float64(n) / float64(rounds*c.lines); math.Abs(got-want) > 0.02*want {
				t.Errorf("%d lines in %d ways: %.4f of references miss, %.4f are to be expected", c.lines, c.ways, got, want)
			}
		}
	}
}
