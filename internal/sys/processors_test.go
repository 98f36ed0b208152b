package sys

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestProcessorsHere(t *testing.T) {
	if n := Processors(); n <= 0 || n > 1<<16 {
		t.Errorf("%g processors", n)
	}
	busy, err := BusyTime()
	if err != nil || busy <= 0 {
		t.Errorf("busy %v: %v", busy, err)
	}
	if own, err := ProcessTime(os.Getpid()); err != nil || own > OwnTime()+time.Minute {
		t.Errorf("own time %v of %v: %v", own, OwnTime(), err)
	}
	if _, err := ProcessDisk(os.Getpid()); err != nil && !os.IsPermission(err) {
		t.Logf("disk: %v", err) // kernels without accounting
	}
}

// TestQuota has a group in a group: the least quota counts.
func TestQuota(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("cgroup", "1:cpu:/old\n0::/a/b\n")
	write("fs/a/b/cpu.max", "max 100000\n")
	write("fs/a/cpu.max", "150000 100000\n")
	write("fs/cpu.max", "400000 100000\n")
	if q := cpuQuota(filepath.Join(root, "cgroup"), filepath.Join(root, "fs")); q != 1.5 {
		t.Errorf("quota %g", q)
	}
	write("fs/a/b/cpu.max", "50000 100000\n")
	if q := cpuQuota(filepath.Join(root, "cgroup"), filepath.Join(root, "fs")); q != 0.5 {
		t.Errorf("quota %g", q)
	}
	write("cgroup", "1:cpu:/old\n")
	if q := cpuQuota(filepath.Join(root, "cgroup"), filepath.Join(root, "fs")); q != 0 {
		t.Errorf("quota %g without a unified hierarchy", q)
	}
}

func TestParseBusy(t *testing.T) {
	const stat = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 4 100 50 8 16 32 0 0\ncpu1 100 0 0 0 0 0 0 0 0 0\ncpu10 1 0 0 0 0 0 0 0 0 0\nintr 1 2 3 4 5 6 7 8 9\n"
	for _, c := range []struct {
		cpus []int
		want int
	}{{[]int{0}, 31}, {[]int{0, 10}, 32}, {[]int{1}, 100}, {nil, 0}} {
		if got := parseBusy([]byte(stat), c.cpus); got != time.Duration(c.want)*tick {
			t.Errorf("%v: %v", c.cpus, got)
		}
	}
	if d, err := parseTimes([]byte("7 (a) b) S 1 1 1 0 -1 0 0 0 0 0 1 2 4 8 20 0")); err != nil || d != 15*tick {
		t.Errorf("%v, %v", d, err)
	}
	if n := parseDisk([]byte("rchar: 5\nread_bytes: 3\nwrite_bytes: 4\ncancelled_write_bytes: 9\n")); n != 7 {
		t.Errorf("%d bytes", n)
	}
}

// FuzzProcessorFiles reads what the kernel does not write.
func FuzzProcessorFiles(f *testing.F) {
	f.Add([]byte("cpu0 1 2 4 100 50 8 16 32\n"))
	f.Add([]byte("max 100000\n"))
	f.Add([]byte("0::/a/b\n"))
	f.Add([]byte("1 (a) S 1 1 1 0 -1 0 0 0 0 0 1 2 4 8 20 0"))
	f.Add([]byte("read_bytes: 3\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if d := parseBusy(b, []int{0, 1}); d < 0 {
			t.Errorf("busy for %v", d)
		}
		if d, err := parseTimes(b); d < 0 || err != nil && d != 0 {
			t.Errorf("%v and %v", d, err)
		}
		if q, ok := parseQuota(b); ok != (q > 0) {
			t.Errorf("quota %g, %v", q, ok)
		}
		if g, ok := parseCgroup(b); !ok && g != "" {
			t.Errorf("group %q, which is none", g)
		}
		parseDisk(b)
	})
}
