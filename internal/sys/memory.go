package sys

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

const mfdExec = 0x10 // MFD_EXEC, Linux 6.3: execution allowed whatever vm.memfd_noexec says

// ProcessMemory is the memory of another process, /proc/PID/mem.
//
// It is that of the program which the process executed when it was opened: once the process has ended, or executes another
// program, nothing can be read or written any more, which the kernel says by giving no byte, and no error. What is not mapped is an error of
// its own (EIO).
type ProcessMemory struct {
	*os.File
	written []uint64 // see Written
}

// mostWritten bounds what is remembered of pages that were written.
const mostWritten = 32

// Written is the pages that were written by WriteAt, each once, since this was asked last; all: they were too many.
// The result is valid until the next WriteAt.
func (m *ProcessMemory) Written() (pages []uint64, all bool) {
	pages = m.written
	m.written = pages[:0]
	return pages, len(pages) == mostWritten
}

// noteWritten notes the pages of a stretch that is about to be written.
func (m *ProcessMemory) noteWritten(addr uint64, n int) {
	for page := addr &^ (PageSize - 1); page < addr+uint64(n) && len(m.written) < mostWritten; page += PageSize {
		if !slices.Contains(m.written, page) {
			m.written = append(m.written, page)
		}
	}
}

// errNoMemory is what reads and writes answer then: Gone, as of what is asked of the thread.
var errNoMemory = fmt.Errorf("the memory is that of a program which has ended: %w", unix.ESRCH)

// ReadAt is io.ReaderAt's.
func (m *ProcessMemory) ReadAt(b []byte, addr int64) (int, error) {
	n, err := m.File.ReadAt(b, addr)
	return n, goneMemory(err)
}

// WriteAt is io.WriterAt's.
func (m *ProcessMemory) WriteAt(b []byte, addr int64) (int, error) {
	m.noteWritten(uint64(addr), len(b))
	n, err := m.File.WriteAt(b, addr)
	return n, goneMemory(err)
}

// NotMapped tells the error of memory that is not mapped.
func NotMapped(err error) bool { return errors.Is(err, unix.EIO) }

// goneMemory tells memory that is gone from what cannot be read or written.
func goneMemory(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errNoMemory
	}
	return err
}

// Memfd makes an anonymous file of that size that may be mapped executable.
// It is sparse: pages cost memory once they are touched. The name is what
// /proc/PID/maps shows, behind "memfd:".
func Memfd(name string, size int64) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|mfdExec)
	if err == unix.EINVAL {
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC) // kernels before 6.3 don't know the flag and don't need it
	}
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if err := f.Truncate(size); err != nil {
		f.Close()
		if errors.Is(err, unix.EFBIG) {
			return nil, fmt.Errorf("shared memory is limited as files are (ulimit -f unlimited lifts it): %w", err)
		}
		return nil, fmt.Errorf("size of %s: %w", name, err)
	}
	return f, nil
}

// Inherit says whether programs that this process executes have the file as well, under its number.
func Inherit(f *os.File, yes bool) error {
	flags := unix.FD_CLOEXEC
	if yes {
		flags = 0
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETFD, flags); err != nil {
		return fmt.Errorf("inheritance of %s: %w", f.Name(), err)
	}
	return nil
}

// MapShared maps length bytes of f at offset into this process, readable and
// writable.
// MAP_NORESERVE, because the areas are sized for the largest target and mostly stay
// empty: they are not to count against the machine's commit limit.
func MapShared(f *os.File, offset int64, length int) ([]byte, error) {
	b, err := unix.Mmap(int(f.Fd()), offset, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("mmap of %s: %w", f.Name(), err)
	}
	return b, nil
}

// Unmap undoes MapShared.
// The slice must not be used any more, by anybody.
func Unmap(b []byte) error { return unix.Munmap(b) }

// Populate makes the pages of a mapped stretch be there, so that touching them cannot
// fail. Both ends lie at page boundaries.
// A kernel before 5.14 does not know it; that is an error too.
func Populate(b []byte) error {
	if err := unix.Madvise(b, unix.MADV_POPULATE_WRITE); err != nil {
		return fmt.Errorf("allocating memory: %w", err)
	}
	return nil
}

// Release gives the pages of a mapped stretch of a shared file back, as Discard does.
func Release(b []byte) error {
	if err := unix.Madvise(b, unix.MADV_REMOVE); err != nil {
		return fmt.Errorf("giving memory back: %w", err)
	}
	return nil
}

// Discard gives the pages of a stretch of a shared file back.
// Reading them afterwards gives zeroes, in all processes that map the file; the
// file's size stays.
func Discard(f *os.File, offset, length int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, length)
}

// NoMemory tells whether a system call found no room: in the address space, where
// a limit is the usual reason, or in the machine.
func NoMemory(err error) bool { return errors.Is(err, unix.ENOMEM) }
