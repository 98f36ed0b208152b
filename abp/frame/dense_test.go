package frame

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestVectorAgrees: the loop in C and the one in Go write the same bytes, mark the same
// places, and refuse the same words.
func TestVectorAgrees(t *testing.T) {
	if !haveVector() {
		t.Skip("the processor has no AVX-512 with VBMI2, or there is no C")
	}
	for seed := range uint64(60) {
		list := shapes()
		rng := rand.New(rand.NewPCG(seed, 11))
		chunks := [][]uint64{generate(rng, list, int(seed)*20), {Mark(MarkFS, 0), 1}, generate(rng, list, 500)}
		if seed%3 == 1 { // what no engine writes, in the last chunk
			chunks[2][rng.IntN(len(chunks[2]))] = []uint64{0, 999, 1 << 31, 1 << 40, Mark(0x99, 0)}[seed/3%5]
		} else if seed%3 == 2 {
			chunks[2] = chunks[2][:rng.IntN(len(chunks[2]))]
		}
		compareVector(t, seed, list, chunks)
	}
	for i, w := range workloads() {
		chunks, _ := w.chunks(1 << 18)
		compareVector(t, uint64(i), w.shapes(), chunks)
	}
}

// compareVector encodes chunks, twice as a frame, with and without vector instructions.
func compareVector(t *testing.T, seed uint64, list []Shape, chunks [][]uint64) {
	t.Helper()
	var encs [2]*Encoder
	for i := range encs {
		enc, err := NewEncoderOf(Version4, lookUp(list), -1)
		if err != nil {
			t.Fatal(err)
		}
		enc.vector = i == 0
		encs[i] = enc
	}
	a, b := encs[0], encs[1]
	for range 2 {
		a.Begin()
		b.Begin()
		for i, c := range chunks {
			errA, errB := a.Chunk(c, 1, 2), b.Chunk(c, 1, 2)
			if (errA == nil) != (errB == nil) || errA != nil && !errors.Is(errA, ErrMalformed) {
				t.Fatalf("seed %d, chunk %d: %v and %v", seed, i, errA, errB)
			}
			if a.Done != b.Done || a.Words != b.Words || a.Weight() != b.Weight() || a.Execs() != b.Execs() || a.Size() != b.Size() {
				t.Fatalf("seed %d, chunk %d: %d words done, weight %d, %d executions; %d, %d, %d without vectors", seed, i,
					a.Done, a.Weight(), a.Execs(), b.Done, b.Weight(), b.Execs())
			}
			if !slices.Equal(a.Dynamic, b.Dynamic) || !slices.Equal(a.Touched, b.Touched) {
				t.Fatalf("seed %d, chunk %d: dynamic at %v, blocks %v; %v, %v without vectors", seed, i, a.Dynamic, a.Touched, b.Dynamic, b.Touched)
			}
		}
		if bodyA, bodyB := a.Finish(nil), b.Finish(nil); !bytes.Equal(bodyA, bodyB) {
			t.Fatalf("seed %d: %d bytes differ from %d", seed, len(bodyA), len(bodyB))
		}
	}
}

// TestDenseBytes: what docs/format.md says, byte by byte.
func TestDenseBytes(t *testing.T) {
	list := []Shape{{}, plainShape(1, 3), plainShape(2, 9), plainShape(3, 0)}
	list[1].TimeWord = 1
	list[2].TimeWord = 8
	words := []uint64{
		1, 0x1000, 500, 7,
		2, 1, 1, 1, 1, 1, 1, 1, 1, 510, // the time stamp is the second group
		3,
		1, 0x0fff, 520, 7,
	}
	pay := []byte{0x00, 0x20, 0xe8, 0x03, 14, 2, 2, 2, 2, 2, 2, 2, 2, 20, 1, 20}
	for _, c := range []struct {
		version uint16
		ctl     []byte
	}{
		{Version3, []byte{
			0b111, 0x22, 0x1, // two bytes, two, one
			0xff, 0x11, 0x11, 0x11, 0x11, 0b1, 0x1,
			0b011, 0x11,
		}},
		{Version4, []byte{0x22, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0}}, // the last word of all has not changed
	} {
		enc, err := NewEncoderOf(c.version, lookUp(list), -1)
		if err != nil {
			t.Fatal(err)
		}
		for _, vector := range []bool{false, enc.vector} {
			enc.vector = vector
			enc.Begin()
			if err := enc.Chunk(words, 1, 2); err != nil {
				t.Fatal(err)
			}
			body := enc.Finish(nil)
			if got := enc.ctl.b; !bytes.Equal(got, c.ctl) {
				t.Errorf("version %d: control bytes %x, want %x", c.version, got, c.ctl)
			}
			if got := enc.pay.b; !bytes.Equal(got, pay) {
				t.Errorf("version %d: payloads %x, want %x", c.version, got, pay)
			}
			got, err := decode(NewDecoder(lookUp(list)), body, c.version)
			if err != nil || !slices.Equal(got[3:], words) {
				t.Errorf("version %d: decoded %x: %v", c.version, got, err)
			}
		}
	}
}
