package sys

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// WrittenBack tells of errors of writing a file's pages to its disk, which come after the writes that made them: a disk that dies takes everything for
// some time. Such an error is told once. With wait all of the file is on its disk afterwards; without, nothing is waited for but a page, and what
// the kernel has not tried yet is not known.
func WrittenBack(f *os.File, wait bool) error {
	if wait {
		if err := f.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) { // no file of a disk
			return fmt.Errorf("written back: %w", err)
		}
		return nil
	}
	c, err := f.SyscallConn()
	if err != nil {
		return fmt.Errorf("written back: %w", err)
	}
	var back error
	err = c.Control(func(fd uintptr) { back = unix.SyncFileRange(int(fd), 0, 1, unix.SYNC_FILE_RANGE_WAIT_BEFORE) })
	switch {
	case err != nil:
		return fmt.Errorf("written back: %w", err)
	case errors.Is(back, unix.EIO), errors.Is(back, unix.ENOSPC), errors.Is(back, unix.EDQUOT):
		return fmt.Errorf("written back: %w", back)
	}
	return nil // a pipe, or a file system that does not know the call
}
