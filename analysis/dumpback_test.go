package analysis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"alleria/abp"
	"alleria/analysis/synthetic"
)

// dumped is what is checked of a line of a dump.
type dumped struct {
	Kind     string
	Number   uint64
	Accesses []struct{ Store bool }
}

// dumpLines dumps as JSON and returns the lines of one thread's instructions.
func dumpLines(t *testing.T, p *abp.Profile, q abp.Query, o DumpOptions) (lines []string, all []dumped) {
	t.Helper()
	var out bytes.Buffer
	o.Syntax, o.JSON = Intel, true
	q.Threads = []uint32{1}
	if err := Dump(&out, p, q, o); err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out.Bytes()) {
		var d dumped
		if err := json.Unmarshal(line, &d); err != nil {
			t.Fatal(err)
		}
		if d.Kind == "instruction" {
			lines, all = append(lines, string(line)), append(all, d)
		}
	}
	return lines, all
}

// TestDumpBackwards: a dump backwards is the dump forwards in the opposite order, up to the instruction that it begins with.
func TestDumpBackwards(t *testing.T) {
	dir := t.TempDir()
	if err := synthetic.WriteLarge(dir, 100_300); err != nil {
		t.Fatal(err)
	}
	p, err := abp.Open(filepath.Join(dir, "p1"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for name, q := range map[string]abp.Query{"all": {}, "function": {Functions: []string{"demo::work"}}, "data": {Data: abp.Range{From: synthetic.Heap}}} {
		q.Ordinals.From = 399_000 // some of the first frame and all of the second
		lines, all := dumpLines(t, p, q, DumpOptions{})
		for _, o := range []DumpOptions{{}, {Count: 10}, {From: all[len(all)/2].Number}, {From: all[len(all)/3].Number, Count: 300}, {From: all[len(all)/2].Number + 1, Count: 1, Stores: true}, {Stores: true, Count: 200}} {
			var want []string
			for i := range slices.Backward(lines) {
				stores := slices.ContainsFunc(all[i].Accesses, func(a struct{ Store bool }) bool { return a.Store })
				if (o.From == 0 || all[i].Number <= o.From) && (o.Count == 0 || uint64(len(want)) < o.Count) && (!o.Stores || stores) {
					want = append(want, lines[i])
				}
			}
			o.Backwards = true
			got, _ := dumpLines(t, p, q, o)
			if !slices.Equal(got, want) || len(want) == 0 {
				t.Errorf("%s, %s: %d instructions, forwards %d", name, fmt.Sprintf("%+v", o), len(got), len(want))
			}
		}
	}
}
