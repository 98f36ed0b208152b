//go:build !cgo || !amd64

package calls

import "alleria/analysis/stream"

// Without the loop in C, Tracker does everything.
const haveLoop = false

func haveVector() bool { return false }

func (l *loop) run(*Tracker, []uint64, *stream.Walked) (step int) { return 0 }
