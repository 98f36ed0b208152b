package analysis

import (
	"bytes"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	"alleria/abp"
	"alleria/analysis/synthetic"
)

// TestProcessors reads profiles with one goroutine and with many, which must count the
// same, with and without filters.
func TestProcessors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "large")
	if err := synthetic.WriteLarge(dir, 210_000); err != nil {
		t.Fatal(err)
	}
	large, err := abp.Open(filepath.Join(dir, "p1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = large.Close() })
	read := func(processors int, p *abp.Profile, q abp.Query) (string, []Cell) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		var js bytes.Buffer
		r, err := Summarise([]*abp.Profile{p}, q, nil)
		if err == nil {
			err = r.WriteJSON(&js)
		}
		h, heatErr := HeatOf(p, p.Process(1), q, DefaultHeatBlock, nil)
		if err != nil || heatErr != nil {
			t.Fatal(err, heatErr)
		}
		return js.String(), h.Cells(heatPage)
	}
	for _, p := range []*abp.Profile{openDemo(t), large} {
		for _, q := range []abp.Query{{}, {Time: abp.Range{From: 2000}}, {Functions: []string{"demo::work"}}, {Ordinals: abp.Range{From: 399, To: 401_000}}} {
			report, heat := read(1, p, q)
			for _, n := range []int{8} {
				if r, h := read(n, p, q); r != report || !reflect.DeepEqual(h, heat) {
					t.Errorf("%s, %+v: %d processors give\n%s%v\none gives\n%s%v", p.Path(), q, n, r, h, report, heat)
				}
			}
		}
	}
}

// TestFirstErrorByProcessors has several frames fail: whoever meets another first, what is
// reported is the first.
func TestFirstErrorByProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	for range 20 {
		err := abp.EachFrame(100, func() (func(int) error, func()) {
			return func(i int) error {
				if i == 40 || i == 41 || i == 60 {
					return numbered(i)
				}
				return nil
			}, func() {}
		})
		if err != numbered(40) {
			t.Fatal(err)
		}
	}
}

// numbered is an error that says whose it is.
type numbered int

func (numbered) Error() string { return "numbered" }
