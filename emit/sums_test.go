package emit

import (
	"maps"
	"testing"

	"alleria/abp"
)

// insCounts are counts by block and instruction, zeroes left out.
type insCounts map[sumKey]abp.Counts

func (m insCounts) add(id uint32, ins int, c abp.Counts, n uint64) {
	k := sumKey{id, ins}
	sum := m[k]
	sum.Add(c, n)
	if m[k] = sum; sum == (abp.Counts{}) {
		delete(m, k)
	}
}

// decodedCounts counts a frame execution by execution and access by access.
func decodedCounts(t *testing.T, r *abp.Reader, p *abp.Process, ref *abp.FrameRef) insCounts {
	t.Helper()
	out := insCounts{}
	for r.Frame(p, ref); r.NextExec(); {
		x := r.Exec()
		if x.IsEmulated { // stands for one instruction, whatever the random block has
			out.add(x.Block.ID, 0, x.Counts(), 1)
			continue
		}
		for i := range x.Block.Ins[:x.Completed] {
			c := abp.Counts{}
			if x.Block.Ins[i].Retires() {
				c.Instructions = 1
				if x.Block.Ins[i].Flags&abp.InsMemory != 0 {
					c.MemInstructions = 1
				}
			}
			x.InsAccesses(i, func(m *abp.Mem) {
				one := abp.Counts{Loads: 1, BytesRead: uint64(m.Size)}
				if m.Store {
					one = abp.Counts{Stores: 1, BytesWritten: uint64(m.Size)}
				}
				c.Add(one, 1)
			})
			out.add(x.Block.ID, i, c, 1)
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return out
}

// listedCounts counts a frame by what it lists.
func listedCounts(p *abp.Process, s *abp.InsSums) insCounts {
	out := insCounts{}
	for _, t := range s.Blocks {
		b := p.Block(t.ID)
		for i := range b.Ins {
			c, _ := b.StaticCounts(i + 1)
			before, _ := b.StaticCounts(i)
			c.Sub(before)
			out.add(t.ID, i, c, t.Execs)
		}
	}
	for i := range s.Parts {
		out.add(s.Parts[i].Block.ID, s.Parts[i].Ins, s.Parts[i].Counts, 1)
	}
	return out
}

// TestFrameSums holds what frames list (cut, emulated and dynamic executions included) to
// what decoding them gives, instruction by instruction.
func TestFrameSums(t *testing.T) {
	listed, decoded := 0, 0
	for seed := range uint64(6) {
		profile, err := abp.Open(record(t, seed, 40, 60, Options{}).dir)
		if err != nil {
			t.Fatal(err)
		}
		r := profile.FrameReader(abp.Query{})
		p := profile.Processes()[0]
		for _, th := range p.Threads() {
			for _, ref := range th.Frames {
				s, err := r.FrameSums(p, ref)
				if err != nil {
					t.Fatal(err)
				}
				if s == nil {
					decoded++
					continue
				}
				listed++
				got, windows := listedCounts(p, s), s.Windows
				if want := decodedCounts(t, r, p, ref); !maps.Equal(got, want) {
					t.Fatalf("seed %d, thread %d, frame %d:\n%v\ndecoded\n%v", seed, ref.Thread, ref.Seq, got, want)
				}
				if windows != ref.Windows {
					t.Errorf("windows %x, want %x", windows, ref.Windows)
				}
			}
		}
		if err := profile.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d frames by what they list, %d by decoding", listed, decoded)
	if listed == 0 || decoded == 0 {
		t.Errorf("%d frames by what they list, %d by decoding", listed, decoded)
	}
}
