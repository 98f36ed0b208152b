package errno

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestNames holds the names against those that another package has.
func TestNames(t *testing.T) {
	for n := range uint32(200) {
		got, want := Name(n), unix.ErrnoName(unix.Errno(n))
		switch want {
		case "ENOTSUP", "EFSCORRUPTED", "EFTYPE": // other names
			continue
		}
		if got != want {
			t.Errorf("%d is %q, not %q", n, got, want)
		}
	}
}

// TestNumbers compares some names with numbers from errno-base.h and errno.h.
func TestNumbers(t *testing.T) {
	for name, want := range map[string]uint32{"EPERM": 1, "ENOMEM": 12, "EPIPE": 32, "ELOOP": 40, "ENOMSG": 42, "EDEADLOCK": 35, "EBFONT": 59, "EILSEQ": 84, "ENOTSUP": 95, "ECONNREFUSED": 111,
		"EDQUOT": 122, "EHWPOISON": 133, "EWOULDBLOCK": 11, "-": 0, "": 0, "EWHAT": 0} {
		if got := Number(name); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
}
