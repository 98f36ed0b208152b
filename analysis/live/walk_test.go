package live

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"alleria/abp"
	"alleria/abp/abptest"
	"alleria/analysis/lanes"
	"alleria/analysis/stream"
)

// TestWalk: an analysis that finds out by itself where executions end has what it has of executions that were looked for before, and counts as many, with marks and executions that are cut
// among them, accesses in two lines and such as words count, and in bursts, whose first halves do not count.
func TestWalk(t *testing.T) {
	for i, text := range []string{"reuse", "reuse(sample=64)", "reuse", "reuse(sample=64)", "cache", "cache", "heatmap", "heatmap"} {
		bursts := i > 1 && i%2 == 1 || i == 2
		rng := rand.New(rand.NewPCG(7, 8))
		blocks, err := abptest.Random(rng, 80, abptest.Shape{Instructions: func() int { return 1 + rng.IntN(7) }, Size: func() uint32 { return 1 << rng.IntN(5) },
			Offset: func() int64 { return int64(0x600000 + rng.IntN(1<<16)) }})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks[1:] { // some count for what their words say
			if b.ID%5 > 0 || b.Words < 2 || len(b.Accesses) == 0 {
				continue
			}
			a := &b.Accesses[0]
			if a.Kind, a.Lanes, a.Word, a.AuxWord = abp.AccessMasked, 8, 0, 1; b.Prepare() != nil || !b.Dynamic {
				t.Fatalf("block %d has nothing like it", b.ID)
			}
		}
		specs, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		others, err := Parse(text + ",strides") // of several none goes over the words by itself
		if err != nil {
			t.Fatal(err)
		}
		one, two := NewProcess(abp.Growing(abp.Header{}, blocks), specs), NewProcess(abp.Growing(abp.Header{}, blocks), others)
		threads := []*Thread{one.Thread(1), two.Thread(1)}
		if w, ok := threads[0].sinks[0].(stream.Walker); !ok || w.Walks() != (lanes.NewLines(6) != nil) {
			t.Fatal("it does not go over the words by itself")
		}
		for range 300 {
			var words []uint64
			for range rng.IntN(60) {
				b := blocks[1+rng.IntN(len(blocks)-1)]
				switch rng.IntN(30) {
				case 2:
					if bursts {
						words = append(words, abp.Mark(abp.MarkGap, 0))
					}
				case 0:
					words = append(words, abp.Mark(abp.MarkWindows, 1), 1)
				case 3:
					words = append(words, abp.Mark(abp.MarkFS, 0), rng.Uint64N(2)<<20)
				case 1:
					words = append(words, abp.Mark(abp.MarkCut, rng.Uint64N(uint64(len(b.Ins)))))
				}
				words = append(words, uint64(b.ID))
				for range b.Words {
					words = append(words, rng.Uint64N(1<<18))
				}
			}
			for _, th := range threads {
				if err := th.Consume(words, 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		if a, b := threads[0].Counts(), threads[1].Counts(); a != b || a.Instructions == 0 {
			t.Errorf("%s: counts %+v, brought %+v", text, a, b)
		}
		one.End(threads[0], 1)
		two.End(threads[1], 1)
		a, errA := json.Marshal(one.Finish()[0].Result)
		b, errB := json.Marshal(two.Finish()[0].Result)
		if errA != nil || errB != nil || !bytes.Equal(a, b) || len(a) < 200 {
			t.Errorf("%s: %.300s\nbrought: %.300s", text, a, b)
		}
	}
}

// TestLeftOut: executions that a thread left out count as references and in sums, and nowhere else.
func TestLeftOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	blocks, err := abptest.Random(rng, 3, abptest.Shape{Instructions: func() int { return 5 }, Offset: func() int64 { return 0x600000 }})
	if err != nil {
		t.Fatal(err)
	}
	specs, err := Parse("reuse(sample=64)")
	if err != nil {
		t.Fatal(err)
	}
	p := NewProcess(abp.Growing(abp.Header{}, blocks), specs)
	th := p.Thread(1)
	th.LeftOut(1, 10)
	th.LeftOut(2, 1)
	want := abp.Counts{}
	want.Add(blocks[1].Static, 10)
	want.Add(blocks[2].Static, 1)
	if got := th.Counts(); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	p.End(th, 1)
	text, err := json.Marshal(p.Finish()[0].Result)
	var r struct {
		References uint64
		Lines      float64
	}
	if err != nil || json.Unmarshal(text, &r) != nil || r.References != want.Loads+want.Stores || r.Lines != 0 {
		t.Errorf("%s, want %d references", text, want.Loads+want.Stores)
	}
}
