package acceptance

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"alleria/abp"
	"alleria/abp/frame"
)

// TestEncodings records the same run in each encoding of frames: the one for vector
// instructions where the processor has them, the one without, and the small one.
func TestEncodings(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/tokens.c", "-static -nostdlib -fno-stack-protector -fno-tree-vectorize")
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	fast := uint16(frame.Version2)
	if bytes.Contains(info, []byte(" avx512_vbmi2 ")) {
		fast = frame.Version3
	}
	var want string
	for _, c := range []struct {
		name    string
		flags   []string
		version uint16
	}{
		{"fast", nil, fast},
		{"off", []string{"--compress", "off"}, fast},
		{"plain", []string{"--engine", "no-vector"}, frame.Version2},
		{"zstd", []string{"--compress", "3"}, frame.Version1},
	} {
		argv := append([]string{alleria(), "-q", "record", "--no-aslr", "--select", "any", "--fields", "function,address,value,branch", "-o", c.name}, c.flags...)
		if r := run(t, command{argv: append(argv, "--", prog), dir: dir}); r.status != 2 {
			t.Fatalf("%s: status %d instead of 2\n%s", c.name, r.status, clip(r.stderr))
		}
		p, err := abp.Open(filepath.Join(dir, c.name))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Processes()[0].Threads()[0].Frames[0].Encoding; got != c.version {
			t.Errorf("%s: encoding %d instead of %d", c.name, got, c.version)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		r := run(t, command{argv: []string{alleria(), "dump", "--count", "400000", c.name}, dir: dir})
		_, text, _ := strings.Cut(string(r.stdout), "\n") // the first line has the thread's number
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
