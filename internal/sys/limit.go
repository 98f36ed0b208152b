package sys

import (
	"errors"
	"fmt"
	"os"

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

// reserved is how many descriptors are kept back for questions about threads: more than threads of ours that ask at once.
const reserved = 4

// ReserveDescriptors keeps some descriptors back for files of /proc that are read and closed again: what stays open leaves them free. Threads that stand wait for the answers to go on. The limit that
// others get from us is the one with which we were started, see package launch; the Go runtime has raised ours to the second number.
func ReserveDescriptors() error {
	var l Limit
	if err := descriptorLimit(nil, &l); err != nil {
		return err
	}
	if l.Cur != l.Max || l.Cur <= 2*reserved { // it has been done, or there are too few
		return nil
	}
	l.Cur -= reserved
	return descriptorLimit(&l, nil)
}

// fromReserve opens again what could not be opened for want of descriptors, with one that is kept back. It is to be closed at once.
func fromReserve(open func() error, failed error) error {
	if !errors.Is(failed, unix.EMFILE) {
		return failed
	}
	var l Limit
	if err := descriptorLimit(nil, &l); err != nil {
		return failed
	}
	if l.Cur != l.Max { // else another thread has just raised it
		if err := descriptorLimit(&Limit{Cur: l.Max, Max: l.Max}, nil); err != nil {
			return failed
		}
		defer func() { _ = descriptorLimit(&l, nil) }()
	}
	return open()
}

// openReserved is openShort for a file that is closed at once.
func openReserved(name string) (fd int, err error) {
	fd, err = openShort(name)
	if err != nil {
		err = fromReserve(func() error { fd, err = openShort(name); return err }, err)
	}
	return fd, err
}

// OpenBriefly is OpenPlain for a file that is closed before any other of its kind is opened.
func OpenBriefly(name string, how int, mode uint32) (f *os.File, err error) {
	f, err = OpenPlain(name, how, mode)
	if err != nil {
		err = fromReserve(func() error { f, err = OpenPlain(name, how, mode); return err }, err)
	}
	return f, err
}
