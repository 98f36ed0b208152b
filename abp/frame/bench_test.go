package frame

import (
	"math/rand/v2"
	"testing"
)

// A workload makes chunks that behave like a kind of program.
type workload struct {
	name  string
	block func(i int) Shape // of block i, from 1
	n     int               // blocks
	run   func(rng *rand.Rand, emit func(id int, words ...uint64))
}

const stackTop = 0x7ffe_1234_0000

func plainShape(i, words int) Shape {
	return Shape{Words: int32(words), Addr: 0x40_0000 + uint64(i)*32, Weight: 6, StackWord: -1, TimeWord: -1, BranchWord: -1}
}

// workloads stand for bzip2 (arrays walked in loops), a program that chases
// pointers, an interpreter (long irregular cycles of short functions with stack
// words), and any of them with values and time stamps.
func workloads() []workload {
	return []workload{
		{"loops", func(i int) Shape { return plainShape(i, 2) }, 8, func(rng *rand.Rand, emit func(int, ...uint64)) {
			base, other := rng.Uint64()>>24, rng.Uint64()>>24
			for i := range uint64(500) {
				emit(1, base+8*i, other+4*i)
				if rng.IntN(16) == 0 {
					emit(2, base+8*i, other)
				}
				emit(3, other+4*i, stackTop)
			}
		}},
		{"pointers", func(i int) Shape { return plainShape(i, 2) }, 8, func(rng *rand.Rand, emit func(int, ...uint64)) {
			for p := uint64(rng.IntN(5000)); p != 0 && p%97 != 1; p = (p*2654435761 + 7) % 5000 {
				emit(1, 0x5555_0000_0000+p*48, 0x5555_0000_0008+p*48)
				emit(2, 0x5555_0000_0000+p*48, stackTop-64)
			}
		}},
		{"interpreter", func(i int) Shape {
			s := plainShape(i, 1+i%3)
			if i%4 == 0 {
				s.StackWord = 0
			}
			return s
		}, 3000, func(rng *rand.Rand, emit func(int, ...uint64)) {
			sp := uint64(stackTop)
			op := rng.IntN(120)
			for k := range 12 + op%9 {
				id := 1 + (op*25+k)%3000
				words := [3]uint64{sp - 8, 0x7f00_0000_0000 + uint64(op*64), sp + uint64(k*8)}
				sp -= uint64(k%3) * 16
				emit(id, words[:1+id%3]...)
			}
		}},
		{"values", func(i int) Shape {
			s := plainShape(i, 5)
			s.TimeWord = 0
			s.Values = []ValueWord{{Word: 2, AddrWord: 1}, {Word: 4, AddrWord: 3, Offset: 8}}
			return s
		}, 64, func(rng *rand.Rand, emit func(int, ...uint64)) {
			base := rng.Uint64N(1<<12) * 4096
			for i := range uint64(100) {
				emit(1+int(i%8), base*7+i*40+rng.Uint64N(20), base+8*i, i*3, stackTop+16*(i%4), base^i%4)
			}
		}},
	}
}

func (w *workload) shapes() []Shape {
	list := make([]Shape, w.n+1)
	for i := range list {
		list[i] = w.block(i)
	}
	return list
}

// chunks makes about so many words, in chunks as rings have them.
func (w *workload) chunks(words int) (chunks [][]uint64, execs int) {
	rng := rand.New(rand.NewPCG(1, 5))
	const size = 32 << 10
	chunk := make([]uint64, 0, size)
	for n := 0; n < words; {
		w.run(rng, func(id int, ws ...uint64) {
			chunk = append(append(chunk, uint64(id)), ws...)
			n += 1 + len(ws)
			execs++
		})
		if len(chunk) > size-4096 {
			chunks = append(chunks, chunk)
			chunk = make([]uint64, 0, size)
		}
	}
	return append(chunks, chunk), execs
}

func (w *workload) encode(b *testing.B, enc *Encoder, chunks [][]uint64, dst []byte) []byte {
	enc.Begin()
	for _, c := range chunks {
		if err := enc.Chunk(c, 0, 0); err != nil {
			b.Fatal(err)
		}
	}
	return enc.Finish(dst[:0])
}

const benchWords = 2 << 20

// BenchmarkEncode reports the time of one execution of a block, and the bytes
// that it takes.
func BenchmarkEncode(b *testing.B) {
	for _, w := range workloads() {
		b.Run(w.name, func(b *testing.B) {
			chunks, execs := w.chunks(benchWords)
			enc, err := NewEncoder(lookUp(w.shapes()), 0)
			if err != nil {
				b.Fatal(err)
			}
			var body []byte
			for b.Loop() {
				body = w.encode(b, enc, chunks, body)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(execs), "ns/block")
			b.ReportMetric(float64(len(body))/float64(execs), "B/block")
		})
	}
}

// BenchmarkDecode reports the time of one execution of a block.
func BenchmarkDecode(b *testing.B) {
	for _, w := range workloads() {
		b.Run(w.name, func(b *testing.B) {
			chunks, execs := w.chunks(benchWords)
			list := w.shapes()
			enc, err := NewEncoder(lookUp(list), 0)
			if err != nil {
				b.Fatal(err)
			}
			body := w.encode(b, enc, chunks, nil)
			dec := NewDecoder(lookUp(list))
			for b.Loop() {
				if err := dec.Start(body, enc.Version()); err != nil {
					b.Fatal(err)
				}
				for {
					if _, err := dec.Next(); err != nil {
						break
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(execs), "ns/block")
		})
	}
}
