package difftest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"alleria/engine"
	"alleria/internal/capture"
)

// BenchmarkCapture times captured calls beside calls that are not, in picoseconds by the program's own clock.
func BenchmarkCapture(b *testing.B) {
	path := build(b, filepath.Join("..", "..", "testdata", "intercept", "cost.c"), []string{"-O2", "-pthread"})
	str := &capture.Target{Size: 1, Len: capture.Length{Kind: capture.Sentinel}, Max: 256}
	progs := map[string]*capture.Program{
		"two":  {Entry: []capture.Item{gpr(rdi), gpr(rsi)}, Exit: []capture.Item{gpr(rax)}, Returns: true, MaxBytes: 4096},
		"text": {Entry: []capture.Item{pointing(rdi, str)}, Exit: []capture.Item{gpr(rax)}, Returns: true, MaxBytes: 4096},
	}
	one := &capture.Target{Size: 8, Len: capture.Length{N: 1}, Max: 8}
	two := &capture.Target{Size: 16, Len: capture.Length{N: 1}, Max: 16, Points: []capture.Pointer{{Target: one}}}
	three := &capture.Target{Size: 16, Len: capture.Length{N: 1}, Max: 16, Points: []capture.Pointer{{Target: two}}}
	progs["levels"] = &capture.Program{Entry: []capture.Item{pointing(rdi, three)}, Exit: []capture.Item{gpr(rax)}, Returns: true, MaxBytes: 4096}
	idle := map[string]*capture.Program{"never": progs["two"]}
	for _, what := range []string{"i1", "s1", "l1", "i2", "i4"} {
		for _, m := range []struct {
			name  string
			mode  engine.Mode
			progs map[string]*capture.Program
		}{{"armed elsewhere", engine.ModeNative, idle}, {"native", engine.ModeNative, progs}, {"cache", engine.ModePlain, progs}} {
			b.Run(what+"/"+m.name, func(b *testing.B) {
				for range b.N {
					out, c := intercept(b, path, m.mode, m.progs, func(o *engine.Options) {
						o.Env = append(o.Env, "WHAT="+what)
						o.ChunkBytes, o.Chunks = 256<<10, 16
					}, func(c *interceptor) { c.discard = true })
					b.ReportMetric(0, "ns/op")
					var ps float64
					if _, err := fmt.Sscan(strings.TrimSpace(out.output), &ps); err != nil {
						b.Fatal(out)
					}
					b.ReportMetric(ps/1000, "ns/call")
					b.ReportMetric(float64(c.slow), "slow")
				}
			})
		}
	}
}
