package records

import (
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"alleria/internal/layout"
)

// fill sets every field of a structure, so that one that pack forgets is noticed
// whoever adds it.
func fill(rng *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	case reflect.Uint8:
		v.SetUint(uint64(rng.IntN(256)))
	case reflect.Uint16:
		v.SetUint(uint64(rng.IntN(1 << 16)))
	case reflect.Uint32:
		v.SetUint(uint64(rng.Uint32() >> rng.IntN(32)))
	case reflect.Uint64:
		v.SetUint(rng.Uint64() >> rng.IntN(64))
	case reflect.Int16:
		v.SetInt(int64(rng.IntN(layout.MaxRecordWords+1)) - 1)
	case reflect.Int:
		v.SetInt(int64(rng.IntN(layout.MaxRecordWords)))
	case reflect.Int64:
		v.SetInt(int64(rng.Uint64()) >> rng.IntN(64))
	case reflect.Slice:
		n := rng.IntN(5)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(rng, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(rng, v.Field(i))
			}
		}
	}
}

// randomBlock is a block as the engine could make it, and its fields at random
// beyond that.
func randomBlock(rng *rand.Rand) *Block {
	b := new(Block)
	fill(rng, reflect.ValueOf(b).Elem())
	for i := range b.Ins {
		in := &b.Ins[i]
		in.Len = uint8(1 + rng.IntN(15))
		if rng.IntN(4) != 0 && i > 0 { // what pack makes short
			in.Far = b.Ins[i-1].Far
			in.Off, in.Flags, in.Func = b.Ins[i-1].Off+uint16(b.Ins[i-1].Len), b.Ins[i-1].Flags, b.Ins[i-1].Func
		}
		for k := range in.Accesses {
			a := &in.Accesses[k]
			a.Kind, a.Seg = a.Kind%(AccessBits+1), a.Seg%(SegGS+1)
			a.AddrBits = uint8(32 + 32*rng.IntN(2))
			if rng.IntN(2) == 0 {
				a.Lanes, a.Scale, a.IndexSize, a.AuxWord, a.IndexWord = 0, 0, 0, NoWord, NoWord
				if rng.IntN(2) == 0 { // what has a short form, nearly
					a.Kind, a.Seg, a.AddrBits, a.Size, a.Value = 0, 0, 64, 1<<rng.IntN(6), NoWord
					if k > 0 {
						a.Word = in.Accesses[k-1].Word + int16(rng.IntN(3))
					}
				}
			}
		}
	}
	return b
}

// TestBlocksComeBack adds blocks over several pieces and pages, and reads them
// while others are added.
func TestBlocksComeBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 3<<blockPageBits + 5
	want := make([]*Block, n)
	for i := range want {
		want[i] = randomBlock(rng)
	}
	var blocks Blocks
	var wg sync.WaitGroup
	done := make(chan uint32, n)
	for range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var got Block
			for id := range done {
				if !blocks.Read(id, &got) {
					t.Errorf("block %d is not there", id)
				}
			}
		}()
	}
	for i, b := range want {
		next := blocks.Next()
		if id := blocks.Add(b); id != next || id != uint32(i+1) {
			t.Fatalf("block %d got number %d, announced as %d", i+1, id, next)
		}
		done <- blocks.Last()
	}
	close(done)
	wg.Wait()
	if blocks.next < 2*factsBytes {
		t.Errorf("only %d bytes: the pieces' ends are not tested", blocks.next)
	}
	var used Block
	for i, w := range want {
		if !blocks.Read(uint32(i+1), &used) {
			t.Fatalf("block %d is gone", i+1)
		}
		same(t, w, &used)
		same(t, w, blocks.Get(uint32(i+1)))
	}
	for _, id := range []uint32{0, n + 1, blockPages << blockPageBits, ^uint32(0)} {
		if blocks.Get(id) != nil {
			t.Errorf("there is a block %d", id)
		}
	}
}

// TestParts makes parts of blocks, which are the blocks' first instructions and words.
func TestParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var blocks Blocks
	for range 1000 {
		b := randomBlock(rng)
		if len(b.Ins) == 0 {
			continue
		}
		b.Code, b.Regs = nil, nil
		for i := range b.Ins {
			b.Ins[i].Off = uint16(len(b.Code))
			b.Code = append(b.Code, make([]byte, b.Ins[i].Len)...)
			b.Code[b.Ins[i].Off] = byte(i)
			b.Regs = append(b.Regs, RegWord{Ins: uint16(i), Reg: RegGPR64, Word: int16(i)})
		}
		of := blocks.Add(b)
		n := 1 + rng.IntN(len(b.Ins))
		part := Part{Ins: n, Words: rng.IntN(b.Words + 1), Target: rng.Uint64()}
		if id := blocks.AddPart(of, part); id != of+1 {
			t.Fatalf("part %d of block %d", id, of)
		}
		want := *b
		want.ID, want.Words, want.Target, want.Branch, want.BranchWord = of+1, part.Words, part.Target, BranchCond, NoWord
		want.Ins, want.Regs, want.Code = b.Ins[:n], b.Regs[:n], b.Code[:b.Ins[n-1].Off+uint16(b.Ins[n-1].Len)]
		same(t, &want, blocks.Get(of+1))
		same(t, b, blocks.Get(of))
	}
}

// same compares what the engine made with what was read, but for the room behind
// it and the difference between no slice and an empty one.
func same(t *testing.T, want, got *Block) {
	t.Helper()
	clean := func(b *Block) Block {
		c := *b
		c.accesses = nil
		c.Code = append([]byte{}, b.Code...)
		c.Ins = append([]Ins{}, b.Ins...)
		c.Regs = append([]RegWord{}, b.Regs...)
		for i := range c.Ins {
			c.Ins[i].Accesses = append([]Access{}, c.Ins[i].Accesses...)
		}
		return c
	}
	if w, g := clean(want), clean(got); !reflect.DeepEqual(w, g) {
		t.Fatalf("read %+v\nwant %+v", g, w)
	}
}
