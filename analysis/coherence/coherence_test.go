package coherence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"alleria/analysis/cache"
)

// shape reads a shape.
func shape(t *testing.T, text string) cache.Shape {
	t.Helper()
	s, err := cache.ParseShape(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// reference is an access of a processor.
type reference struct {
	cpu   int
	addr  uint64
	size  uint64
	store bool
}

// simulated takes references through caches.
func simulated(t *testing.T, own, shared string, refs []reference) *Simulator {
	return simulatedWith(t, map[string]string{"private": own, "shared": shared}, refs)
}

// simulatedWith takes references through caches by their names.
func simulatedWith(t *testing.T, options map[string]string, refs []reference) *Simulator {
	t.Helper()
	o, err := ParseOptions(func(name string) string { return options[name] })
	if err != nil {
		t.Fatal(err)
	}
	s := NewSimulator(o)
	for i, r := range refs {
		s.Access(r.cpu, uint64(1000+i), r.addr, r.size, r.store)
	}
	s.finish()
	return s
}

// total is what all processors did.
func total(s *Simulator) (c Counts) {
	for i := range s.cpus {
		c.add(&s.cpus[i].Counts)
	}
	return c
}

// TestKinds has one miss of each kind.
func TestKinds(t *testing.T) {
	const load, store = false, true
	for _, c := range []struct {
		name string
		refs []reference
		want Counts
	}{
		{"cold", []reference{{0, 0, 4, load}, {0, 8, 4, load}}, Counts{Reads: 2, Cold: 1, Memory: 1}},
		{"two lines", []reference{{0, 60, 8, store}}, Counts{Writes: 2, Cold: 2, Memory: 2}},
		{"read by both", []reference{{0, 0, 4, load}, {1, 0, 4, load}, {0, 0, 4, load}}, Counts{Reads: 3, Cold: 2, Memory: 1}},
		{"true", []reference{{0, 0, 4, load}, {1, 0, 4, store}, {0, 0, 4, load}},
			Counts{Reads: 2, Writes: 1, Cold: 2, True: 1, Memory: 1, Dirty: 1, Takes: 1, Losses: 1}},
		{"false", []reference{{0, 0, 4, load}, {1, 8, 4, store}, {0, 0, 4, load}},
			Counts{Reads: 2, Writes: 1, Cold: 2, False: 1, Memory: 1, Dirty: 1, Takes: 1, Losses: 1}},
		{"true, later", []reference{{0, 0, 4, load}, {1, 8, 4, store}, {0, 0, 4, load}, {0, 8, 1, load}, {0, 8, 1, load}},
			Counts{Reads: 4, Writes: 1, Cold: 2, True: 1, Memory: 1, Dirty: 1, Takes: 1, Losses: 1}},
		{"false, then true by what was written before", []reference{{0, 0, 4, load}, {1, 8, 4, store}, {0, 0, 4, load}, {1, 16, 4, store}, {0, 8, 4, load}},
			Counts{Reads: 3, Writes: 2, Cold: 2, True: 1, False: 1, Memory: 1, Dirty: 2, Takes: 2, Losses: 2}},
		{"room", []reference{{0, 0, 4, store}, {0, 1 << 10, 4, load}, {0, 2 << 10, 4, load}, {0, 0, 4, load}},
			Counts{Reads: 3, Writes: 1, Cold: 3, Capacity: 1, Memory: 3}},
	} {
		s := simulated(t, "2048,2,64", "1M,16,64", c.refs)
		if got := total(s); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestWhoTookIt names the store and the instruction that misses, and their bytes.
func TestWhoTookIt(t *testing.T) {
	s := simulated(t, "32k,8,64", "off", []reference{{0, 4, 4, false}, {1, 8, 4, true}, {1, 16, 4, true}, {0, 4, 2, false}})
	note := s.dir.at(0).note
	p := note.pairs[pairKey{1001, 1003}]
	if len(note.pairs) != 1 || p == nil || p.falsely != 1 || p.shared != 0 || p.written != 0xf00 || p.referenced != 0x30 {
		t.Fatalf("got %+v of %d pairs", p, len(note.pairs))
	}
	if got := ranges(p.written|1, 1); got != "0,8-11" {
		t.Errorf("bytes %s", got)
	}
	if got := ranges(^uint64(0), 2); got != "0-127" {
		t.Errorf("bytes %s", got)
	}
}

// TestAgainstDefinition compares kinds of misses with the definition, applied afterwards to the whole of what was referred to: a stay of a line in a cache is
// needed if a byte is touched in it that another has written since the last needed stay of this processor there.
func TestAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		refs := make([]reference, 400)
		for i := range refs {
			refs[i] = reference{rng.IntN(4), uint64(rng.IntN(2))*64 + uint64(rng.IntN(8))*8, 8, rng.IntN(3) == 0}
		}
		got := total(simulated(t, "32k,8,64", "off", refs))
		if shared, falsely := defined(refs); got.True != shared || got.False != falsely {
			t.Fatalf("true %d, false %d; by the definition %d and %d", got.True, got.False, shared, falsely)
		}
	}
}

// defined counts coherence misses of references that each lie in one line of 64 bytes, in caches without bounds.
func defined(refs []reference) (shared, falsely uint64) {
	for line := uint64(0); line < 2; line++ {
		for cpu := range 4 {
			begun, known := -1, -1 // where the stay began, and the last needed one
			first, needed, there := true, false, false
			end := func() {
				switch {
				case !there:
				case first:
					known, first = begun, false
				case needed:
					shared++
				default:
					falsely++
				}
				there, needed = false, false
			}
			for i, r := range refs {
				if r.addr/64 != line {
					continue
				}
				if r.cpu != cpu {
					if r.store {
						end()
					}
					continue
				}
				if !there {
					there, begun = true, i
				}
				for k := known + 1; k < i && !first && !needed; k++ {
					if w := refs[k]; w.cpu != cpu && w.store && w.addr == r.addr {
						needed, known = true, i
					}
				}
			}
			end()
		}
	}
	return shared, falsely
}

// list is the lines of one set, the one that goes next last.
type list struct {
	lines []uint64
	most  int
	fifo  bool
}

func (l *list) use(line uint64) {
	if !l.fifo {
		l.drop(line)
		l.lines = slices.Insert(l.lines, 0, line)
	}
}

func (l *list) has(line uint64) bool { return slices.Contains(l.lines, line) }

func (l *list) drop(line uint64) {
	l.lines = slices.DeleteFunc(l.lines, func(o uint64) bool { return o == line })
}

// put returns the line that goes.
func (l *list) put(line uint64) (out uint64, any bool) {
	if len(l.lines) == l.most {
		out, any = l.lines[l.most-1], true
		l.drop(out)
	}
	l.lines = slices.Insert(l.lines, 0, line)
	return out, any
}

// TestPrivateLevels holds two private levels to lists: which level has a line, and what a miss is due to.
func TestPrivateLevels(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		const cpus, sets1, sets2 = 3, 2, 4
		ways1, ways2 := 1+rng.IntN(3), 2+rng.IntN(4)
		policy := []string{"", ",fifo"}[rng.IntN(2)]
		inclusion := []string{"neither", "inclusive", "exclusive"}[seed%3]
		refs := make([]reference, 2000)
		for i := range refs {
			refs[i] = reference{rng.IntN(cpus), uint64(rng.IntN(30)) * 64, 8, rng.IntN(6) == 0}
		}
		sim := simulatedWith(t, map[string]string{"private": fmt.Sprintf("%d,%d,64%s", 64*sets1*ways1, ways1, policy), "private-l2": fmt.Sprintf("%d,%d,64%s", 64*sets2*ways2, ways2, policy),
			"inclusion": inclusion, "shared": "off"}, refs)
		levels := [cpus][2][]*list{}
		for c := range levels {
			for range sets1 {
				levels[c][0] = append(levels[c][0], &list{most: ways1, fifo: policy != ""})
			}
			for range sets2 {
				levels[c][1] = append(levels[c][1], &list{most: ways2, fifo: policy != ""})
			}
		}
		at := func(cpu, level int, line uint64) *list {
			return levels[cpu][level][line%uint64(len(levels[cpu][level]))]
		}
		lost := map[[2]uint64]bool{} // processor and line: the last that has become of it is another's store
		met := map[[2]uint64]bool{}
		var want Counts
		sharing := uint64(0)
		for _, r := range refs {
			line, key := r.addr/64, [2]uint64{uint64(r.cpu), r.addr / 64}
			first, second := at(r.cpu, 0, line), at(r.cpu, 1, line)
			out, any := uint64(0), false
			room := func() {
				if any = len(first.lines) == first.most; any {
					out = first.lines[first.most-1]
					first.drop(out)
				}
			}
			toFirst := func() {
				if first.put(line); any && inclusion == "exclusive" {
					at(r.cpu, 1, out).put(out)
				}
			}
			switch {
			case first.has(line):
				first.use(line)
			case second.has(line):
				want.Second++
				room()
				if second.use(line); inclusion == "exclusive" {
					second.drop(line)
				}
				toFirst()
			default:
				switch {
				case !met[key]:
					want.Cold++
				case lost[key]:
					sharing++
				default:
					want.Capacity++
				}
				met[key], lost[key] = true, false
				room()
				if inclusion != "exclusive" {
					if out, any := second.put(line); any && inclusion == "inclusive" {
						at(r.cpu, 0, out).drop(out)
					}
				}
				toFirst()
			}
			for c := range cpus {
				if c != r.cpu && r.store && (at(c, 0, line).has(line) || at(c, 1, line).has(line)) {
					at(c, 0, line).drop(line)
					at(c, 1, line).drop(line)
					lost[[2]uint64{uint64(c), line}] = true
				}
			}
		}
		got := total(sim)
		if got.Second != want.Second || got.Cold != want.Cold || got.Capacity != want.Capacity || got.Coherence() != sharing || want.Second == 0 || want.Capacity == 0 || sharing == 0 {
			t.Fatalf("seed %d, %s%s: %+v, want %+v and %d by sharing", seed, inclusion, policy, got, want, sharing)
		}
	}
}

// TestOptions says what is wrong with shapes.
func TestOptions(t *testing.T) {
	shape(t, "32k,8,64")
	for _, c := range []map[string]string{{"private": "32k"}, {"private": "off"}, {"private": "32k,8,64,old"}, {"shared": "x"}, {"shared": "8M,16,128"}, {"private-l2": "1M,16,128"}, {"inclusion": "inclusive"},
		{"private-l2": "1M,16,64", "inclusion": "both"}} {
		if _, err := ParseOptions(func(name string) string { return c[name] }); err == nil {
			t.Errorf("%v is taken", c)
		}
	}
}
