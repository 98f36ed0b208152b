//go:build !cgo || !amd64

package strides

import "alleria/analysis/lanes"

// haveVector tells that there is no loop in C: everything is done in Go.
func haveVector() bool { return false }

func (t *tallies) known(e *lanes.Ends) int { return e.N }
