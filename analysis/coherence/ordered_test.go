package coherence

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"alleria/abp"
	"alleria/analysis/stream"
)

// blocks are the tables of a process that has nothing else: a load and a store at the address in the second word, and a time in the first.
type blocks []*abp.Block

func (b blocks) Block(id uint32) *abp.Block       { return b[id] }
func (blocks) Image(uint32) *abp.Image            { return nil }
func (blocks) Function(uint32) *abp.Function      { return nil }
func (blocks) Images(int) []*abp.Image            { return nil }
func (blocks) Snapshots() []abp.Snapshot          { return nil }
func (blocks) Functions(from int) []*abp.Function { return nil }
func (b blocks) process() *abp.Process            { return abp.Growing(abp.Header{}, b) }
func made(id uint32, store bool) *abp.Block {
	b := &abp.Block{ID: id, Addr: 0x1000 * uint64(id), Words: 2, TimeWord: 0, BranchWord: -1, Code: []byte{0x90}, Ins: []abp.Ins{{Len: 1, Flags: abp.InsRecorded | abp.InsAddrs | abp.InsTime | abp.InsMemory, AccTo: 1}},
		Accesses: []abp.Access{{Kind: abp.AccessPlain, AddrBits: 64, Word: 1, AuxWord: abp.NoWord, IndexWord: abp.NoWord, Value: abp.NoWord, Size: 8, Store: store}}}
	return b
}

// executed is an execution of a block of made.
type executed struct {
	thread uint32
	time   uint64
	words  []uint64
}

// run has threads execute blocks at random times, on few lines.
func executedAtRandom(rng *rand.Rand) (all []executed, threads int) {
	threads = 1 + rng.IntN(4)
	for n := range threads {
		for time := uint64(rng.IntN(100)); time < 3000; time += uint64(1 + rng.IntN(20)) {
			all = append(all, executed{uint32(n + 1), time, []uint64{uint64(1 + rng.IntN(2)), time, uint64(rng.IntN(4))*64 + uint64(rng.IntN(8))*8}})
		}
	}
	return all, threads
}

// inOrder is what is found where all executions are taken in the order of time.
func inOrder(t *testing.T, p *abp.Process, o Options, all []executed) *Result {
	t.Helper()
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b executed) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.thread, b.thread)) })
	sim := NewSimulator(o)
	e := newExecutions(p, sim)
	for _, x := range all {
		state := abp.Exec{Process: p, Thread: x.thread}
		state.Whole(p.Block(uint32(x.words[0])), x.words[1:])
		e.take(&state)
	}
	sim.finish()
	r := newResult(p, o)
	r.sum(sim, p, e.threads)
	return r
}

// TestOrdered: however threads' records come, what is found is what the order of time gives.
func TestOrdered(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	p := blocks{nil, made(1, false), made(2, true)}.process()
	o, err := ParseOptions(func(name string) string {
		return map[string]string{"shared": "1M,16,64"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		all, threads := executedAtRandom(rng)
		a := NewOrdered(p, o)
		sinks, left := make([]*stream.Ahead, threads), make([][]executed, threads)
		for i := range sinks {
			sinks[i] = a.Thread()
		}
		for _, x := range all {
			left[x.thread-1] = append(left[x.thread-1], x)
		}
		for len(sinks) > 0 {
			i := rng.IntN(len(sinks))
			if len(left[i]) == 0 {
				a.End(sinks[i])
				sinks, left = slices.Delete(sinks, i, i+1), slices.Delete(left, i, i+1)
				continue
			}
			n := 1 + rng.IntN(min(len(left[i]), 50))
			give(p, sinks[i], left[i][:n], rng.IntN(5) == 0)
			left[i] = left[i][n:]
		}
		if words, threads := a.Held(); words != 0 || threads != 0 {
			t.Fatalf("%d words of %d threads are left", words, threads)
		}
		same(t, a.Result(), inOrder(t, p, o, all))
	}
}

// give hands executions of one thread over: as a stretch, or each by itself. Words are overwritten afterwards, as in a ring.
func give(p *abp.Process, s stream.Sink, all []executed, single bool) {
	state := abp.Exec{Process: p, Thread: all[0].thread, TSC: all[0].time}
	var words []uint64
	for _, x := range all {
		if single {
			one := state
			w := slices.Clone(x.words)
			one.Whole(p.Block(uint32(w[0])), w[1:])
			s.Single(&one)
			clear(w)
			continue
		}
		words = append(words, x.words...)
	}
	s.Stretch(&state, words)
	clear(words)
}

// same compares results as they are written.
func same(t *testing.T, got, want *Result) {
	t.Helper()
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) || want.Total.Coherence() == 0 && len(want.Threads) > 2 {
		t.Fatalf("got %s\nwant %s", a, b)
	}
}

// TestOrderedGoesOn: a thread of which nothing comes holds the others up only until too much is kept; what it brings of the past then is late.
func TestOrderedGoesOn(t *testing.T) {
	p := blocks{nil, made(1, false), made(2, true)}.process()
	o, err := ParseOptions(func(name string) string {
		return map[string]string{"shared": "off"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	a := NewOrdered(p, o)
	const most = 30
	a.Limit(most)
	quick, slow := a.Thread(), a.Thread()
	for i := range 100 {
		give(p, quick, []executed{{1, uint64(i), []uint64{2, uint64(i), 0}}}, false)
		if words, _ := a.Held(); words > most {
			t.Fatalf("%d words are kept", words)
		}
	}
	give(p, slow, []executed{{2, 5, []uint64{1, 5, 0}}, {2, 6, []uint64{1, 6, 0}}, {2, 200, []uint64{1, 200, 0}}}, false)
	a.End(quick)
	a.End(slow)
	if r := a.Result(); r.Late != 2 || r.Total.Reads != 3 || r.Total.Writes != 100 {
		t.Errorf("%d late, %+v", r.Late, r.Total)
	}
}
