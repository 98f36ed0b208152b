package cache

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPolicies compares with lists that are kept in the obvious way.
func TestPolicies(t *testing.T) {
	for _, text := range []string{"512,4,32", "512,4,32,fifo", "64,2,32", "1k,8,128"} {
		s, err := ParseShape(text)
		if err != nil {
			t.Fatal(err)
		}
		c := New(s)
		sets := s.Size / s.Line / uint64(s.Ways)
		model := make([][]uint64, sets) // the one that goes next is last
		rng := rand.New(rand.NewPCG(1, 2))
		for range 20_000 {
			addr, size := rng.Uint64N(8192), 1+rng.Uint64N(40)
			want := false
			for l := addr / s.Line; l <= (addr+size-1)/s.Line; l++ {
				set := &model[l%sets]
				if i := slices.Index(*set, l); i >= 0 {
					if s.Policy == LRU {
						*set = slices.Insert(slices.Delete(*set, i, i+1), 0, l)
					}
					continue
				}
				want = true
				*set = slices.Insert(*set, 0, l)
				*set = (*set)[:min(len(*set), s.Ways)]
			}
			if got := c.Miss(addr, size); got != want {
				t.Fatalf("%s: %d bytes at %d: miss %v, want %v", text, size, addr, got, want)
			}
		}
	}
	// Random: a line that was just brought in is there, and a set keeps no more than its ways.
	c := New(Shape{Size: 128, Ways: 4, Line: 32, Policy: Random})
	misses := 0
	for i := range uint64(1000) {
		c.Miss(i*32, 1)
		if c.Miss(i*32, 1) {
			t.Fatal("a line that was just used is missing")
		}
	}
	for i := range uint64(1000) {
		if c.Miss(i*32, 1) {
			misses++
		}
	}
	if misses < 990 {
		t.Errorf("%d of 1000 lines missed a cache of four", misses)
	}
}

// TestParseShape has what is refused.
func TestParseShape(t *testing.T) {
	for _, bad := range []string{"", "32k", "32k,8", "32k,8,63", "32k,0,64", "32k,-1,64", "x,8,64", "32k,8,64,mru", "33k,8,64", "48k,8,64", "64,2,64", "999G,8,64", "32kk,8,64", "32k,8,4"} {
		if s, err := ParseShape(bad); err == nil {
			t.Errorf("%q was taken for %v", bad, s)
		}
	}
	for _, good := range []string{"32k,8,64", "48k,12,64", "64,1,64", "8M,16,64,lru", "1k,16,64,random"} {
		s, err := ParseShape(good)
		if err != nil {
			t.Error(err)
		}
		if again, err := ParseShape(s.String()); err != nil || again != s {
			t.Errorf("%v: %v %v", s, again, err)
		}
	}
}

// FuzzParseShape: whatever is taken makes a cache.
func FuzzParseShape(f *testing.F) {
	f.Add("32k,8,64")
	f.Add("1k,16,64,fifo")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseShape(text); err == nil && s.Size <= 1<<20 {
			New(s).Miss(1, 8)
		}
	})
}
