// Package abptest makes random blocks for tests of what counts their accesses.
//
// Tests of analyses that take eight accesses at a time compare with taking one after the other, over blocks with accesses of all kinds of plainness:
// with a word that is added or none, and now and then with a segment. No program has to run for that. Only tests import it; what is executed,
// and with which words, is theirs.
package abptest

import (
	"math/rand/v2"

	"alleria/abp"
)

// Blocks are blocks by number, of which 0 is none: a source of a process that has nothing else (abp.Growing).
type Blocks []*abp.Block

// Block is the block of a number; nil: there is none.
func (m Blocks) Block(id uint32) *abp.Block {
	if int(id) < len(m) {
		return m[id]
	}
	return nil
}

// Image, Function, Snapshots, Images and Functions are those of a source: there are none.
func (m Blocks) Image(uint32) *abp.Image       { return nil }
func (m Blocks) Function(uint32) *abp.Function { return nil }
func (m Blocks) Snapshots() []abp.Snapshot     { return nil }
func (m Blocks) Images(int) []*abp.Image       { return nil }
func (m Blocks) Functions(int) []*abp.Function { return nil }

// Shape draws what differs between tests. Fields that are nil are drawn as each says.
type Shape struct {
	Addr         func() uint64 // of a block; 0x400000
	Instructions func() int    // of a block
	Bytes        func() int    // of an instruction; 1
	Size         func() uint32 // of an access; 8
	Offset       func() int64  // of an access with no word
}

// Random makes the blocks 1 to n-1.
func Random(rng *rand.Rand, n int, s Shape) (Blocks, error) {
	if s.Addr == nil {
		s.Addr = func() uint64 { return 0x400000 }
	}
	if s.Bytes == nil {
		s.Bytes = func() int { return 1 }
	}
	if s.Size == nil {
		s.Size = func() uint32 { return 8 }
	}
	out := Blocks{nil}
	for id := 1; id < n; id++ {
		b := &abp.Block{ID: uint32(id), Addr: s.Addr(), Words: words(rng), TimeWord: abp.NoWord, BranchWord: abp.NoWord}
		for range s.Instructions() {
			in := abp.Ins{Off: uint16(len(b.Code)), Len: uint8(s.Bytes()), Flags: abp.InsRecorded | abp.InsAddrs | abp.InsMemory, AccFrom: uint16(len(b.Accesses))}
			b.Code = append(b.Code, make([]byte, in.Len)...)
			for range rng.IntN(3) {
				b.Accesses = append(b.Accesses, s.access(rng, b.Words))
			}
			in.AccTo = uint16(len(b.Accesses))
			b.Ins = append(b.Ins, in)
		}
		if err := b.Prepare(); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// words is how many a block has: few, or so many that loops take them from several registers, or from memory.
func words(rng *rand.Rand) int {
	if rng.IntN(4) == 0 {
		return rng.IntN(50)
	}
	return rng.IntN(14)
}

// access makes an access of a block with so many words.
func (s *Shape) access(rng *rand.Rand, words int) abp.Access {
	a := abp.Access{Store: rng.IntN(2) == 0, AddrBits: 64, Size: s.Size(), Word: abp.NoWord, AuxWord: abp.NoWord, IndexWord: abp.NoWord, Value: abp.NoWord}
	a.Offset = s.Offset()
	if words > 0 && rng.IntN(8) > 0 {
		a.Word, a.Offset = int16(rng.IntN(words)), int64(rng.IntN(200)-100)
	}
	if rng.IntN(200) == 0 {
		a.Seg = abp.SegFS
	}
	return a
}
