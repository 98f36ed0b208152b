package reuse

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"alleria/engine/codecache"
	"alleria/internal/sys"
)

// What is written down while code is translated, so that another process can take the translations over
// wherever its images and its cache lie (template.go, taken.go). Code of the cache refers to the application by addresses
// in constants, and by displacements where an operand was relative to RIP. Everything else in it is relative to the region, to
// the thread's slot, or a number of this process's tables, which are taken over as they are.

// Image is an executable mapping of a file.
type Image struct {
	Start, End, offset uint64
	id                 FileVersion
	content            uint64 // see contents; 0 where nothing is kept between runs
	kernels            bool   // the kernel's own
}

// same tells whether two images have the same code.
func (im *Image) same(other *Image) bool {
	return im.offset == other.offset && im.End-im.Start == other.End-other.Start && im.id == other.id && im.content == other.content
}

// samePiece tells whether two images are of the same piece of a file, in whatever versions of it.
func (im *Image) samePiece(other *Image) bool {
	return im.id.inode == other.id.inode && im.offset == other.offset
}

// FileVersion is a file as it was at a time. The zero value is no file whose code could be the same elsewhere.
type FileVersion struct {
	dev, inode   uint64
	size         int64
	mtime, ctime syscall.Timespec
}

// Written is what a process has written down.
type Written struct {
	*codecache.Written
	images   []Image
	Began    time.Time
	disk     *Disk     // nil: nothing is kept between runs
	native   bool      // see RanNatively
	Whole    bool      // an image of which a page could be written is of no use to others
	patched  []stretch // pages of images, each one by itself; see Patched
	replaced []stretch // where other files were mapped over the ends of images, until the mappings are read; see Replace
	touched  []stretch // file memory, and other, that could be written: an image there may have other code than its file
}

// stretch is memory from start to before end.
type stretch struct{ start, end uint64 }

// mostTouched bounds what is remembered of memory that could be written.
const mostTouched = 512

// Touch notes that memory can be written. An image that lies there is not known any more, but for single pages: its translations are of use to nobody else.
func (w *Written) Touch(start, end uint64) {
	if w.Off || w.Mixed {
		return
	}
	for i := range w.images {
		if im := &w.images[i]; start < im.End && im.Start < end && !(im.id.known() && w.patch(im, start, end)) {
			im.forget()
		}
	}
	w.remember(start, end)
}

// remember notes memory for images that come to lie there later.
func (w *Written) remember(start, end uint64) {
	for i := range w.touched {
		if t := &w.touched[i]; start <= t.end && t.start <= end { // a heap that grows
			t.start, t.end = min(t.start, start), max(t.end, end)
			return
		}
	}
	if w.touched = append(w.touched, stretch{start, end}); len(w.touched) > mostTouched {
		w.Mixed = true
	}
}

// forget has an image be no version of a file any more.
func (im *Image) forget() { im.id, im.content = FileVersion{inode: im.id.inode}, 0 }

// isTouched tells whether some of an image's memory could be written.
func (w *Written) isTouched(im *Image) bool {
	for _, t := range w.touched {
		if t.start < im.End && im.Start < t.end {
			return true
		}
	}
	return false
}

// NoteImages notes the files that executable memory is of. What is not known of them is asked once.
func (w *Written) NoteImages(pid int, maps []sys.Mapping) {
	if w.Off {
		return
	}
	for i := range maps {
		w.rebound(pid, maps, i)
		if m := &maps[i]; !w.knows(m) {
			w.add(w.disk.imageOf(pid, m))
		}
	}
	w.settle()
}

// knows tells whether a mapping is noted, or lies where no image is known.
func (w *Written) knows(m *sys.Mapping) bool {
	for i := range w.images {
		im := &w.images[i]
		if im.Start == m.Start && im.End == m.End && im.offset == m.Offset && im.id.inode == m.Inode {
			return true
		}
		if im.id.known() && w.isPartOf(im, m) || !im.id.known() && im.Start <= m.Start && m.End <= im.End {
			return true
		}
	}
	return false
}

// add notes an image. Where it lies over others none of them is known: what was translated there may be of any. They become one, so that
// images never overlap. Programs that make code map and protect some of it again and again.
func (w *Written) add(im Image) {
	apart := w.images[:0]
	for _, o := range w.images {
		if im.Start >= o.End || o.Start >= im.End {
			apart = append(apart, o)
			continue
		}
		im.Start, im.End = min(im.Start, o.Start), max(im.End, o.End)
		im.forget()
	}
	w.images = apart
	if im.id.inode != 0 && (!before(im.id.ctime, w.Began) || w.isTouched(&im)) {
		im.id = FileVersion{inode: im.id.inode} // it may have been changed since it was mapped
	}
	w.images = append(w.images, im)
}

// before tells whether a file's time lies clearly before t: the kernel's clock for files ticks 100 times a second or more.
func before(ts syscall.Timespec, t time.Time) bool {
	return time.Unix(ts.Sec, ts.Nsec).Before(t.Add(-50 * time.Millisecond))
}

// imageOf is a mapping with the file that it is of, as the process itself sees it. A mapping that may change, of no file, or of one that has
// been removed has the zero version but for the inode.
func (d *Disk) imageOf(pid int, m *sys.Mapping) Image {
	im := Image{Start: m.Start, End: m.End, offset: m.Offset, id: FileVersion{inode: m.Inode}, kernels: m.Path == "[vdso]"}
	if m.Inode == 0 || m.Writable() || m.Shared() {
		return im
	}
	path := fmt.Sprintf("/proc/%d/root%s", pid, m.Path)
	st, err := os.Stat(path)
	if err != nil {
		return im
	}
	if id := versionOf(st); id.inode == m.Inode {
		im.id, im.content = id, d.content(path, &im, id)
	}
	return im
}

// versionOf is a file's version.
func versionOf(info os.FileInfo) FileVersion {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return FileVersion{}
	}
	return FileVersion{dev: s.Dev, inode: s.Ino, size: s.Size, mtime: s.Mtim, ctime: s.Ctim}
}

// ProgramOf is the program that a process executes, as its file is now; the zero value where that cannot be said.
func ProgramOf(pid int) FileVersion {
	info, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return FileVersion{}
	}
	return versionOf(info)
}

// known tells whether it is known which code the image has.
func (id *FileVersion) known() bool { return id.size != 0 }
