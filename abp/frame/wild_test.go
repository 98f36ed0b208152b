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
func modeAfter(t *testing.T, level int, words []uint64) mode {
	t.Helper()
	list := []Shape{{}, plainShape(1, 2)}
	enc, err := NewEncoder(lookUp(list), level)
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
		t.Fatalf("level %d: %d of %d words, %v", level, len(got), len(words), err)
	}
	e, d := enc.slots[enc.blocks[1].base], dec.slots[dec.blocks[1].base]
	if e != d {
		t.Errorf("level %d: the encoder's slot is %+v, the decoder's %+v", level, e, d)
	}
	return e.mode
}

func TestSlotsBecomeWildAndTame(t *testing.T) {
	for _, c := range []struct {
		random, strides int
		level           int
		wild            bool
	}{
		{wildSurprises - 1, 0, 0, false},
		{3 * wildSurprises, 0, 0, true},
		{3 * wildSurprises, 0, -1, true},
		{3 * wildSurprises, 0, 1, false}, // the first version has none
		{3 * wildSurprises, 2 * wildTrial, 0, false},
	} {
		if m := modeAfter(t, c.level, wildWords(c.random, c.strides)); (m == modeWild) != c.wild {
			t.Errorf("%+v: mode %d", c, m)
		}
	}
}

// What is written at one level must come out as what is written at another.
func TestVersionsAgree(t *testing.T) {
	list := shapes()
	var bodies [2][]byte
	var versions [2]uint16
	words := generate(rand.New(rand.NewPCG(3, 9)), list, 4000)
	for i, level := range []int{0, 1} {
		enc, err := NewEncoder(lookUp(list), level)
		if err != nil {
			t.Fatal(err)
		}
		enc.Begin()
		if err := enc.Chunk(words, 1, 2); err != nil {
			t.Fatal(err)
		}
		bodies[i], versions[i] = enc.Finish(nil), enc.Version()
	}
	if versions != [2]uint16{Version2, Version1} {
		t.Fatalf("versions %d", versions)
	}
	dec := NewDecoder(lookUp(list)) // one for both, as in a profile that has both
	for i, body := range bodies {
		if got, err := decode(dec, body, versions[i]); err != nil || !slices.Equal(got[3:], words) {
			t.Errorf("version %d: %d of %d words, %v", versions[i], len(got), len(words)+3, err)
		}
	}
	if got, err := decode(dec, bodies[0], Version1); err == nil && slices.Equal(got[3:], words) {
		t.Error("the second version's body can be read as one of the first: no slot was wild")
	}
}

// A slot that surprises in just half of the executions is wild, in one less it is not: both
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
		// What follows a surprise is predicted to go on by the same difference.
		for range wildSurprises - 1 {
			add(last + 64 + rng.Uint64N(1<<16)*8)
			for range 1 + c.lead {
				add(last + d)
			}
			c.lead = 0
		}
		if m := modeAfter(t, 0, words); (m == modeWild) != c.wild {
			t.Errorf("%+v: mode %d after %d executions", c, m, len(words)/3)
		}
	}
}
