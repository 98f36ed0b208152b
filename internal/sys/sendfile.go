package sys

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// SendFile sends a descriptor of f into a socket of another process, which that has as descriptor fd: for processes that
// may not open it by /proc, since they have other rights or no /proc.
// The other process must be one that this one may trace (Linux 5.6).
func SendFile(pid, fd int, f *os.File) error {
	p, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("pidfd_open of %d: %w", pid, err)
	}
	defer unix.Close(p)
	s, err := unix.PidfdGetfd(p, fd, 0)
	if err != nil {
		return fmt.Errorf("pidfd_getfd of %d: %w", pid, err)
	}
	defer unix.Close(s)
	if err := unix.Sendmsg(s, []byte{0}, unix.UnixRights(int(f.Fd())), nil, unix.MSG_DONTWAIT); err != nil {
		return fmt.Errorf("sendmsg to process %d: %w", pid, err)
	}
	return nil
}
