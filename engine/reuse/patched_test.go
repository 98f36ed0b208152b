package reuse

import (
	"os"
	"testing"

	"alleria/internal/sys"
)

// patchedImage is what a process has written down that has an image of 256 pages.
func patchedImage() *Written {
	w := testWritten()
	w.images = []Image{{Start: 0x100000, End: 0x200000, offset: 0x1000, id: FileVersion{inode: 5, size: 1}}}
	return w
}

// TestPatchedPages: an image of which some pages could be written stays known, and those pages are told from the others.
func TestPatchedPages(t *testing.T) {
	w := patchedImage()
	for range 2 * mostPatched { // the same again and again
		w.Touch(0x110ff0, 0x111010)
		w.Touch(0x1fffff, 0x200001)
	}
	for addr, want := range map[uint64]bool{0x10ffff: false, 0x110000: true, 0x111fff: true, 0x112000: false, 0x1fefff: false, 0x1ff000: true, 0x200000: false} {
		if got := w.Patched(addr); got != want {
			t.Errorf("%#x could be written: %t", addr, got)
		}
	}
	part := func(start, end uint64, prot string) sys.Mapping {
		return sys.Mapping{Start: start, End: end, Prot: prot, Offset: start - 0x100000 + 0x1000, Inode: 5, Path: "/lib/some"}
	}
	parts := []sys.Mapping{part(0x100000, 0x110000, "r-xp"), part(0x110000, 0x112000, "rwxp"), part(0x112000, 0x200000, "r-xp")}
	if w.NoteImages(os.Getpid(), parts); len(w.images) != 1 || !w.images[0].id.known() {
		t.Errorf("its parts are images: %+v", w.images)
	}
	for what, m := range map[string]sys.Mapping{
		"a page that nobody saw become writable": part(0x112000, 0x113000, "rwxp"), "more than what is known": part(0x111000, 0x113000, "rwxp"), "shared memory": part(0x120000, 0x121000, "r-xs"),
		"another file": {Start: 0x120000, End: 0x121000, Prot: "r-xp", Offset: 0x21000, Inode: 6}, "another part of the file": {Start: 0x120000, End: 0x121000, Prot: "r-xp", Offset: 0x20000, Inode: 5}, "what lies beyond": part(0x1ff000, 0x201000, "r-xp"),
	} {
		w := patchedImage()
		w.Touch(0x110000, 0x112000)
		w.Touch(0x1ff000, 0x200000)
		if w.NoteImages(os.Getpid(), []sys.Mapping{m}); w.images[0].id.known() {
			t.Errorf("with %s the image is known", what)
		}
	}
}

// TestPatchedTooMuch: an image of which many pages could be written is forgotten, and so is one that a process may have written to unseen.
func TestPatchedTooMuch(t *testing.T) {
	w := patchedImage()
	if w.Touch(0x100000, 0x100000+mostPatched*pageSize); !w.images[0].id.known() {
		t.Error("it is not known with as many as there may be")
	}
	if w.Touch(0x180000, 0x180001); w.images[0].id.known() {
		t.Error("it is known with more")
	}
	for what, set := range map[string]func(*Written){"off": func(w *Written) { w.Whole = true }, "natively": func(w *Written) { w.RanNatively() }} {
		w := patchedImage()
		set(w)
		if w.Touch(0x110000, 0x111000); w.images[0].id.known() || w.Patched(0x110000) {
			t.Errorf("%s: it is known", what)
		}
	}
}
