package acceptance

import (
	"bytes"
	"os"
	"testing"

	"alleria/abp/frame"
)

// TestEncodings records the same run in each encoding of frames: the one for vector
// instructions where the processor has them, the one without, and the small one.
func TestEncodings(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	fast := uint16(frame.Version2)
	if bytes.Contains(info, []byte(" avx512_vbmi2 ")) {
		fast = frame.Version4
	}
	var want string
	for _, c := range []struct {
		name    string
		flags   []string
		version uint16
	}{
		{"fast", nil, fast},
		{"off", []string{"--compress", "off"}, fast},
		{"without sizes", []string{"--engine", "no-sizes"}, fast},
		{"plain", []string{"--engine", "no-vector"}, frame.Version2},
		{"zstd", []string{"--compress", "3"}, frame.Version1},
	} {
		p, text := recordTokens(t, dir, c.name, "function,address,value,branch", c.flags...)
		if got := p.Processes()[0].Threads()[0].Frames[0].Encoding; got != c.version {
			t.Errorf("%s: encoding %d instead of %d", c.name, got, c.version)
		}
		if want == "" {
			want = text
		}
		if len(text) < 1e6 || text != want {
			t.Errorf("%s: %d bytes of text, not those that the fast encoding gives", c.name, len(text))
		}
		if v := run(t, command{argv: []string{alleria(), "verify", c.name}, dir: dir}); v.status != 0 {
			t.Errorf("%s: verify: %s", c.name, clip(v.stdout))
		}
	}
}
