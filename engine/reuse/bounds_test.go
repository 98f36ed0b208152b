package reuse

import (
	"os"
	"syscall"
	"testing"
	"time"

	"alleria/internal/sys"
)

// Where loadedFile says that a library lies: ten pages of code and four of data.
const loadedAt, loadedData, loadedEnd = 0x100000, 0x10a000, 0x10e000

// loadedFile is mappings of a file that is there, by where they begin and end.
func loadedFile(t *testing.T) func(start, end uint64, prot string) sys.Mapping {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	inode := st.Sys().(*syscall.Stat_t).Ino
	return func(start, end uint64, prot string) sys.Mapping {
		return sys.Mapping{Start: start, End: end, Prot: prot, Offset: start - loadedAt, Inode: inode, Path: path}
	}
}

// TestBoundsWhileLoading: an image that was noted while a dynamic linker had mapped it as a whole is the same as one that was noted when all was in place.
func TestBoundsWhileLoading(t *testing.T) {
	of := loadedFile(t)
	for what, read := range map[string][]uint64{ // where the mapping ends each time that it is read
		"at the end": {loadedData}, "as a whole": {loadedEnd, loadedData}, "with a hole": {loadedEnd, loadedAt + 0x8000}, "several times": {loadedEnd, loadedData, loadedAt + 0x8000},
	} {
		w, late := testWritten(), testWritten()
		w.Began = time.Now().Add(time.Hour) // the test's own binary is new
		late.Began = w.Began
		w.disk, late.disk = &Disk{}, &Disk{}
		for _, end := range read {
			if w.NoteImages(os.Getpid(), []sys.Mapping{of(loadedAt, end, "r-xp")}); end == loadedEnd {
				w.Replace(loadedData, loadedEnd)
			}
		}
		if late.NoteImages(os.Getpid(), []sys.Mapping{of(loadedAt, read[len(read)-1], "r-xp")}); !w.images[0].same(&late.images[0]) || !late.images[0].id.known() {
			t.Errorf("%s: %+v, not %+v", what, w.images, late.images)
		}
		if w.Patched(loadedData) {
			t.Errorf("%s: its data are code that was written", what)
		}
		for i := range w.images {
			for k := range i {
				if a, b := &w.images[k], &w.images[i]; a.Start < b.End && b.Start < a.End || b.id.known() {
					t.Errorf("%s: %+v and %+v", what, a, b)
				}
			}
		}
	}
}

// TestBoundsThatAreNotCut: what lies behind a part that is missing has the image be unknown, and so has what was put in its middle; rights that were taken from pages at the end cut nothing.
func TestBoundsThatAreNotCut(t *testing.T) {
	of := loadedFile(t)
	for what, c := range map[string]struct {
		do    func(*Written)
		then  []sys.Mapping
		known bool
		end   uint64
	}{
		"a file in its middle":             {func(w *Written) { w.Replace(0x104000, 0x105000) }, []sys.Mapping{of(loadedAt, 0x104000, "r-xp"), of(0x105000, loadedEnd, "r-xp")}, false, loadedEnd},
		"one of a file with written pages": {func(w *Written) { w.Touch(0x108000, 0x109000); w.Replace(0x104000, 0x105000) }, []sys.Mapping{of(loadedAt, 0x104000, "r-xp"), of(0x105000, loadedEnd, "r-xp")}, false, loadedEnd},
		"switched off, with a hole":        {func(w *Written) { w.Whole = true }, []sys.Mapping{of(loadedAt, loadedData, "r-xp")}, false, loadedEnd},
		"a file at its start":              {func(w *Written) { w.Replace(loadedAt-0x1000, 0x101000) }, []sys.Mapping{of(0x101000, loadedEnd, "r-xp")}, false, loadedEnd},
		"nothing read since":               {func(w *Written) { w.Replace(loadedData, loadedEnd); w.settle() }, nil, false, loadedEnd},
		"pages without rights":             {func(w *Written) { w.Touch(loadedData, loadedEnd) }, []sys.Mapping{of(loadedAt, loadedData, "r-xp")}, true, loadedEnd},
		"pages in parts":                   {func(w *Written) { w.Touch(loadedAt, 0x101000); w.Replace(loadedData, loadedEnd) }, []sys.Mapping{of(loadedAt, 0x101000, "r-xp"), of(0x101000, loadedData, "r-xp")}, true, loadedData},
		"switched off":                     {func(w *Written) { w.Whole = true; w.Replace(loadedData, loadedEnd) }, []sys.Mapping{of(loadedAt, loadedData, "r-xp")}, false, loadedEnd},
		"another file's name":              {func(w *Written) { w.images[0].id.size++ }, []sys.Mapping{of(loadedAt, loadedData, "r-xp")}, false, loadedEnd},
		"shared memory instead":            {func(*Written) {}, []sys.Mapping{of(loadedAt, loadedData, "r-xs")}, false, loadedEnd},
	} {
		w := testWritten()
		w.Began = time.Now().Add(time.Hour)
		if w.NoteImages(os.Getpid(), []sys.Mapping{of(loadedAt, loadedEnd, "r-xp")}); !w.images[0].id.known() {
			t.Fatalf("of the test itself: %+v", w.images)
		}
		c.do(w)
		if w.NoteImages(os.Getpid(), c.then); w.images[0].id.known() != c.known || w.images[0].End != c.end {
			t.Errorf("%s: %+v", what, w.images)
		}
	}
}
