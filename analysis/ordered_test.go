package analysis

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"alleria/abp"
	"alleria/analysis/synthetic"
)

// entryText is an entry as text, every field of it that its kind has.
func entryText(e *abp.Entry) string {
	s := fmt.Sprint(e.Kind, e.Process, e.Thread, e.OSID, e.Windows, " ")
	switch e.Kind {
	case abp.EntryIns:
		s += fmt.Sprint(e.Ins.Ordinal, e.Ins.Addr, e.Ins.TSC, e.Ins.Timed, e.Ins.Part, e.Ins.Func)
	case abp.EntryMem:
		s += fmt.Sprint(e.Mem)
	case abp.EntryBranch:
		s += fmt.Sprint(e.Branch)
	}
	return s + "\n"
}

// TestOrdered: what is expanded side by side is what one reader yields, in its order.
func TestOrdered(t *testing.T) {
	small, large := t.TempDir(), t.TempDir()
	if err := errors.Join(synthetic.Write(small), synthetic.WriteLarge(large, 20_000)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{small, large} {
		p, err := abp.Open(filepath.Join(dir, "p1"))
		if err != nil {
			t.Fatal(err)
		}
		for name, q := range map[string]abp.Query{"all": {}, "thread": {Threads: []uint32{1}}, "function": {Functions: []string{"main"}},
			"ordinals": {Ordinals: abp.Range{From: 10, To: 50}}, "no window": {Windows: []string{"none"}}} {
			var want []byte
			r := p.Reader(q)
			for r.Next() {
				want = append(want, entryText(r.Entry())...)
			}
			var got []byte
			err := Ordered(p, q, nil, func() (OrderedWork[string], func(), error) {
				return func(r *abp.Reader, _ *abp.Batch, emit func(string) error) error {
					for r.Next() {
						if err := emit(entryText(r.Entry())); err != nil {
							return err
						}
					}
					return nil
				}, func() {}, nil
			}, func(s string) error { got = append(got, s...); return nil })
			if err != nil || r.Err() != nil || string(got) != string(want) || len(want) == 0 && name != "no window" {
				t.Errorf("%s, %s: %d bytes, want %d; %v, %v", dir, name, len(got), len(want), err, r.Err())
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOrderedEnds: an error of who takes the pieces ends everything.
func TestOrderedEnds(t *testing.T) {
	dir := t.TempDir()
	if err := synthetic.WriteLarge(dir, 20_000); err != nil {
		t.Fatal(err)
	}
	p, err := abp.Open(filepath.Join(dir, "p1"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	n := 0
	err = Ordered(p, abp.Query{}, nil, func() (OrderedWork[int], func(), error) {
		return func(r *abp.Reader, _ *abp.Batch, emit func(int) error) error {
			for r.Next() {
				if err := emit(1); err != nil {
					return err
				}
			}
			return nil
		}, func() {}, nil
	}, func(int) error {
		if n++; n == 1000 {
			return io.ErrShortWrite
		}
		return nil
	})
	if !errors.Is(err, io.ErrShortWrite) || n != 1000 {
		t.Error(n, err)
	}
}
