package sys

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// TryLock takes the exclusive lock of an open file. It tells whether it got it: false
// says that another opening of the file, in whichever process, holds it.
//
// It is a lock of the open file (F_OFD_SETLK), which the kernel gives back when the
// last descriptor of that opening goes, however its process ends. Refused:
//   - F_SETLK, whose lock is lost as soon as the process closes any descriptor of the
//     file, and which does not exclude two openings within a process;
//   - a robust futex in the shared memory, whose list a thread of the Go runtime does
//     not have, and which leaves to the next owner what state its data is in as well.
//
// A child that the process has between fork and exec has the opening too, and so keeps
// a dead parent's lock until it executes: the file is closed there.
func TryLock(f *os.File) (bool, error) {
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return true, nil
}

// TryLockFolder takes the exclusive lock of a folder, which has no file for it then, and lasts until the result is closed or the process ends. ok is false where another
// opening of the folder holds it. Where the file system has no such locks nobody holds one.
func TryLockFolder(name string) (f *os.File, ok bool, err error) {
	if f, err = os.Open(name); err != nil {
		return nil, false, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		f.Close()
		return nil, false, nil
	}
	return f, true, nil
}

// Unlock gives back what TryLock took.
func Unlock(f *os.File) error {
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_UNLCK}); err != nil {
		return fmt.Errorf("unlock %s: %w", f.Name(), err)
	}
	return nil
}

// Allocate makes memory or disk be there for a stretch of a file, so that a later write
// through a mapping cannot find the file system full, which would be a signal.
func Allocate(f *os.File, offset, length int64) error {
	if err := unix.Fallocate(int(f.Fd()), 0, offset, length); err != nil {
		return fmt.Errorf("room in %s: %w", f.Name(), err)
	}
	return nil
}

// SingleLink tells whether the file has exactly one name and belongs to the caller:
// what a name in a folder that all may write to can be trusted by.
func SingleLink(f *os.File) (bool, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return false, fmt.Errorf("look at %s: %w", f.Name(), err)
	}
	return st.Uid == uint32(os.Geteuid()) && st.Nlink <= 1 && st.Mode&unix.S_IFMT == unix.S_IFREG, nil
}

// Inode is the file's number, as in Mapping, 0 if it is closed.
func Inode(f *os.File) uint64 {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return 0
	}
	return st.Ino
}
