package convert

import (
	"io"
	"testing"

	"alleria/abp"
	"alleria/analysis/synthetic"
)

// BenchmarkWrite converts a profile of four million instructions and as many accesses.
func BenchmarkWrite(b *testing.B) {
	dir := b.TempDir()
	if err := synthetic.WriteLarge(dir, 1_000_000); err != nil {
		b.Fatal(err)
	}
	p, err := abp.Open(dir + "/p1")
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	for _, f := range Formats() {
		b.Run(f.Name, func(b *testing.B) {
			for b.Loop() {
				if err := f.Write(io.Discard, Options{Profile: p}); err != nil {
					b.Skip(err)
				}
			}
			b.ReportMetric(float64(b.N)*4/b.Elapsed().Seconds(), "Mins/s")
		})
	}
}
