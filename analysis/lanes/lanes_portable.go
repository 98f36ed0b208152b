//go:build !cgo || !amd64

package lanes

// Supported tells that there are no loops in C: who calls does everything in Go.
func Supported() bool { return false }

func (v *Pages) run(_ []uint64, at int, _ []uint64) int { return at }

// Run does nothing.
func (l *Lines) Run(_ []uint64, at int, _ []uint64, n, _ int, _ []uint64) (next, keys int) {
	return at, n
}

func (t *Tracks) run(_ []uint64, at int) int { return at }
