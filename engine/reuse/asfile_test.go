package reuse

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"alleria/internal/sys"
)

// ownMemory is this process's.
type ownMemory struct {
	t     *testing.T
	pages int // that were read
}

func (m *ownMemory) ReadPage(b []byte, addr uint64) error {
	m.pages++
	f, err := os.Open("/proc/self/mem")
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()
	_, err = f.ReadAt(b, int64(addr))
	return err
}

// TestPatchedImage: an image whose memory does not hold what its file does is told from one whose pages are copies with the same bytes, once the process has run
// where nobody saw it; of code that translations are made from the same is told page by page.
func TestPatchedImage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "code")
	text := make([]byte, 2*pageSize+100)
	for i := range text {
		text[i] = byte(i % 251)
	}
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mem, err := syscall.Mmap(int(f.Fd()), 0, 3*pageSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(mem) }()
	m := mappingOf(t, path)
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	w := testWritten()
	w.images = []Image{{Start: m.Start, End: m.End, id: versionOf(st)}}
	im := &w.images[0]
	page := make([]byte, pageSize)
	check := func(what string, same bool, least int) {
		t.Helper()
		own := &ownMemory{t: t}
		if got := w.Unpatched(os.Getpid(), m, im, own); got != same || own.pages < least {
			t.Errorf("%s: %t, after %d pages", what, got, own.pages)
		}
		for i := range mem[:3*pageSize] {
			if i%pageSize == 0 {
				if err := (&ownMemory{t: t}).ReadPage(page, m.Start+uint64(i)); err != nil {
					t.Fatal(err)
				}
				w.Compare(os.Getpid(), m, m.Start+uint64(i), page)
			}
		}
		if im.id.known() != same {
			t.Errorf("%s: it is known: %t", what, im.id.known())
		}
	}
	mem[5] ^= 1
	check("patched before everybody's eyes", true, 0)
	w.RanNatively()
	mem[5] ^= 1
	check("a copy", true, 1)
	mem[2*pageSize+100] = 1 // behind the file's end
	check("patched", false, 1)

	im.id = versionOf(st)
	mem[2*pageSize+100] = 0
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	check("another file at its path", false, 0)
	if w.Unpatched(os.Getpid(), m, im, brokenMemory{}) {
		t.Error("memory that cannot be read is the file's")
	}
}

type brokenMemory struct{}

func (brokenMemory) ReadPage([]byte, uint64) error { return errors.New("gone") }

// mappingOf is where this process has mapped a file.
func mappingOf(t *testing.T, path string) *sys.Mapping {
	t.Helper()
	maps, err := sys.Maps(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for i := range maps {
		if maps[i].Path == path {
			return &maps[i]
		}
	}
	t.Fatalf("%s is not mapped", path)
	return nil
}
