package sys

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestBuffer: writing a large buffer takes few page faults or none, whatever its length, and it is empty before.
func TestBuffer(t *testing.T) {
	if !populates(t) {
		t.Skip("the kernel gives no pages ahead")
	}
	faults := func() int64 {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return u.Minflt
	}
	for _, n := range []int{0, 1, 4095, bufferAhead - 1, bufferAhead, bufferAhead + 4097, 32<<20 + 5} {
		b := Buffer(n)
		if len(b) != n {
			t.Fatalf("%d bytes instead of %d", len(b), n)
		}
		before := faults()
		for i := range b {
			if b[i] != 0 {
				t.Fatalf("byte %d of %d is %d", i, n, b[i])
			}
			b[i] = 1
		}
		if f := faults() - before; f > 2048 {
			t.Errorf("writing %d bytes takes %d page faults", n, f)
		}
	}
}

// populates tells whether the kernel knows Populate.
func populates(t *testing.T) bool {
	b, err := unix.Mmap(-1, 0, 1<<12, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(b) }()
	return Populate(b) == nil
}
