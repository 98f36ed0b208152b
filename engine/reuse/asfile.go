package reuse

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"alleria/internal/sys"
)

// While a process runs natively nobody sees what it does to its memory: it may make code writable, patch it, and take the right back. So
// in a process that has run natively an image is a version of its file only as far as its memory holds what the file does. That is looked at where
// something depends on it: when a page is read that translations are made from, and when translations of another process are taken over. What is
// patched in an image that the next process begins with, or patched here before, makes that image unknown; the others are kept.
//
// A patched page of a file's private mapping is a copy in the process's own memory, which the kernel tells: only copies
// are compared with the file, byte by byte, as breakpoints of ours make copies, too.
//
// Refused: nothing kept of processes that have run natively, as it was: bursts by processor time, between which a program does, were
// translated anew in each run.

// RanNatively notes that the process has done something that nobody saw.
func (w *Written) RanNatively() { w.native = true }

// Memory is a process's, as it was without anything of ours.
type Memory interface {
	// ReadPage reads a page of code without our breakpoints.
	ReadPage(b []byte, addr uint64) error
}

// pageSize is that of code that is compared.
const pageSize = 4096

// Compare has the image that a page lies in be unknown if the page, as translations are made from it now, is not its file's. It costs nothing in a
// process whose whole life was seen.
func (w *Written) Compare(pid int, m *sys.Mapping, addr uint64, page []byte) {
	if !w.native || w.Off || w.Mixed || m == nil || w.Patched(addr) {
		return
	}
	for i := range w.images {
		im := &w.images[i]
		if addr < im.Start || addr >= im.End || !im.id.known() {
			continue
		}
		f := im.open(pid, m.Path)
		if f == nil || !im.holds(f, addr, page) {
			im.forget()
		}
		if f != nil {
			f.Close()
		}
	}
}

// Unpatched tells whether the memory of an image, which is mapped, holds what its file does. It is true at once of a process whose whole life was seen.
func (w *Written) Unpatched(pid int, m *sys.Mapping, im *Image, mem Memory) bool {
	if !w.native {
		return true
	}
	if m == nil {
		return false
	}
	f := im.open(pid, m.Path)
	if f == nil {
		return false
	}
	defer f.Close()
	page := make([]byte, pageSize)
	kernel := sys.OpenCopies(pid)
	defer kernel.Close()
	for _, addr := range kernel.In(im.Start, im.End, nil) {
		if mem.ReadPage(page, addr) != nil || !im.holds(f, addr, page) {
			return false
		}
	}
	return true
}

// open opens an image's file as its process sees it; nil where another lies at its path by now.
func (im *Image) open(pid int, path string) *os.File {
	f, err := os.Open(fmt.Sprintf("/proc/%d/root%s", pid, path))
	if err != nil {
		return nil
	}
	if st, err := f.Stat(); err != nil || versionOf(st) != im.id {
		f.Close()
		return nil
	}
	return f
}

// holds tells whether a page of the image has what its file f has there. Behind the file's end there are zeros.
func (im *Image) holds(f *os.File, addr uint64, page []byte) bool {
	var there [pageSize]byte
	if _, err := f.ReadAt(there[:], int64(addr-im.Start+im.offset)); err != nil && err != io.EOF {
		return false
	}
	return bytes.Equal(there[:], page)
}
