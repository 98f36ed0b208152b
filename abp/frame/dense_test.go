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
		compareVector(t, seed, list, chunks, false)
		if sizes(list, chunks); seed%7 == 3 { // and sizes that are wrong
			for i := range chunks[2] {
				if chunks[2][i]>>numberBits != 0 && rng.IntN(300) == 0 {
					chunks[2][i] += 1 << numberBits
				}
			}
		}
		compareVector(t, seed, list, chunks, true)
	}
	for i, w := range workloads() {
		chunks, _ := w.chunks(1 << 18)
		compareVector(t, uint64(i), w.shapes(), chunks, false)
		sizes(w.shapes(), chunks)
		compareVector(t, uint64(i), w.shapes(), chunks, true)
	}
}

// sizes adds to executions' first words their sizes, where they are known and fit.
func sizes(list []Shape, chunks [][]uint64) {
	for _, c := range chunks {
		for at := 0; at < len(c); {
			switch id := c[at]; {
			case IsMark(id):
				at += max(MarkLen(c[at:]), 1)
			case id == 0 || id >= uint64(len(list)):
				return
			default:
				n := uint64(list[id].Words) + 1
				if n < 127 && at%11 != 0 {
					c[at] |= n << numberBits
				}
				at += int(n)
			}
		}
	}
}

// compareVector encodes chunks, twice as a frame, with and without vector instructions.
func compareVector(t *testing.T, seed uint64, list []Shape, chunks [][]uint64, sized bool) {
	t.Helper()
	var encs [2]*Encoder
	for i := range encs {
		enc, err := NewEncoderOf(Version4, lookUp(list), -1)
		if err != nil {
			t.Fatal(err)
		}
		if enc.vector = i == 0; sized {
			enc.Sized()
		}
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

// TestSizes: executions that say how long they are make the same frames, and those that say
// something wrong none.
func TestSizes(t *testing.T) {
	list := shapes()
	rng := rand.New(rand.NewPCG(8, 9))
	chunk := generate(rng, list, 2000)
	var bodies [2][]byte
	for i := range bodies {
		enc, err := NewEncoderOf(Version4, lookUp(list), -1)
		if err != nil {
			t.Fatal(err)
		}
		enc.Begin()
		c := slices.Clone(chunk)
		if i == 1 {
			enc.Sized()
			sizes(list, [][]uint64{c})
			if slices.Equal(c, chunk) {
				t.Fatal("no execution has a size")
			}
		}
		_ = enc.Chunk(c, 0, 0)
		if bodies[i] = enc.Finish(nil); len(bodies[i]) < 1000 {
			t.Fatalf("%d bytes", len(bodies[i]))
		}
		if i == 0 {
			continue
		}
		for _, vector := range []bool{false, enc.vector} {
			enc.vector = vector
			for _, size := range []uint64{1, 2, 4, 127} {
				enc.Begin()
				if err := enc.Chunk([]uint64{2 | 3<<numberBits, 5, 6, 2 | size<<numberBits, 7, 8}, 0, 0); !errors.Is(err, ErrMalformed) || enc.Done != 3 {
					t.Errorf("size %d: %d words, %v", size, enc.Done, err)
				}
			}
		}
	}
	if !bytes.Equal(bodies[0], bodies[1]) {
		t.Errorf("%d bytes and with sizes %d, or others", len(bodies[0]), len(bodies[1]))
	}
}

// TestVectorDecodes: the loop in C and the one in Go give the same words, in the same batches, and errors of the same frames that are damaged.
func TestVectorDecodes(t *testing.T) {
	if !haveVector() {
		t.Skip("the processor has no AVX-512 with VBMI2, or there is no C")
	}
	for seed := range uint64(60) {
		list := shapes()
		rng := rand.New(rand.NewPCG(seed, 13))
		body := strungFrame(t, list, [][]uint64{generate(rng, list, int(seed)*20), {Mark(MarkFS, 0), 1}, generate(rng, list, 500)})
		compareDecoded(t, list, body)
		for range 40 {
			damaged := slices.Clone(body)
			for range 1 + rng.IntN(3) {
				damaged[bodyHeader+rng.IntN(len(damaged)-bodyHeader)] ^= 1 << rng.IntN(8)
			}
			compareDecoded(t, list, damaged)
		}
	}
	for _, w := range workloads() {
		chunks, _ := w.chunks(1 << 18)
		compareDecoded(t, w.shapes(), strungFrame(t, w.shapes(), chunks))
	}
}

// strungFrame is a frame of version 4 that is not compressed.
func strungFrame(t *testing.T, list []Shape, chunks [][]uint64) []byte {
	t.Helper()
	enc, err := NewEncoderOf(Version4, lookUp(list), -1)
	if err != nil {
		t.Fatal(err)
	}
	enc.Begin()
	for _, c := range chunks {
		if err := enc.Chunk(c, 1, 2); err != nil {
			t.Fatal(err)
		}
	}
	return enc.Finish(nil)
}

// compareDecoded decodes a frame with and without vector instructions, batch by batch.
func compareDecoded(t *testing.T, list []Shape, body []byte) {
	t.Helper()
	with, without := NewDecoder(lookUp(list)), NewDecoder(lookUp(list))
	without.vector = false
	errA, errB := with.Start(body, Version4), without.Start(body, Version4)
	for n := 0; errA == nil && errB == nil && n < 1<<20; {
		var a, b []uint64
		a, errA = with.Next()
		b, errB = without.Next()
		if !slices.Equal(a, b) {
			t.Fatalf("behind %d words %d in a batch that is not that of %d without vectors", n, len(a), len(b))
		}
		n += len(a)
	}
	// Which error it is goes by how much of the streams is left, in Go too.
	if (errA == nil) != (errB == nil) || errors.Is(errA, ErrMalformed) != errors.Is(errB, ErrMalformed) {
		t.Fatalf("%v, without vectors %v", errA, errB)
	}
}
