package capture

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// pagedMemory is memory of which some pages are not there, and a machine whose registers are what is asked for.
type pagedMemory struct {
	base  uint64
	pages [][]byte // nil: not there
	regs  [16]uint64
	reads int
}

func (m *pagedMemory) Value(src Source, b []byte) bool {
	var w [8]byte
	binary.LittleEndian.PutUint64(w[:], m.regs[src.N&15])
	copy(b, w[:])
	return len(b) <= 8
}

var errNotThere = errors.New("not there")

func (m *pagedMemory) ReadAt(b []byte, addr int64) (int, error) {
	m.reads++
	for n := 0; n < len(b); {
		at := uint64(addr) + uint64(n) - m.base
		k := at / pageSize
		if k >= uint64(len(m.pages)) || m.pages[k] == nil {
			return n, errNotThere
		}
		n += copy(b[n:], m.pages[k][at%pageSize:])
	}
	return len(b), nil
}

// randomTarget makes what a pointer may lead to, of so many levels.
func randomTarget(rng *rand.Rand, levels int) *Target {
	sizes := []uint32{1, 2, 4, 8, 24, 96, 5000}
	t := &Target{Size: sizes[rng.IntN(len(sizes))], Max: uint32(1 + rng.IntN(12000)), Dec: rng.IntN(4) == 0}
	t.Max = max(t.Max, t.Size)
	t.Len = Length{Kind: LengthKind(rng.IntN(5)), N: uint64(rng.IntN(4)), EndValid: rng.IntN(2) == 0,
		Var: Var{Src: Source{N: uint32(rng.IntN(16))}, Field: rng.IntN(2) == 0, Off: 8 * uint32(rng.IntN(3)), Deref: rng.IntN(3) == 0, Bytes: uint8(1 + rng.IntN(8)), Signed: rng.IntN(2) == 0}}
	for off := uint32(0); levels > 0 && off+8 <= min(t.Size, 64); off += 8 {
		if rng.IntN(2) == 0 {
			t.Points = append(t.Points, Pointer{Off: off, Target: randomTarget(rng, levels-1)})
		}
	}
	return t
}

// TestRunnerAgrees has a Runner capture one random call after the other, which has to give the words of Run, that reads each value by itself.
func TestRunnerAgrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var r Runner
	alone, together := 0, 0
	for seed := range 1000 {
		m := &pagedMemory{base: 0x7000_0000, pages: make([][]byte, 40)}
		address := func() uint64 { return m.base + uint64(rng.IntN(len(m.pages)*pageSize)) }
		for k := range m.pages {
			if rng.IntN(8) == 0 {
				continue
			}
			page := make([]byte, pageSize)
			for i := 0; i < pageSize; i += 8 {
				w := uint64(rng.IntN(5))
				if rng.IntN(2) == 0 {
					w = address() &^ 7
				}
				binary.LittleEndian.PutUint64(page[i:], w)
			}
			m.pages[k] = page
		}
		var items []Item
		for i := range 4 {
			if m.regs[i] = address(); rng.IntN(8) == 0 {
				m.regs[i] = uint64(rng.IntN(100))
			}
			items = append(items, Item{Src: Source{N: uint32(i)}, Bytes: 8, Points: []Pointer{{Target: randomTarget(rng, 3)}}})
		}
		most := uint32(rng.IntN(60000))
		first := []uint64{uint64(seed)}[:seed%2]
		m.reads = 0
		want, wantCut := Run(m, items, most, slices.Clone(first))
		alone += m.reads
		r.Run(m, items, most, nil) // leaves nothing behind
		m.reads = 0
		got, cut := r.Run(m, items, most, first)
		together += m.reads
		if cut != wantCut || !slices.Equal(got, want) {
			t.Fatalf("seed %d: %d words, cut %v; by themselves %d, %v", seed, len(got), cut, len(want), wantCut)
		}
	}
	if 2*together > alone {
		t.Errorf("memory was read %d times, and %d times by values", together, alone)
	}
}

// TestRunnerKeepsItsMemory captures a list again and again, which takes no memory after the first time.
func TestRunnerKeepsItsMemory(t *testing.T) {
	m := &pagedMemory{base: 1 << 20, pages: [][]byte{make([]byte, pageSize)}}
	m.regs[0] = m.base
	for i := 0; i < pageSize-32; i += 32 {
		binary.LittleEndian.PutUint64(m.pages[0][i:], m.base+uint64(i)+32)
	}
	node := &Target{Size: 32, Max: 32, Len: Length{N: 1}}
	node.Points = []Pointer{{Target: node}}
	items := []Item{{Bytes: 8, Points: []Pointer{{Target: node}}}}
	var r Runner
	words, cut := r.Run(m, items, 1<<16, nil)
	if want := 1 + 5*pageSize/32 + 1; len(words) != want || cut {
		t.Errorf("%d words, cut %v, want %d", len(words), cut, want)
	}
	if n := testing.AllocsPerRun(10, func() { r.Run(m, items, 1<<16, nil) }); n > 0 {
		t.Errorf("%v allocations a capture", n)
	}
}
