package analysis

import (
	"bytes"
	"path/filepath"
	"testing"

	"alleria/abp"
	"alleria/analysis/synthetic"
)

// TestDumpBeside: a dump that is written on all processors, or by executions up to an instruction or from one on, is the one of a single goroutine that goes by entries.
func TestDumpBeside(t *testing.T) {
	dir := t.TempDir()
	if err := synthetic.WriteLarge(dir, 20_000); err != nil {
		t.Fatal(err)
	}
	p, err := abp.Open(filepath.Join(dir, "p1"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, json := range []bool{false, true} {
		for name, q := range map[string]abp.Query{"all": {}, "function": {Functions: []string{"demo::work"}}, "data": {Data: abp.Range{From: synthetic.Heap}}} {
			for _, part := range []DumpOptions{{}, {Count: 1}, {Count: 7}, {Count: 12_345}, {From: 5, Count: 3}, {From: 403, Count: 1_001}, {From: 19_998}} {
				o := part
				o.Syntax, o.JSON, o.Alone = Intel, json, true
				var alone, beside bytes.Buffer
				if err := Dump(&alone, p, q, o); err != nil {
					t.Fatal(err)
				}
				o.Alone = false
				if err := Dump(&beside, p, q, o); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(alone.Bytes(), beside.Bytes()) || alone.Len() == 0 {
					t.Errorf("JSON %v, %s, %+v: %d bytes, alone %d", json, name, part, beside.Len(), alone.Len())
				}
			}
		}
	}
}
