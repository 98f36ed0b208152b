package sys

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// HugePage is the size of a large page of the second level.
const HugePage = 2 << 20

// madvCollapse is MADV_COLLAPSE, Linux 6.1.
const madvCollapse = 25

// MapSharedAligned is MapShared at an address that large pages can lie at. The
// offset must be a multiple of HugePage too for that to be of use.
//
// The kernel aligns mappings of its own accord only where large pages are
// switched on for all shared memory, which they hardly ever are.
func MapSharedAligned(f *os.File, offset int64, length int) ([]byte, error) {
	// More than is needed is reserved, and given back around the aligned part.
	room, err := unix.MmapPtr(-1, 0, nil, uintptr(length)+HugePage, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("mmap of %s: %w", f.Name(), err)
	}
	skip := -uintptr(room) & (HugePage - 1)
	at := unsafe.Add(room, skip)
	if skip > 0 {
		err = unix.MunmapPtr(room, skip)
	}
	if err == nil && skip < HugePage {
		err = unix.MunmapPtr(unsafe.Add(at, length), HugePage-skip)
	}
	if err != nil {
		return nil, fmt.Errorf("munmap: %w", err)
	}
	p, err := unix.MmapPtr(int(f.Fd()), offset, at, uintptr(length), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE|unix.MAP_FIXED)
	if err != nil {
		return nil, fmt.Errorf("mmap of %s: %w", f.Name(), err)
	}
	return unsafe.Slice((*byte)(p), length), nil
}

// UnmapAligned undoes MapSharedAligned.
func UnmapAligned(b []byte) error {
	return unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(b)), uintptr(cap(b)))
}

// bufferAhead is from how many bytes on Ahead has the pages given at once.
const bufferAhead = 64 << 10

// Buffer is memory of n bytes of the runtime's that is about to be written from its beginning to its end. Its pages are there: a fault for each takes half as long as
// reading what is written to it. Where the kernel refuses, it is memory like any other.
func Buffer(n int) []byte {
	b := make([]byte, n)
	Ahead(b)
	return b
}

// LargeBuffer is memory of n bytes of the runtime's that begins at a large page's address and gets large pages where the machine has some, when it is
// touched or by Ahead. A large page more than n is taken from the address space.
func LargeBuffer(n int) []byte {
	b := make([]byte, n+HugePage)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (HugePage - 1)
	b = b[skip : skip+n : skip+n]
	_ = unix.Madvise(b[:n&^(HugePage-1)], unix.MADV_HUGEPAGE) // small ones do as well
	return b
}

// Large is room for n values of a type without pointers, zero, which gets large pages where it has the size of some: memory that is looked up all over otherwise
// waits for the addresses of its pages as often as for its lines.
func Large[T any](n int) []T {
	size := n * int(unsafe.Sizeof(*new(T)))
	if size < HugePage {
		return make([]T, n)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(LargeBuffer(size)))), n)
}

// Words32 is Buffer of n words of 32 bits, which are about to be written all over.
func Words32(n int) []uint32 {
	w := make([]uint32, n)
	Ahead(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), 4*n))
	return w
}

// Ahead has the pages of memory be there that is about to be written, as far as they are wholly of it.
func Ahead(b []byte) {
	if len(b) < bufferAhead {
		return
	}
	page := os.Getpagesize()
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (page - 1)
	_ = Populate(b[skip : skip+(len(b)-skip)&^(page-1)])
}

// Collapse makes the memory b, part of a shared mapping at aligned addresses,
// one large page or several, in every process that maps it so. The kernel may
// refuse. The refused alternative, to have large pages given on first touch,
// depends on a setting of the machine that is mostly off.
func Collapse(b []byte) error {
	// The kernel finds nothing to do where no page was touched yet.
	for at := 0; at < len(b); at += HugePage {
		atomic.AddUint32((*uint32)(unsafe.Pointer(&b[at])), 0)
	}
	return unix.Madvise(b, madvCollapse)
}
