package sys

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Limit is a limit of a resource: what counts, and what it may be raised to.
type Limit = unix.Rlimit

// Unlimited is no limit.
const Unlimited = unix.RLIM_INFINITY

// AddressLimit reads how large a process's address space may become.
func AddressLimit(pid int) (Limit, error) {
	var l Limit
	if err := unix.Prlimit(pid, unix.RLIMIT_AS, nil, &l); err != nil {
		return l, fmt.Errorf("prlimit of process %d: %w", pid, err)
	}
	return l, nil
}

// SetAddressLimit changes it. To raise the second number takes a privilege.
func SetAddressLimit(pid int, l Limit) error {
	if err := unix.Prlimit(pid, unix.RLIMIT_AS, &l, nil); err != nil {
		return fmt.Errorf("prlimit of process %d: %w", pid, err)
	}
	return nil
}
