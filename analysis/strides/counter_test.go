package strides

import (
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"
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

// TestTracks compares what is known of addresses with counting each by itself.
func TestTracks(t *testing.T) {
	for name, addrs := range walks(5000) {
		w := &walk{}
		tr := &track{last: nowhere, stride: nothing, walk: w}
		strides, order := map[int64]uint64{}, 0
		others := uint64(0)
		for i, a := range addrs {
			tr.access(a)
			if i == 0 {
				continue
			}
			s := int64(a - addrs[i-1])
			if _, known := strides[s]; !known {
				if order == most {
					others++
					continue
				}
				order++
			}
			strides[s]++
		}
		if !w.begun {
			if len(addrs) > 0 {
				t.Errorf("%s: no access", name)
			}
			continue
		}
		tr.end(tr.last)
		if w.n != uint64(len(addrs)) || w.low != slices.Min(addrs) || w.high != slices.Max(addrs) || w.strides.others != others {
			t.Errorf("%s: %d accesses from %#x to %#x, %d others; want %d, %#x, %#x, %d", name, w.n, w.low, w.high, w.strides.others,
				len(addrs), slices.Min(addrs), slices.Max(addrs), others)
		}
		got := map[int64]uint64{}
		for _, s := range w.strides.sorted() {
			got[s.Bytes] = s.Count
		}
		for s, n := range strides {
			if got[s] != n {
				t.Errorf("%s: stride %d came %d times, want %d", name, s, got[s], n)
			}
		}
		if len(got) != len(strides) {
			t.Errorf("%s: %d strides, want %d", name, len(got), len(strides))
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
			room := make([]track, 100)
			for i := range room {
				room[i] = track{last: nowhere, stride: nothing, walk: &walk{}}
			}
			begin := processorTime()
			for b.Loop() {
				for _, a := range addrs {
					for i := range room {
						room[i].access(a)
					}
				}
			}
			b.ReportMetric(float64(b.N)*4096*100/1e6/(processorTime()-begin).Seconds(), "Maccesses/cpu-s")
		})
	}
}
