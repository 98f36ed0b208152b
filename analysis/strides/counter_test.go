package strides

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"syscall"
	"testing"
	"time"

	"alleria/abp"
	"alleria/abp/abptest"
)

// walks are addresses of all kinds: by a few strides, at random, at one place, downwards, and with more different strides than have room.
func walks(n int) map[string][]uint64 {
	rng := rand.New(rand.NewPCG(1, 2))
	out := map[string][]uint64{"none": nil, "one": {77}, "same": {5, 5, 5}, "two": {1 << 40, 1}, "none at first": {0, 0, 8, 16}}
	for name, next := range map[string]func(a uint64, i int) uint64{
		"strided": func(a uint64, _ int) uint64 { return a + 24 },
		"down":    func(a uint64, i int) uint64 { return a - 8*uint64(i%3) },
		"mixed":   func(a uint64, i int) uint64 { return a + [...]uint64{8, 8, 8, 4096, 16}[i%5] },
		"random":  func(uint64, int) uint64 { return 1<<40 + 8*rng.Uint64N(1<<20) },
		"few":     func(uint64, int) uint64 { return 1<<40 + 8*rng.Uint64N(6) },
	} {
		a := uint64(1 << 41)
		for i := range n {
			out[name] = append(out[name], a)
			a = next(a, i)
		}
	}
	return out
}

// naive counts the addresses of an operand.
type naive struct {
	n, low, high, last, others uint64
	strides                    map[int64]uint64
}

func (w *naive) access(a uint64) {
	if w.n++; w.n == 1 {
		w.low, w.high, w.last, w.strides = a, a, a, map[int64]uint64{}
		return
	}
	s := int64(a - w.last)
	w.low, w.high, w.last = min(w.low, a), max(w.high, a), a
	if _, known := w.strides[s]; !known && len(w.strides) == most {
		w.others++
		return
	}
	w.strides[s]++
}

// compare tells in what an operand of a result differs.
func (w *naive) compare(t *testing.T, name string, o *Operand) {
	t.Helper()
	if w.n != o.Accesses || w.low != o.Low || w.high != o.High || w.others != o.Others {
		t.Errorf("%s: %d accesses from %#x to %#x, %d others; want %d, %#x, %#x, %d", name, o.Accesses, o.Low, o.High, o.Others, w.n, w.low, w.high, w.others)
	}
	got := map[int64]uint64{}
	for _, s := range o.Strides {
		got[s.Bytes] = s.Count
	}
	if !maps.Equal(got, w.strides) || len(got) != len(o.Strides) {
		t.Errorf("%s: strides %v, want %v", name, got, w.strides)
	}
}

// TestTracks compares what is known of addresses with counting each by itself.
func TestTracks(t *testing.T) {
	m, err := abptest.Random(rand.New(rand.NewPCG(1, 1)), 2, abptest.Shape{Instructions: func() int { return 1 }, Offset: func() int64 { return 0x600000 }})
	if err != nil {
		t.Fatal(err)
	}
	for name, addrs := range walks(5000) {
		all := NewTotals(abp.Growing(abp.Header{}, m))
		c, w := all.Thread(), naive{}
		n := c.number(m[1], 0, false, 8)
		for _, a := range addrs {
			c.access(n, a)
			w.access(a)
		}
		all.Add(c, 1)
		r := all.Result()
		if len(addrs) == 0 {
			if len(r.Operands) != 0 {
				t.Errorf("%s: %d operands", name, len(r.Operands))
			}
			continue
		}
		w.compare(t, name, &r.Operands[0])
	}
}

// TestEightAtATime: eight accesses at a time, and one by one, come to what counting each does, with blocks that have instructions in common, some of
// which load twice, with blocks of more accesses than a plan can have, and whatever the cuts between stretches.
func TestEightAtATime(t *testing.T) {
	if !haveVector() {
		t.Skip("the processor has no AVX-512")
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 10 {
		most := 40
		if round%5 == 4 {
			most = 600
		}
		m, err := abptest.Random(rng, 30, abptest.Shape{Instructions: func() int { return rng.IntN(most) }, Offset: func() int64 { return int64(0x600000 + rng.IntN(1<<15)) }})
		if err != nil {
			t.Fatal(err)
		}
		proc := abp.Growing(abp.Header{}, m)
		var all [2]*Totals
		var counters [2]*Counter
		for i := range all {
			all[i] = NewTotals(proc)
		}
		counters[0], counters[1] = NewCounter(proc), newCounter(proc)
		want := map[operand]*naive{}
		state := abp.Exec{Process: proc, FSBase: 0x7000}
		for range 3 {
			words := executions(m, rng, 1000)
			for _, c := range counters {
				c.Stretch(&state, words)
			}
			follow(want, state, m, words)
		}
		for i, c := range counters {
			all[i].Add(c, 1)
		}
		one, other := all[0].Result(), all[1].Result()
		if !reflect.DeepEqual(one, other) || len(one.Operands) != len(want) || len(want) < 20 {
			t.Fatalf("round %d: %d operands, one by one %d, want %d; or they differ", round, len(one.Operands), len(other.Operands), len(want))
		}
		for i := range one.Operands {
			o := &one.Operands[i]
			want[operand{o.Address, 0, o.Store}].compare(t, fmt.Sprintf("round %d, %#x", round, o.Address), o)
		}
	}
}

// executions makes words of whole ones: by a stride of the block, with jumps now and then.
func executions(m abptest.Blocks, rng *rand.Rand, n int) (words []uint64) {
	base := make([]uint64, len(m))
	for range n {
		id := 1 + rng.IntN(min(len(m)-1, 1+rng.IntN(len(m)-1)))
		base[id] += uint64(id % 3 * 8)
		if rng.IntN(4) == 0 {
			base[id] = rng.Uint64N(1 << 8)
		}
		words = append(words, uint64(id))
		for k := range m[id].Words {
			words = append(words, 1<<40+base[id]*uint64(k%4))
		}
	}
	return words
}

// follow counts each access by itself.
func follow(want map[operand]*naive, x abp.Exec, m abptest.Blocks, words []uint64) {
	for i := 0; i < len(words); i += m[words[i]].Words + 1 {
		b := m[words[i]]
		x.Whole(b, words[i+1:])
		for k := range b.Ins {
			x.InsAccesses(k, func(mem *abp.Mem) {
				key := operand{b.InsAddr(k), 0, mem.Store}
				if want[key] == nil {
					want[key] = new(naive)
				}
				want[key].access(mem.Addr)
			})
		}
	}
}

// processorTime is the process's so far: others use the machine as well.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAccess takes addresses of a hundred operands by turns.
func BenchmarkAccess(b *testing.B) {
	for name, addrs := range walks(4096) {
		if len(addrs) < 4096 {
			continue
		}
		b.Run(name, func(b *testing.B) {
			m, err := abptest.Random(rand.New(rand.NewPCG(1, 1)), 2, abptest.Shape{Instructions: func() int { return 1 }, Offset: func() int64 { return 0x600000 }})
			if err != nil {
				b.Fatal(err)
			}
			c := NewCounter(abp.Growing(abp.Header{}, m))
			c.tracks.Grow(100)
			c.strides.grow(100)
			begin := processorTime()
			for b.Loop() {
				for _, a := range addrs {
					for i := range uint32(100) {
						c.access(i, a)
					}
				}
			}
			b.ReportMetric(float64(b.N)*4096*100/1e6/(processorTime()-begin).Seconds(), "Maccesses/cpu-s")
		})
	}
}
