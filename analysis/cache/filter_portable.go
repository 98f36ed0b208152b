//go:build !cgo || !amd64

package cache

// Without the loop in C, Simulator does everything.

func haveVector() bool { return false }

func (f *filter) run(_ []uint64, at int, _ []uint64) int { return at }
