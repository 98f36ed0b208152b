package stream

import (
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"alleria/abp"
	"alleria/analysis/synthetic"
)

// sum is a Sink that depends on everything that it is handed, and on the order.
type sum struct {
	hash    uint64
	execs   uint64
	singles uint64
	proc    *abp.Process
}

func (s *sum) mix(n uint64) { s.hash = (s.hash ^ n) * 0x100000001b3 }

func (s *sum) Stretch(x *abp.Exec, words []uint64) {
	for i := 0; i < len(words); {
		b := s.proc.Block(uint32(words[i]))
		s.mix(x.Windows)
		s.mix(x.FSBase)
		for _, w := range words[i : i+1+b.Words] {
			s.mix(w)
		}
		s.execs++
		i += 1 + b.Words
	}
}

func (s *sum) Single(x *abp.Exec) {
	s.mix(uint64(x.Block.ID))
	s.mix(uint64(x.Completed))
	x.ForEachAccess(func(m *abp.Mem) { s.mix(m.Addr) })
	s.execs++
	s.singles++
}

// TestAheadIsAlone: decoding ahead hands over the same in the same order.
func TestAheadIsAlone(t *testing.T) {
	dir := t.TempDir()
	if err := synthetic.Write(filepath.Join(dir, "small")); err != nil {
		t.Fatal(err)
	}
	if err := synthetic.WriteLarge(filepath.Join(dir, "large"), 400_000); err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, name := range []string{"small", "large/p1"} {
		p, err := abp.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		proc := p.Processes()[0]
		for i := range proc.Threads() {
			th := &proc.Threads()[i]
			var want sum
			for _, n := range []int{1, 2, 5} {
				runtime.GOMAXPROCS(n)
				got := sum{proc: proc}
				if err := Thread(p, proc, th, nil, &got); err != nil {
					t.Fatal(err)
				}
				execs := uint64(0)
				for _, f := range th.Frames {
					execs += f.Execs
				}
				if got.execs != execs {
					t.Errorf("%s: %d executions, the frames have %d", name, got.execs, execs)
				}
				if n == 1 {
					want = got
				} else if got != want {
					t.Errorf("%s, %d frames, %d processors: %+v, alone %+v", name, len(th.Frames), n, got, want)
				}
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAccessesAreThoseOfExecs: accesses from words are those that executions expand to.
func TestAccessesAreThoseOfExecs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := synthetic.Write(dir); err != nil {
		t.Fatal(err)
	}
	p, err := abp.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	proc := p.Process(1)
	var got, want []uint64
	sink := NewAccesses(proc, func(addr uint64, size uint32, store bool) { got = append(got, addr, uint64(size)) })
	for i := range proc.Threads() {
		if err := Thread(p, proc, &proc.Threads()[i], nil, sink); err != nil {
			t.Fatal(err)
		}
	}
	err = p.EachExec(abp.Query{Processes: []uint32{1}}, func(x *abp.Exec) error {
		x.ForEachAccess(func(m *abp.Mem) { want = append(want, m.Addr, uint64(m.Size)) })
		return nil
	})
	if err != nil || len(got) != len(want) || len(want) == 0 {
		t.Fatalf("%d numbers, want %d: %v", len(got), len(want), err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("number %d: %#x, want %#x", i, got[i], want[i])
		}
	}
}

// TestLinesAreThoseOfAccesses: references to lines are those that each access by itself makes, in the order, however many are
// handed on at a time and however executions are.
func TestLinesAreThoseOfAccesses(t *testing.T) {
	dir := t.TempDir()
	if err := synthetic.Write(filepath.Join(dir, "small")); err != nil {
		t.Fatal(err)
	}
	if err := synthetic.WriteLarge(filepath.Join(dir, "large"), 5000); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"small", "large/p1"} {
		p, err := abp.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for _, proc := range p.Processes() {
			for i := range proc.Threads() {
				for _, shift := range []uint{0, 2, 6, 12} { // so that accesses lie in several lines as well
					var want, got []uint64
					a := NewAccesses(proc, func(addr uint64, size uint32, _ bool) {
						for l := addr >> shift; l <= (addr+uint64(max(size, 1))-1)>>shift; l++ {
							want = append(want, l+1)
						}
					})
					l := NewLines(proc, shift, 7, func(keys []uint64) { got = append(got, keys...) })
					for _, s := range []Sink{a, l} {
						if err := Thread(p, proc, &proc.Threads()[i], nil, s); err != nil {
							t.Fatal(err)
						}
					}
					l.Flush()
					if !slices.Equal(got, want) {
						t.Errorf("%s, lines of %d bytes: %d references, want %d", name, 1<<shift, len(got), len(want))
					}
				}
			}
		}
	}
}
