package reuse

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// trace is lines with all kinds of locality: loops, a walk, a stack.
func trace(n int) []uint64 {
	rng := rand.New(rand.NewPCG(3, 4))
	out := make([]uint64, 0, n)
	for i := range n {
		switch rng.IntN(4) {
		case 0:
			out = append(out, uint64(i%700))
		case 1:
			out = append(out, 10_000+uint64(rng.ExpFloat64()*300))
		case 2:
			out = append(out, 1<<40+uint64(rng.IntN(5000)))
		default:
			if i > 0 {
				out = append(out, out[i-1])
			} else {
				out = append(out, 0)
			}
		}
	}
	return out
}

// TestExact compares with a list of lines in the order of their last uses.
func TestExact(t *testing.T) {
	c := New(64, 0)
	var stack []uint64
	want := make([]float64, 400)
	cold := 0.0
	epoch, sets := map[uint64]bool{}, []uint64{}
	refs := trace(60_000)
	for i, l := range refs {
		if i%1024 == 0 && i > 0 {
			sets = append(sets, uint64(len(epoch)))
			clear(epoch)
		}
		epoch[l] = true
		c.refer([]uint64{l + 1})
		k := slices.Index(stack, l)
		if k < 0 {
			cold++
			stack = slices.Insert(stack, 0, l)
			continue
		}
		want[bucket(uint64(k))]++
		copy(stack[1:k+1], stack[:k])
		stack[0] = l
	}
	sets = append(sets, uint64(len(epoch)))
	if c.Cold != cold || c.Refs != uint64(len(refs)) {
		t.Errorf("%v first references of %d, want %v", c.Cold, c.Refs, cold)
	}
	for b, n := range want {
		if got := at(c.Hist, b); got != n {
			t.Errorf("distances from %d: %v, want %v", bucketFrom(b), got, n)
		}
	}
	if got := c.sets.of(0); !slices.Equal(got, sets) {
		t.Errorf("working sets %v, want %v", got, sets)
	}
}

// TestWorkingSets: stretches of all lengths that are kept have the lines that were used in them, and are neither
// too many nor too few.
func TestWorkingSets(t *testing.T) {
	c := New(64, 0)
	refs := trace(1 << 19)
	for _, l := range refs {
		c.refer([]uint64{l + 1})
	}
	if n := len(c.sets.of(c.sets.shortest)); n > mostStretches || n < toldStretches {
		t.Errorf("%d stretches", n)
	}
	for s := c.sets.shortest; s < c.sets.shortest+9; s++ {
		var want []uint64
		for at := 0; at < len(refs); {
			seen := map[uint64]bool{}
			for end := min(at+1<<(s+unitBits), len(refs)); at < end; at++ {
				seen[refs[at]] = true
			}
			want = append(want, uint64(len(seen)))
		}
		if got := c.sets.of(s); !slices.Equal(got, want) {
			t.Errorf("stretches of %d units: %v, want %v", 1<<s, got, want)
		}
	}
}

func at(h []float64, b int) float64 {
	if b < len(h) {
		return h[b]
	}
	return 0
}

// TestSampled: curves of samples, which lie elsewhere each time, are near the exact one, and no more lines are followed
// than were allowed. Both ways of counting have the same sample, to the last bit.
func TestSampled(t *testing.T) {
	exact, refs := New(64, 0), trace(200_000)
	for _, l := range refs {
		exact.refer([]uint64{l + 1})
	}
	const tries = 12
	off := map[uint64]float64{}
	rng := rand.New(rand.NewPCG(5, 6))
	for range tries {
		base := rng.Uint64N(1 << 41)
		sample, plain := New(64, 1500), newCounter(64, 1500)
		for _, l := range refs {
			sample.refer([]uint64{base + l + 1})
			plain.refer([]uint64{base + l + 1})
		}
		hist, cold := sample.found()
		if h, c := plain.found(); !slices.Equal(h, hist) || c != cold || !slices.Equal(plain.heap, sample.heap) {
			t.Errorf("one by one %v first references, by the loop in C %v", c, cold)
		}
		if len(sample.heap) > 1500 || sample.used != len(sample.heap) || sample.Rate() > 0.6 {
			t.Errorf("%d lines in the heap, %d in the table, rate %v", len(sample.heap), sample.used, sample.Rate())
		}
		for size := uint64(1); size < 1<<14; size *= 2 {
			d := exact.MissRatio(size) - sample.MissRatio(size)
			off[size] += d * d / tries
		}
	}
	for size, square := range off {
		if square > 0.05*0.05 {
			t.Errorf("%d lines: off by %.3f mostly", size, math.Sqrt(square))
		}
	}
}

// TestBuckets: buckets meet, and powers of two begin one.
func TestBuckets(t *testing.T) {
	for d := range uint64(100_000) {
		b := bucket(d)
		if d < bucketFrom(b) || d >= bucketFrom(b+1) {
			t.Fatalf("%d is in bucket %d, from %d to %d", d, b, bucketFrom(b), bucketFrom(b+1))
		}
	}
}

// TestVectorIsOneByOne: the loop in C counts the same, however references are handed over.
func TestVectorIsOneByOne(t *testing.T) {
	if !haveVector() {
		t.Skip("the processor has no AVX-512")
	}
	keys := trace(200_000)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300_000 { // so many lines that sums of their times have several levels
		keys = append(keys, 1<<41+rng.Uint64N(1<<17))
	}
	for i := range uint64(5000) { // the same distance more often in a row than a byte counts
		keys = append(keys, i%2)
	}
	for i := range keys {
		keys[i]++
	}
	one := newCounter(64, 0)
	one.refer(keys)
	for _, many := range []int{1, 7, 1 << unitBits, 5000, len(keys)} {
		c := New(64, 0)
		for rest := keys; len(rest) > 0; rest = rest[min(many, len(rest)):] {
			c.refer(rest[:min(many, len(rest))])
		}
		if c.Refs != one.Refs || c.Cold != one.Cold || c.distinct != one.distinct || c.fresh != one.fresh || !slices.Equal(c.Hist, one.Hist) {
			t.Errorf("%d at a time: %d references, %v cold, %v; one by one %d, %v, %v", many, c.Refs, c.Cold, c.Hist, one.Refs, one.Cold, one.Hist)
		}
		for s := one.sets.shortest; s < longestStretch; s++ {
			if !slices.Equal(c.sets.of(s), one.sets.of(s)) {
				t.Errorf("%d at a time: working sets of 1<<%d units %v, one by one %v", many, s, c.sets.of(s), one.sets.of(s))
			}
		}
	}
}

// TestLater: with a goroutine for what is not among the recent lines all is counted as without one, also where somebody asks on the way and where its queue is full.
func TestLater(t *testing.T) {
	if !haveVector() {
		t.Skip("the processor has no AVX-512, without which there is one goroutine")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	keys := trace(1 << 20)
	rng := rand.New(rand.NewPCG(5, 9))
	for range 500_000 {
		keys = append(keys, 1<<41+rng.Uint64N(1<<17))
	}
	for i := range keys {
		keys[i]++
	}
	one, two := New(64, 0), New(64, 0)
	one.when.never, two.when.after = true, 1<<12
	begun, asked := 0, 0
	for rest := keys; len(rest) > 0; {
		n := min(1+rng.IntN(1<<16), len(rest))
		one.refer(rest[:n])
		two.refer(rest[:n])
		rest = rest[n:]
		if two.later != nil {
			begun++
		}
		if rng.IntN(12) > 0 {
			continue
		}
		asked++
		two.settle()
		if one.Refs != two.Refs || one.Cold != two.Cold || one.distinct != two.distinct || !slices.Equal(one.Hist, two.Hist) {
			t.Fatalf("%d references, %v cold, %v; at once %d, %v, %v", two.Refs, two.Cold, two.Hist, one.Refs, one.Cold, one.Hist)
		}
		for s := one.sets.shortest; s < longestStretch; s++ {
			if !slices.Equal(two.sets.of(s), one.sets.of(s)) {
				t.Fatalf("working sets of 1<<%d units %v, at once %v", s, two.sets.of(s), one.sets.of(s))
			}
		}
	}
	if begun == 0 || asked == 0 || one.later != nil {
		t.Errorf("begun %d times, asked %d times", begun, asked)
	}
	two.settle()
}

// TestLaterPanics: what the other goroutine panics with is the panic of who asks what was counted, and nobody waits for it before.
func TestLaterPanics(t *testing.T) {
	if !haveVector() {
		t.Skip("the processor has no AVX-512, without which there is one goroutine")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	keys := trace(1 << 20)
	for i := range keys {
		keys[i]++
	}
	c := New(64, 0)
	c.when.after = 1 << 12
	c.refer(keys[:1<<14])
	if c.later == nil {
		t.Fatal("not begun")
	}
	c.later.Filling.units = append(c.later.Filling.units, unitEnd{now: 1, missed: 1 << 20}) // which it does not have
	for range 3 {
		c.refer(keys)
	}
	defer func() {
		if recover() == nil {
			t.Error("nobody heard of it")
		}
	}()
	c.settle()
}

// BenchmarkRefer refers to lines of all kinds of locality.
func BenchmarkRefer(b *testing.B) {
	keys := trace(1 << 20)
	for i := range keys {
		keys[i]++
	}
	for name, c := range map[string]*Counter{"exact": New(64, 0), "one by one": newCounter(64, 0), "sample": New(64, 1500)} {
		b.Run(name, func(b *testing.B) {
			begin := processorTime()
			for b.Loop() {
				c.refer(keys)
			}
			b.ReportMetric(float64(b.N)*float64(len(keys))/1e6/(processorTime()-begin).Seconds(), "Mreferences/cpu-s")
		})
	}
}

// processorTime is the process's so far: others use the machine as well.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
