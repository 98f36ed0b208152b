package sys

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// TestCodeMaps compares what may be executed with the text of all mappings, with a file whose name has a newline and is gone, and anonymous code.
func TestCodeMaps(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "a\nb"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(3 << 12); err != nil {
		t.Fatal(err)
	}
	for _, fd := range []int{int(f.Fd()), -1} {
		flags := unix.MAP_PRIVATE
		if fd < 0 {
			flags = unix.MAP_SHARED | unix.MAP_ANONYMOUS
		}
		off := int64(0)
		if fd >= 0 {
			off = 1 << 12
		}
		b, err := unix.Mmap(fd, off, 1<<12, unix.PROT_READ|unix.PROT_EXEC, flags)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Munmap(b) }()
	}
	for range 2 {
		got, err := CodeMaps(os.Getpid())
		want, werr := codeAmongAll(os.Getpid())
		if err != nil || werr != nil {
			t.Fatal(err, werr)
		}
		if !slices.Equal(got, want) || len(got) < 3 {
			t.Errorf("%+v, want %+v", got, want)
		}
		files, err := CodeFiles(os.Getpid())
		same := func(a, b Mapping) bool { b.Path = a.Path; return a == b }
		if err != nil || !slices.EqualFunc(files, want, same) {
			t.Errorf("%+v, %v, want %+v", files, err, want)
		}
		if !slices.ContainsFunc(got, func(m Mapping) bool { return strings.Contains(m.Path, `a\012b`) && m.Offset == 1<<12 }) {
			t.Errorf("the file is not among %+v", got)
		}
		_ = os.Remove(f.Name())
	}
	if _, err := CodeMaps(1 << 30); err == nil {
		t.Error("a process that there is not has code")
	}
}
