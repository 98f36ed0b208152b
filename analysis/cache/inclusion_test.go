package cache

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"alleria/abp"
	"alleria/abp/abptest"
	"alleria/analysis/stream"
)

// bag is a cache as its definition has it: the lines of each set, the one that goes next last.
type bag struct {
	sets [][]uint64
	ways int
	fifo bool
}

func newBag(s Shape) *bag {
	return &bag{make([][]uint64, s.Size/s.Line/uint64(s.Ways)), s.Ways, s.Policy == FIFO}
}

func (b *bag) set(line uint64) *[]uint64 { return &b.sets[line%uint64(len(b.sets))] }
func (b *bag) has(line uint64) bool      { return slices.Contains(*b.set(line), line) }
func (b *bag) full(line uint64) bool     { return len(*b.set(line)) == b.ways }
func (b *bag) last(line uint64) uint64   { s := *b.set(line); return s[len(s)-1] }
func (b *bag) add(line uint64)           { s := b.set(line); *s = slices.Insert(*s, 0, line) }
func (b *bag) remove(line uint64) {
	s := b.set(line)
	*s = slices.DeleteFunc(*s, func(l uint64) bool { return l == line })
}
func (b *bag) use(line uint64) {
	if !b.fifo {
		b.remove(line)
		b.add(line)
	}
}

// model is first levels, each with some levels behind: those in common are the same bags.
type model struct {
	inclusion Inclusion
	ways      [][]*bag // of each first level: itself, and what is behind
}

// refer is one reference of a first level to a line, and how many levels missed it.
func (m *model) refer(first int, line uint64) int {
	way := m.ways[first]
	depth := 0
	for depth < len(way) && !way[depth].has(line) {
		depth++
	}
	if depth < len(way) && (depth == 0 || m.inclusion != Exclusive) {
		way[depth].use(line)
	}
	if depth == 0 {
		return 0
	}
	if m.inclusion == Exclusive {
		for _, b := range way[1:] {
			if b.has(line) { // the nearest gives it
				b.remove(line)
				break
			}
		}
		for _, b := range way {
			if b.has(line) {
				b.use(line)
				break
			}
			out, any := uint64(0), b.full(line)
			if any {
				out = b.last(line)
				b.remove(out)
			}
			b.add(line)
			if !any {
				break
			}
			line = out
		}
		return depth
	}
	// Each level that lacks the line gives up one of its own before the one behind does.
	outs := make([]uint64, depth)
	for i := range depth {
		if outs[i] = ^uint64(0); way[i].full(line) {
			outs[i] = way[i].last(line)
			way[i].remove(outs[i])
		}
	}
	for i := depth - 1; i >= 0; i-- {
		for _, other := range m.ways {
			at := slices.Index(other, way[i])
			for _, b := range other[:max(at, 0)] {
				b.remove(outs[i])
			}
		}
		way[i].add(line)
	}
	return depth
}

// check holds the contents to what inclusion says of them.
func (m *model) check(t *testing.T) {
	t.Helper()
	for _, way := range m.ways {
		for i, b := range way[:len(way)-1] {
			for _, set := range b.sets {
				for _, l := range set {
					if m.inclusion == Inclusive && !way[i+1].has(l) {
						t.Fatalf("level %d has %d, the one behind has not", i, l)
					}
				}
			}
		}
	}
}

// TestInclusion compares with a model of sets as lists, for code, data and threads in front of the same levels.
func TestInclusion(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 11))
		policy := []Policy{LRU, FIFO}[rng.IntN(2)]
		shape := func(sets, ways uint64) Shape { return Shape{sets * ways * 64, int(ways), 64, policy} }
		o := Options{Inclusion: []Inclusion{Inclusive, Exclusive}[seed%2], SharedLL: true, L1I: shape(2, 1+rng.Uint64N(3)), L1D: shape(4, 1+rng.Uint64N(3)),
			L2: shape(4, 1+rng.Uint64N(4)), LL: shape(8, 2+rng.Uint64N(6))}
		if rng.IntN(3) == 0 {
			o.L2 = Shape{}
		}
		totals := NewTotals(nil, o)
		m := &model{inclusion: o.Inclusion}
		last := newBag(o.LL)
		var firsts []*level
		for range 3 { // threads
			h := totals.options.hierarchy(totals.last)
			firsts = append(firsts, h.related.code, h.related.data)
			behind := []*bag{last}
			if o.L2.Ways > 0 {
				behind = []*bag{newBag(o.L2), last}
			}
			m.ways = append(m.ways, append([]*bag{newBag(o.L1I)}, behind...), append([]*bag{newBag(o.L1D)}, behind...))
		}
		for n := range 4000 {
			first, line := rng.IntN(len(firsts)), rng.Uint64N(80)
			if got, want := firsts[first].access(line*64+rng.Uint64N(64), 1, 6), m.refer(first, line); got != want {
				t.Fatalf("seed %d, reference %d, %s: %d levels miss, want %d", seed, n, o.Inclusion, got, want)
			}
			if n%100 == 0 {
				m.check(t)
			}
		}
	}
}

// TestInclusionCounts: an access is a miss at a level if one of its lines is, and is counted by kind and line of data.
func TestInclusionCounts(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 13))
		blocks := randomBlocks(t, rng, 60)
		o := Options{Inclusion: []Inclusion{Inclusive, Exclusive}[seed%2], SharedLL: seed%3 == 0, L1D: Shape{4096, 4, 64, LRU}, L2: Shape{8192, 4, 64, LRU}, LL: Shape{32768, 8, 64, LRU}}
		words := randomWords(rng, blocks, 4000)
		proc := abp.Growing(abp.Header{}, blocks)
		a := NewOrdered(proc, o)
		s := a.Thread()
		s.Stretch(&abp.Exec{Process: proc, FSBase: 0x7e0000000000}, words)
		a.End(s)
		got := a.Result().Total

		m := &model{inclusion: o.Inclusion, ways: [][]*bag{{newBag(o.L1D), newBag(o.L2), newBag(o.LL)}}}
		var want Misses
		eachExecution(proc, words, func(x *abp.Exec) {
			want.Executed += uint64(len(x.Block.Ins))
			x.ForEachAccess(func(am *abp.Mem) {
				missed := 0
				for l := am.Addr / 64; l <= (am.Addr+uint64(am.Size)-1)/64; l++ {
					missed = max(missed, m.refer(0, l))
				}
				all, first, third := &want.Reads, &want.L1DRead, &want.LLRead
				if am.Store {
					all, first, third = &want.Writes, &want.L1DWrite, &want.LLWrite
				}
				*all++
				for i, c := range []*uint64{first, &want.L2, third} {
					if missed > i {
						*c++
					}
				}
			})
		})
		if got != want || want.LLRead == 0 {
			t.Fatalf("seed %d: %+v\nwant %+v", seed, got, want)
		}
	}
}

// randomWords are executions of blocks one after the other.
func randomWords(rng *rand.Rand, blocks []*abp.Block, n int) (words []uint64) {
	for range n {
		id := 1 + min(rng.IntN(len(blocks)-1), rng.IntN(len(blocks)-1))
		words = append(words, uint64(id))
		for range blocks[id].Words {
			words = append(words, 0x7f0000000000+uint64(rng.ExpFloat64()*20000))
		}
	}
	return words
}

// eachExecution takes words apart.
func eachExecution(proc *abp.Process, words []uint64, f func(x *abp.Exec)) {
	for at := 0; at < len(words); {
		x := abp.Exec{Process: proc, FSBase: 0x7e0000000000}
		b := proc.Block(uint32(words[at]))
		x.Whole(b, words[at+1:])
		f(&x)
		at += 1 + b.Words
	}
}

// TestSharedLL: threads that come side by side, each with first levels of its own in front of one last level, miss what they miss in the order of time.
func TestSharedLL(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 17))
		block := func(id uint32, store bool) *abp.Block {
			b := &abp.Block{ID: id, Addr: 0x1000 * uint64(id), Words: 2, TimeWord: 0, BranchWord: abp.NoWord, Code: []byte{0x90},
				Ins:      []abp.Ins{{Len: 1, Flags: abp.InsRecorded | abp.InsAddrs | abp.InsTime | abp.InsMemory, AccTo: 1}},
				Accesses: []abp.Access{{Kind: abp.AccessPlain, AddrBits: 64, Word: 1, AuxWord: abp.NoWord, IndexWord: abp.NoWord, Value: abp.NoWord, Size: 8, Store: store}}}
			if err := b.Prepare(); err != nil {
				t.Fatal(err)
			}
			return b
		}
		proc := abp.Growing(abp.Header{}, abptest.Blocks{nil, block(1, false), block(2, true)})
		o := Options{SharedLL: true, L1D: Shape{1024, 2, 64, LRU}, LL: Shape{4096, 4, 64, LRU}}
		if seed%2 == 1 {
			o.Inclusion = Inclusive
		}
		type executed struct {
			thread int
			words  []uint64
		}
		var all []executed
		const threads = 3
		left := make([][]executed, threads)
		for thread := range left {
			for time := uint64(1 + thread); time < 6000; time += threads * uint64(1+rng.IntN(9)) {
				e := executed{thread, []uint64{uint64(1 + rng.IntN(2)), time, uint64(rng.IntN(100)) * 64}}
				all, left[thread] = append(all, e), append(left[thread], e)
			}
		}
		a := NewOrdered(proc, o)
		var sinks []*stream.Ahead
		for range threads {
			sinks = append(sinks, a.Thread())
		}
		for open := threads; open > 0; {
			i := rng.IntN(threads)
			if len(left[i]) == 0 {
				if sinks[i] != nil {
					a.End(sinks[i])
					sinks[i], open = nil, open-1
				}
				continue
			}
			n := 1 + rng.IntN(len(left[i]))
			var words []uint64
			for _, e := range left[i][:n] {
				words = append(words, e.words...)
			}
			sinks[i].Stretch(&abp.Exec{Process: proc, Thread: uint32(i + 1), TSC: words[1], Timed: true}, words)
			left[i] = left[i][n:]
		}
		got := a.Result()

		slices.SortStableFunc(all, func(x, y executed) int { return cmp.Compare(x.words[1], y.words[1]) })
		m := &model{inclusion: o.Inclusion}
		last := newBag(o.LL)
		for range threads {
			m.ways = append(m.ways, []*bag{newBag(o.L1D), last})
		}
		var l1, ll uint64
		for _, e := range all {
			var missed int
			if o.Inclusion == Neither {
				way := m.ways[e.thread]
				missed = plainRefer(way, e.words[2]/64)
			} else {
				missed = m.refer(e.thread, e.words[2]/64)
			}
			if missed > 0 {
				l1++
			}
			if missed > 1 {
				ll++
			}
		}
		if sum := got.Total; sum.L1DRead+sum.L1DWrite != l1 || sum.LLRead+sum.LLWrite != ll || sum.Reads+sum.Writes != uint64(len(all)) || ll == 0 || got.Late != 0 {
			text, _ := json.Marshal(sum)
			t.Fatalf("seed %d: %s, want %d and %d misses", seed, text, l1, ll)
		}
	}
}

// plainRefer is a reference through levels that have nothing to do with each other.
func plainRefer(way []*bag, line uint64) (missed int) {
	for _, b := range way {
		if b.has(line) {
			b.use(line)
			return missed
		}
		missed++
		if b.full(line) {
			b.remove(b.last(line))
		}
		b.add(line)
	}
	return missed
}

// TestInclusionRefused has what does not go together.
func TestInclusionRefused(t *testing.T) {
	for _, o := range []map[string]string{{"inclusion": "both"}, {"inclusion": "inclusive", "ll": "8M,16,128"}, {"shared-ll": "yes", "ll": "off"}, {"shared-ll": "perhaps"}} {
		if _, err := ParseOptions(func(name string) string { return o[name] }); err == nil {
			t.Errorf("%v was taken", o)
		}
	}
	if o, err := ParseOptions(func(name string) string { return map[string]string{"inclusion": "exclusive", "shared-ll": "yes"}[name] }); err != nil || o.Inclusion != Exclusive || !o.SharedLL {
		t.Errorf("%+v, %v", o, err)
	}
}
