package session

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestDiskWatch: the warning comes when it is due, with rate and time left, once.
func TestDiskWatch(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name        string
		free, total uint64
		perSecond   int64
		dirs        int
		want        string // empty: no warning
	}{
		{"half a minute left", 3000 * mib, 1 << 40, 100 * mib, 1, "3000 MiB left, 100.0 MiB/s written, full in about 30s"},
		{"an hour left", 360_000 * mib, 1 << 40, 100 * mib, 1, ""},
		{"five minutes left of a large disk", 30_000 * mib, 100_000 * mib, 100 * mib, 1, ""},
		{"five minutes left, a tenth free", 30_000 * mib, 400_000 * mib, 100 * mib, 1, "full in about 5m0s"},
		{"nearly full, nothing written", 10 * mib, 1 << 40, 0, 1, ""},
		{"nearly full, little written", 1000 * mib, 1 << 40, 1024, 1, ""},
		{"two disks share", 5000 * mib, 20_000 * mib, 100 * mib, 2, ""},
		{"one does not", 5000 * mib, 20_000 * mib, 100 * mib, 1, "full in about 50s"},
	} {
		w := &diskWatch{space: func(string) (uint64, uint64, error) { return c.free, c.total, nil }}
		for range c.dirs {
			w.dirs = append(w.dirs, "out")
		}
		now, written := time.Unix(1000, 0), int64(0)
		var said []string
		for range 20 {
			if w.due(now) {
				if s := w.look(now, written); s != "" {
					said = append(said, s)
				}
			}
			now = now.Add(time.Second)
			written += c.perSecond
		}
		switch {
		case c.want == "" && len(said) > 0:
			t.Errorf("%s: %q", c.name, said)
		case c.want != "" && (len(said) != 1 || !strings.Contains(said[0], c.want)):
			t.Errorf("%s: %q, want one with %q", c.name, said, c.want)
		}
	}
}

// TestDiskWatchLooksSeldom: not at each poll, and not at all without a directory.
func TestDiskWatchLooksSeldom(t *testing.T) {
	w := &diskWatch{dirs: []string{"out"}, space: func(string) (uint64, uint64, error) { return 0, 0, errors.New("gone") }}
	now := time.Unix(1000, 0)
	w.look(now, 0)
	if w.due(now.Add(diskEvery / 2)) {
		t.Error("due again at once")
	}
	if s := w.look(now.Add(time.Second), 1<<30); s != "" {
		t.Errorf("a file system that cannot be asked: %q", s)
	}
	if (&diskWatch{}).due(now) {
		t.Error("due without a directory")
	}
}
