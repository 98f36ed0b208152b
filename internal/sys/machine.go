package sys

import "golang.org/x/sys/unix"

// Memory is how many bytes the machine has; 0: not known.
func Memory() uint64 {
	var s unix.Sysinfo_t
	if unix.Sysinfo(&s) != nil {
		return 0
	}
	return s.Totalram * uint64(s.Unit)
}

// Kernel is the name and release of the system, as in "Linux 6.12.1"; empty: not known.
func Kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}
