package analysis

import (
	"io"
	"path/filepath"
	"testing"

	"alleria/abp"
	"alleria/analysis/synthetic"
)

// benchProfile is a profile of four million instructions, as many accesses.
func benchProfile(b *testing.B) *abp.Profile {
	b.Helper()
	const runs = 1_000_000
	dir := filepath.Join(b.TempDir(), "p1")
	if err := synthetic.WriteLarge(filepath.Dir(dir), runs); err != nil {
		b.Fatal(err)
	}
	p, err := abp.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Close() })
	b.ResetTimer()
	return p
}

func perInstruction(b *testing.B) {
	b.ReportMetric(float64(b.N)*4e6/1e6/b.Elapsed().Seconds(), "Mins/s")
}

func BenchmarkReport(b *testing.B) {
	p := benchProfile(b)
	for b.Loop() {
		r, err := Summarise([]*abp.Profile{p}, abp.Query{}, nil)
		if err != nil || r.Processes[0].Instructions != 4e6 {
			b.Fatal(err, r)
		}
	}
	perInstruction(b)
}

func BenchmarkHeat(b *testing.B) {
	p := benchProfile(b)
	for b.Loop() {
		h, err := HeatOf(p, p.Process(1), abp.Query{}, DefaultHeatBlock, nil)
		if err != nil || len(h.pages) == 0 {
			b.Fatal(err)
		}
	}
	perInstruction(b)
}

func BenchmarkDump(b *testing.B) {
	p := benchProfile(b)
	for b.Loop() {
		if err := Dump(io.Discard, p, abp.Query{}, DumpOptions{Syntax: Intel, Count: 400_000}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*0.4/b.Elapsed().Seconds(), "Mins/s")
}
