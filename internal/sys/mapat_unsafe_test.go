package sys

import (
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMapAt compares what single addresses are said to be with the text of all mappings.
func TestMapAt(t *testing.T) {
	shared, err := unix.Mmap(-1, 0, 3<<12, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(shared) }()
	maps, err := Maps(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	found, same := 0, 0
	for _, want := range maps {
		if want.Path == "[vsyscall]" { // no mapping of the process's
			continue
		}
		for _, ask := range []func(int, uint64) (Mapping, bool, error){MapAt, mapAmongAll} {
			got, ok, err := ask(os.Getpid(), want.Start+1)
			if err != nil {
				t.Fatal(err)
			}
			if ok && got.Start <= want.Start && got.End >= want.End && got.Dev == want.Dev && got.Inode == want.Inode && got.Path == want.Path {
				same++ // the runtime maps more meanwhile
			}
			found++
		}
	}
	if found == 0 || same < found-4 {
		t.Errorf("%d of %d addresses are what all mappings say", same, found)
	}
	if !slices.ContainsFunc(maps, func(m Mapping) bool { return m.Path == "/dev/zero (deleted)" && m.Shared() && m.Inode != 0 }) {
		t.Errorf("no anonymous shared memory in %+v", maps)
	}
	if _, ok, err := MapAt(os.Getpid(), 1); ok || err != nil {
		t.Errorf("address 1 is mapped: %v, %v", ok, err)
	}
}
