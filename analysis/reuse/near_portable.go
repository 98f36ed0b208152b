//go:build !cgo || !amd64

package reuse

// Without the loop in C, Counter.ref does everything.

func haveVector() bool { return false }

func (b *batch) pass(*Counter, []uint64, uint32) {}

func (c *Counter) farPass(list []missed, _ int, _ []uint32, _ uint32) (next, stales int) {
	return len(list), 0
}
