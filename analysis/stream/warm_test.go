package stream

import (
	"math/rand/v2"
	"slices"
	"testing"

	"alleria/abp"
)

// countedWords is a sink that keeps words, and which of them count.
type countedWords struct {
	words []uint64
	on    []bool
	off   bool
}

func (c *countedWords) Count(on bool) { c.off = !on }

func (c *countedWords) Stretch(_ *abp.Exec, words []uint64) {
	for _, w := range words {
		c.words, c.on = append(c.words, w), append(c.on, !c.off)
	}
}

func (c *countedWords) Single(x *abp.Exec) {
	c.Stretch(x, append([]uint64{uint64(x.Block.ID)}, x.Words...))
}

// TestWarm: a sink gets everything in its order, and of each burst but the first what begins within half of the words of the one before does not count.
func TestWarm(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	m := randomBlocks(t, rng, 30, 20)
	proc := abp.Growing(abp.Header{}, m)
	got, half := &countedWords{}, 0
	var all []uint64
	var on []bool
	w := Warm(got)
	for range 200 {
		seen := 0
		for range 1 + rng.IntN(6) {
			var words []uint64
			single := rng.IntN(4) == 0
			for range 1 + rng.IntN(20) {
				b := m[1+rng.IntN(len(m)-1)]
				from := len(words)
				words = append(words, uint64(b.ID))
				for range b.Words {
					words = append(words, rng.Uint64())
				}
				for range words[from:] {
					on = append(on, seen+from >= half)
				}
				if single {
					break
				}
			}
			if single {
				w.Single(&abp.Exec{Process: proc, Block: proc.Block(uint32(words[0])), Words: words[1:]})
			} else {
				w.Stretch(&abp.Exec{Process: proc}, words)
			}
			all = append(all, words...)
			seen += len(words)
		}
		half = seen / 2
		for range 1 + rng.IntN(2) { // a second one in a row says nothing
			w.(Gapped).Gap()
		}
	}
	if !slices.Equal(got.words, all) || !slices.Equal(got.on, on) || !slices.Contains(on, false) {
		t.Errorf("%d words of %d arrived", len(got.words), len(all))
	}
}
