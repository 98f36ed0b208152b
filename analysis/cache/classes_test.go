package cache

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"alleria/abp"
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
	}
	divided := 0
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 19))
		blocks := randomBlocks(t, rng, 40+rng.IntN(200))
		proc := abp.Growing(abp.Header{}, blocks)
		o, err := ParseOptions(func(name string) string { return shapes[seed%4][name] })
		if err != nil {
			t.Fatal(err)
		}
		if seed%8 >= 4 {
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

// TestClassesRefused: what cannot be divided is not.
func TestClassesRefused(t *testing.T) {
	for _, o := range []map[string]string{{"l1d": "32k,8,64,random"}, {"l1d": "512,8,64"}, {"inclusion": "inclusive"}, {"shared-ll": "yes"}, {"l1d": "off"}, {"ll": "2M,1,1M"}} {
		parsed, err := ParseOptions(func(name string) string { return o[name] })
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := parsed.split(8); n != 1 {
			t.Errorf("%v: %d classes", o, n)
		}
	}
}
