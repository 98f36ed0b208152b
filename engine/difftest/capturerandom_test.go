package difftest

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"alleria/internal/capture"
)

// randomTarget is what some pointer leads to, as types could make it or not.
func randomTarget(rng *rand.Rand, level int, known *[]*capture.Target) *capture.Target {
	if len(*known) > 0 && rng.IntN(4) == 0 {
		return (*known)[rng.IntN(len(*known))]
	}
	t := &capture.Target{Size: 1 + rng.Uint32N(40), Max: 1 + rng.Uint32N(200), Dec: rng.IntN(10) == 0}
	*known = append(*known, t)
	switch rng.IntN(5) {
	case 0:
		t.Size, t.Len = 1, capture.Length{Kind: capture.Sentinel}
		return t
	case 1:
		t.Size, t.Len = 1<<rng.IntN(4), capture.Length{Kind: capture.Sentinel, N: rng.Uint64N(3)}
	case 2:
		t.Len = capture.Length{Kind: capture.Count, Var: capture.Var{Src: capture.Source{Kind: capture.GPR, N: rsi}, Bytes: 1 << rng.IntN(4), Signed: rng.IntN(2) == 0}}
	default:
		t.Len = capture.Length{Kind: capture.Fixed, N: rng.Uint64N(4)}
	}
	for at := uint32(0); level < 3 && at+8 <= t.Size; at += 8 {
		if rng.IntN(2) == 0 {
			t.Points = append(t.Points, capture.Pointer{Off: at, Target: randomTarget(rng, level+1, known)})
		}
	}
	return t
}

// randomCapture is what is captured of a function that gets a record full of pointers in rdi and a number in rsi.
func randomCapture(rng *rand.Rand) *capture.Program {
	p := &capture.Program{Returns: rng.IntN(5) != 0, MaxBytes: rng.Uint32N(2000)}
	var known []*capture.Target
	items := func(regs []uint32, moment []capture.Source) []capture.Item {
		var all []capture.Item
		for range rng.IntN(5) {
			it := gpr(regs[rng.IntN(len(regs))])
			switch rng.IntN(6) {
			case 0:
				it.Src = moment[rng.IntN(len(moment))]
				it.Bytes = 1 + rng.Uint32N(24)
			case 1:
				it.Bytes = 1 << rng.IntN(4)
			case 2:
				it = capture.Item{Src: capture.Source{Kind: capture.Vector, N: rng.Uint32N(2)}, Bytes: []uint32{2, 4, 8, 12, 16, 32}[rng.IntN(6)]}
			}
			if it.Bytes == 8 && it.Src.Kind != capture.Vector {
				it.Points = []capture.Pointer{{Target: randomTarget(rng, 0, &known)}}
			}
			all = append(all, it)
		}
		return all
	}
	p.Entry = items([]uint32{rdi, rsi, rdx, rcx, r8, rax}, []capture.Source{{Kind: capture.Stack}, {Kind: capture.Stack, N: 8}})
	for range rng.IntN(3) {
		p.Saves = append(p.Saves, capture.Source{Kind: capture.GPR, N: []uint32{rdi, rsi, rdx, rcx}[rng.IntN(4)]})
	}
	from := []capture.Source{{Kind: capture.GPR, N: rax}}
	for i := range p.Saves {
		from = append(from, capture.Source{Kind: capture.Saved, N: uint32(i)})
	}
	p.Exit = items([]uint32{rax}, from)
	return p
}

// TestCaptureRandomPrograms captures by random programs, in each way, which must write the same words.
func TestCaptureRandomPrograms(t *testing.T) {
	path := build(t, filepath.Join("..", "..", "testdata", "intercept", "pointers.c"), []string{"-O2"})
	want := native(t, path)
	seeds := 24
	if testing.Short() {
		seeds = 4
	}
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 12))
		progs := make(map[string]*capture.Program)
		for _, name := range []string{"take0", "take1", "take2", "take3", "take4", "take5", "take6", "take7"} {
			progs[name] = randomCapture(rng)
		}
		var first [][][]uint64
		for _, m := range slices.Concat(captureModes[:1], captureModes[2:5]) {
			out, c := intercept(t, path, m.mode, progs, m.opts)
			if out != want {
				t.Fatalf("seed %d, %s: %+v, natively %+v", seed, m.name, out, want)
			}
			all := c.byThread(t)
			t.Logf("seed %d, %s: %d moments, %d by the tracer", seed, m.name, len(all[0]), c.slow)
			if first == nil {
				first = all
				continue
			}
			compareCalls(t, m.name, c.names, first, all)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
