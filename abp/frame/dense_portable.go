//go:build !cgo || !amd64

package frame

// Without the loop in C, denseOf and Decoder.denseRun do everything.

func haveVector() bool { return false }

func (e *Encoder) denseVector(_ []uint64, at int) int { return at }

func (e *Encoder) flushVector() {}

func (d *Decoder) denseVector() bool { return false }
