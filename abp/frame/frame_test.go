package frame

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// shapes are blocks of every kind.
func shapes() []Shape {
	none := Shape{StackWord: -1, TimeWord: -1, BranchWord: -1}
	list := make([]Shape, 24)
	for i := range list {
		s := none
		s.Words, s.Addr, s.Target, s.Weight = int32(i%6), uint64(0x1000*i), uint64(0x1000*((i*7)%24)), int32(i)
		switch {
		case i%5 == 1 && s.Words > 0:
			s.StackWord = int16(s.Words - 1)
		case i%5 == 2 && s.Words > 1:
			s.TimeWord = 0
			s.BranchWord, s.Conditional = int16(s.Words-1), i%2 == 0
		case i%5 == 3 && s.Words > 2:
			s.Values = []ValueWord{{Word: 1, AddrWord: 0, Offset: 8}, {Word: 2, AddrWord: -1}}
			s.Dynamic = true
		}
		list[i] = s
	}
	list[23].Words = 300
	return list
}

func lookUp(list []Shape) func(uint32) *Shape {
	return func(id uint32) *Shape {
		if id == 0 || int(id) >= len(list) {
			return nil
		}
		return &list[id]
	}
}

// generate makes words as rings hold them, from a string of choices.
func generate(rng *rand.Rand, list []Shape, n int) (words []uint64) {
	for range n {
		id := 1 + rng.IntN(len(list)-1)
		if id == 23 && rng.IntN(20) != 0 {
			id = 4
		}
		switch rng.IntN(30) {
		case 0:
			words = append(words, Mark(MarkFS, 0), rng.Uint64())
		case 1:
			words = append(words, Mark(MarkCut, 1))
		case 2:
			words = append(words, Mark(MarkEmulated, uint64(id)), 1, rng.Uint64(), 8)
			continue
		}
		for range 1 + rng.IntN(4)*rng.IntN(4) { // loops
			words = append(words, uint64(id))
			for k := range int(list[id].Words) {
				switch rng.IntN(6) {
				case 0:
					words = append(words, rng.Uint64())
				case 1:
					words = append(words, uint64(rng.IntN(2)))
				case 2:
					words = append(words, list[rng.IntN(len(list))].Addr)
				case 3:
					words = append(words, 0x7ffd_0000_0000+uint64(rng.IntN(1<<14)))
				default:
					words = append(words, uint64(0x5000_0000+len(words)*8+k))
				}
			}
		}
	}
	return words
}

// decode decodes a frame whole.
func decode(d *Decoder, body []byte, version uint16) (words []uint64, err error) {
	if err := d.Start(body, version); err != nil {
		return nil, err
	}
	for {
		batch, err := d.Next()
		if errors.Is(err, io.EOF) {
			return words, nil
		}
		if err != nil {
			return words, err
		}
		words = append(words, batch...)
	}
}

func TestFramesRoundTrip(t *testing.T) {
	list := shapes()
	for _, level := range []int{-1, 0, 1, 9, -2, -3, -4} {
		enc, err := NewEncoder(lookUp(list), level)
		if level < -1 { // versions that the processor does not choose
			enc, err = NewEncoderOf(uint16(-level), lookUp(list), 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		dec := NewDecoder(lookUp(list))
		for seed := range uint64(40) {
			rng := rand.New(rand.NewPCG(seed, 2))
			var want []uint64
			enc.Begin()
			execs, weight := uint64(0), uint64(0)
			for c := range uint64(4) {
				chunk := generate(rng, list, int(seed)*4)
				if err := enc.Chunk(chunk, c, c+1); err != nil {
					t.Fatal(err)
				}
				want = append(append(want, Mark(MarkChunk, 0), c, c+1), chunk...)
				for i := 0; i < len(chunk); {
					if IsMark(chunk[i]) {
						i += MarkLen(chunk[i:])
						continue
					}
					execs++
					weight += uint64(list[chunk[i]].Weight)
					i += 1 + int(list[chunk[i]].Words)
				}
			}
			if enc.Execs() != execs || enc.Weight() != weight || enc.Words != uint64(len(want)) {
				t.Fatalf("seed %d: %d executions of weight %d, %d words; want %d, %d, %d", seed, enc.Execs(), enc.Weight(), enc.Words, execs, weight, len(want))
			}
			got, err := decode(dec, enc.Finish(nil), enc.Version())
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d: %d words, want %d", seed, len(got), len(want))
			}
		}
	}
}

// TestFramesStandAlone: a frame decodes without those before it, also where the
// model's tables are full and their entries collide.
func TestFramesStandAlone(t *testing.T) {
	list := make([]Shape, 2000)
	for i := range list {
		list[i] = Shape{Words: int32(i % 7), Addr: uint64(i), StackWord: -1, TimeWord: -1, BranchWord: -1}
	}
	enc, err := NewEncoder(lookUp(list), 0)
	if err != nil {
		t.Fatal(err)
	}
	var bodies [][]byte
	var wants [][]uint64
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 4))
		var words []uint64
		visits := make([]uint64, 8*len(list))
		for range 200_000 {
			id := 1 + rng.IntN(len(list)-1)
			words = append(words, uint64(id))
			for k := range int(list[id].Words) { // cycles, which only the table can predict
				n := uint64(id*8 + k)
				visits[n]++
				words = append(words, (n<<8|visits[n]%40)*mul64>>16)
			}
		}
		enc.Begin()
		if err := enc.Chunk(words, 0, 0); err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, enc.Finish(nil))
		wants = append(wants, append([]uint64{Mark(MarkChunk, 0), 0, 0}, words...))
	}
	dec := NewDecoder(lookUp(list))
	for _, i := range []int{2, 0, 1} {
		got, err := decode(dec, bodies[i], enc.Version())
		if err != nil || !slices.Equal(got, wants[i]) {
			t.Fatalf("frame %d: %d words, want %d: %v", i, len(got), len(wants[i]), err)
		}
	}
}

// TestTouchedBlocks: the list of blocks says what the frame executes.
func TestTouchedBlocks(t *testing.T) {
	list := shapes()
	enc, err := NewEncoder(lookUp(list), 0)
	if err != nil {
		t.Fatal(err)
	}
	enc.Begin()
	if err := enc.Chunk([]uint64{6, 12, 6, 6}, 0, 0); err != nil {
		t.Fatal(err)
	}
	dec := NewDecoder(lookUp(list))
	got, err := dec.Blocks(enc.Finish(nil), nil)
	if err != nil || !slices.Equal(got, []Touched{{6, 3}, {12, 1}}) {
		t.Error(got, err)
	}
}

// TestWrongWords: words that no engine writes are refused, and what precedes
// them is kept.
func TestWrongWords(t *testing.T) {
	list := shapes()
	good := []uint64{6, 12, 6}
	for name, bad := range map[string][]uint64{
		"number 0":       {0},
		"unknown block":  {999},
		"huge number":    {0xffff_ffff},
		"block cut":      {5, 1, 2},
		"no such mark":   {Mark(0x99, 0), 1, 2, 3},
		"mark cut":       {Mark(MarkFS, 0)},
		"emulation cut":  {Mark(MarkEmulated, 6), 9, 1, 1},
		"top byte empty": {1 << 40},
	} {
		enc, err := NewEncoder(lookUp(list), 0)
		if err != nil {
			t.Fatal(err)
		}
		enc.Begin()
		err = enc.Chunk(append(slices.Clone(good), bad...), 7, 8)
		if !errors.Is(err, ErrMalformed) || enc.Done != len(good) {
			t.Errorf("%s: %v after %d words", name, err, enc.Done)
		}
		got, err := decode(NewDecoder(lookUp(list)), enc.Finish(nil), enc.Version())
		if want := append([]uint64{Mark(MarkChunk, 0), 7, 8}, good...); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: decoded %x: %v", name, got, err)
		}
	}
}

// FuzzChunk: whatever lies in a ring, what was encoded comes out again.
func FuzzChunk(f *testing.F) {
	f.Add([]byte{1, 2, 3, 0x81, 4, 5, 6})
	f.Fuzz(func(t *testing.T, choice []byte) {
		list := shapes()
		var words []uint64
		for i, c := range choice {
			switch {
			case c < 64:
				words = append(words, uint64(c)&31)
			case c < 128:
				words = append(words, uint64(c)<<(i%8*7))
			case c < 0x8a:
				words = append(words, Mark(c, uint64(i%4)))
			default:
				words = append(words, 0x7fff_0000_0000+uint64(c)*uint64(i))
			}
		}
		enc, err := NewEncoderOf(Version1+uint16(len(choice)%4), lookUp(list), -1)
		if err != nil {
			t.Fatal(err)
		}
		enc.Begin()
		_ = enc.Chunk(words, 1, 2) // may well be refused
		got, err := decode(NewDecoder(lookUp(list)), enc.Finish(nil), enc.Version())
		if err != nil {
			t.Fatal(err)
		}
		want := []uint64{Mark(MarkChunk, 0), 1, 2}
		for at := 0; at < enc.Done; {
			n := 1
			if !IsMark(words[at]) {
				n += int(list[words[at]].Words)
			} else if n = MarkLen(words[at:]); uint8(words[at]>>markShift) == MarkSkip {
				at += n
				continue
			} else if uint8(words[at]>>markShift) == MarkSwitch { // for readers a MarkWindows
				mask := uint64(1)<<markShift - 1
				want = append(want, Mark(MarkWindows, words[at]&mask), words[at+1])
				at += n
				continue
			}
			want = append(want, words[at:at+n]...)
			at += n
		}
		if !slices.Equal(got, want) {
			t.Fatalf("decoded %x, want %x", got, want)
		}
	})
}

// FuzzBody: a decoder ends, with words or an error, whatever it is given.
func FuzzBody(f *testing.F) {
	list := shapes()
	for seed := range uint64(24) {
		enc, err := NewEncoderOf(Version1+uint16(seed%4), lookUp(list), -1)
		if err != nil {
			f.Fatal(err)
		}
		enc.Begin()
		if err := enc.Chunk(generate(rand.New(rand.NewPCG(seed, 3)), list, int(seed/3)*3), 1, 2); err != nil {
			f.Fatal(err)
		}
		f.Add(enc.Finish(nil), byte(enc.Version()))
	}
	f.Fuzz(func(t *testing.T, body []byte, version byte) {
		dec := NewDecoder(lookUp(list))
		if err := dec.Start(body, uint16(version)); err != nil {
			return
		}
		for n := 0; n < 1<<20; {
			batch, err := dec.Next()
			if err != nil {
				return
			}
			if len(batch) == 0 {
				t.Fatal("an empty batch")
			}
			n += len(batch)
		}
	})
}
