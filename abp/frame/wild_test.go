package frame

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// wildWords are executions of a block with two words: one that nothing predicts until it
// starts to stride, and one that always strides.
func wildWords(random, strides int) (words []uint64) {
	rng := rand.New(rand.NewPCG(7, 7))
	base := uint64(0x7f00_0000_0000)
	for i := range random + strides {
		first := base + rng.Uint64N(1<<16)
		if i >= random {
			first = base + 8*uint64(i)
		}
		words = append(words, 1, first, 0x5000+4*uint64(i))
	}
	return words
}

// modeAfter encodes and decodes words, and returns the first slot's mode at their end.
func modeAfter(t *testing.T, version uint16, words []uint64) mode {
	t.Helper()
	list := []Shape{{}, plainShape(1, 2)}
	enc, err := NewEncoderOf(version, lookUp(list), -1)
	if err != nil {
		t.Fatal(err)
	}
	enc.Begin()
	if err := enc.Chunk(words, 1, 2); err != nil {
		t.Fatal(err)
	}
	dec := NewDecoder(lookUp(list))
	got, err := decode(dec, enc.Finish(nil), enc.Version())
	if err != nil || !slices.Equal(got[3:], words) {
		t.Fatalf("version %d: %d of %d words, %v", version, len(got), len(words), err)
	}
	e, d := enc.slots[enc.blocks[1].base], dec.slots[dec.blocks[1].base]
	if e != d {
		t.Errorf("version %d: the encoder's slot is %+v, the decoder's %+v", version, e, d)
	}
	return e.mode
}

func TestSlotsBecomeWildAndTame(t *testing.T) {
	for _, c := range []struct {
		random, strides int
		version         uint16
		wild            bool
	}{
		{wildMispredictions - 1, 0, Version2, false},
		{3 * wildMispredictions, 0, Version2, true},
		{3 * wildMispredictions, 0, Version1, false}, // the first version has none
		{3 * wildMispredictions, 2 * wildTrial, Version2, false},
	} {
		if m := modeAfter(t, c.version, wildWords(c.random, c.strides)); (m == modeWild) != c.wild {
			t.Errorf("%+v: mode %d", c, m)
		}
	}
}

// What is written at one level must come out as what is written at another.
func TestVersionsAgree(t *testing.T) {
	list := shapes()
	var bodies [3][]byte
	words := generate(rand.New(rand.NewPCG(3, 9)), list, 4000)
	for i := range bodies {
		enc, err := NewEncoderOf(uint16(i+1), lookUp(list), 0)
		if err != nil {
			t.Fatal(err)
		}
		enc.Begin()
		if err := enc.Chunk(words, 1, 2); err != nil {
			t.Fatal(err)
		}
		if bodies[i] = enc.Finish(nil); enc.Version() != uint16(i+1) {
			t.Fatalf("version %d of %d", enc.Version(), i+1)
		}
	}
	dec := NewDecoder(lookUp(list)) // one for all, as in a profile that has all
	for _, v := range []uint16{1, 2, 3, 3, 2, 1, 3} {
		if got, err := decode(dec, bodies[v-1], v); err != nil || !slices.Equal(got[3:], words) {
			t.Errorf("version %d: %d of %d words, %v", v, len(got), len(words)+3, err)
		}
	}
	if got, err := decode(dec, bodies[Version2-1], Version1); err == nil && slices.Equal(got[3:], words) {
		t.Error("the second version's body can be read as one of the first: no slot was wild")
	}
}

// A slot that is mispredicted in just half of the executions is wild, in one less it is not: both
// sides have to count them alike.
func TestWildFromHalf(t *testing.T) {
	for _, c := range []struct {
		lead int // more right predictions, early on
		wild bool
	}{{2, true}, {3, false}} {
		rng := rand.New(rand.NewPCG(1, 1))
		var words []uint64
		last, d := uint64(0x7f00_0000_0000), uint64(0)
		add := func(v uint64) { words, last, d = append(words, 1, v, 0), v, v-last }
		add(last)
		// What follows a misprediction is predicted to go on by the same difference.
		for range wildMispredictions - 1 {
			add(last + 64 + rng.Uint64N(1<<16)*8)
			for range 1 + c.lead {
				add(last + d)
			}
			c.lead = 0
		}
		if m := modeAfter(t, Version2, words); (m == modeWild) != c.wild {
			t.Errorf("%+v: mode %d after %d executions", c, m, len(words)/3)
		}
	}
}
