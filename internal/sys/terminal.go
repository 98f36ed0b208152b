package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// Columns is how many characters a line of a terminal has; 0: the file is none, or nobody knows.
func Columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
