package analysis

import (
	"bytes"
	"path/filepath"
	"testing"

	"alleria/abp"
	"alleria/analysis/synthetic"
)

// TestDumpBeside: a dump that is written on all processors is the one of a single goroutine.
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
			var alone, beside bytes.Buffer
			if err := Dump(&alone, p, q, DumpOptions{Syntax: Intel, JSON: json, Alone: true}); err != nil {
				t.Fatal(err)
			}
			if err := Dump(&beside, p, q, DumpOptions{Syntax: Intel, JSON: json}); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(alone.Bytes(), beside.Bytes()) || alone.Len() == 0 {
				t.Errorf("JSON %v, %s: %d bytes, alone %d", json, name, beside.Len(), alone.Len())
			}
		}
	}
}
