package difftest

import (
	"debug/elf"
	"path/filepath"
	"testing"

	"alleria/engine"
	"alleria/internal/capture"
)

// TestCaptureEverything captures all functions of a program of others. It must not notice, and each return belongs to an
// entry.
func TestCaptureEverything(t *testing.T) {
	path, err := filepath.EvalSymlinks("/usr/bin/python3")
	if err != nil {
		t.Skip(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Skip(err)
	}
	str := &capture.Target{Size: 1, Len: capture.Length{Kind: capture.Sentinel}, Max: 32}
	prog := &capture.Program{Entry: []capture.Item{pointing(rdi, str), gpr(rsi)}, Exit: []capture.Item{gpr(rax)}, Returns: true, MaxBytes: 100}
	args := []string{path, "-S", "-c", "import sys; print(sum(len(str(i)) for i in range(20000)), sys.argv)"}
	modes := []engine.Mode{engine.ModeNative, engine.ModePlain}
	if testing.Short() {
		modes = modes[:1]
	}
	for _, mode := range modes {
		out, c := intercept(t, path, mode, nil, func(o *engine.Options) {
			o.Argv = args
			o.ChunkBytes = 256 << 10
		}, func(c *interceptor) {
			c.at = func(p *engine.Process, addr func(string) uint64) {
				n := uint32(0)
				for _, s := range symbols {
					if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Value == 0 || s.Section == elf.SHN_UNDEF {
						continue
					}
					if err := p.Intercept(addr("")+s.Value, n, prog); err != nil {
						t.Fatal(err)
					}
					n++
				}
			}
		})
		if (out != outcome{"exit 0", "88890 ['-c']\n"}) {
			t.Errorf("mode %d: %+v", mode, out)
		}
		entered, left := 0, 0
		for _, w := range c.byThread(t)[0] {
			if m, _, _ := capture.SplitHead(w[0]); m == capture.Entered {
				entered++
			} else {
				left++
			}
		}
		t.Logf("mode %d: %d entered, %d left, %d moments by the tracer", mode, entered, left, c.slow)
		if entered < 100000 || left > entered || left < entered*9/10 {
			t.Errorf("mode %d: %d entered, %d left", mode, entered, left)
		}
	}
}
