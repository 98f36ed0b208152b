package linux

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestErrnoNames holds the names against those that another package has.
func TestErrnoNames(t *testing.T) {
	for n := range uint32(200) {
		got, want := ErrnoName(n), unix.ErrnoName(unix.Errno(n))
		switch want {
		case "ENOTSUP", "EFSCORRUPTED", "EFTYPE": // other names
			continue
		}
		if got != want {
			t.Errorf("%d is %q, not %q", n, got, want)
		}
	}
}
