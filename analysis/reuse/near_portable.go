//go:build !cgo || !amd64

package reuse

// Without the loop in C, Counter.ref does everything.

func haveVector() bool { return false }

func (b *batch) pass(*Counter, []uint64, uint32) {}

func (b *batch) far(*Counter, int, uint32) int { return b.misses }
