// Command generic calls generic functions, a method of a generic type, and functions with named results that deferred ones change.
package main

import (
	"errors"
	"runtime"
)

type pair[T any] struct{ a, b T }

//go:noinline
func (p *pair[T]) both(k int) int { sink = p.a; return k }

//go:noinline
func identity[T any](t T, k int) int { sink = t; return k }

//go:noinline
func named(k int) (n int, err error) {
	defer func() {
		if err != nil {
			n = -1
		}
	}()
	if k > 0 {
		return k, errors.New("no")
	}
	return 7, nil
}

var sink any

func main() {
	runtime.LockOSThread() // a call whose goroutine goes to another thread has no return
	identity(5, 6)
	identity(2.5, 7)
	(&pair[int]{1, 2}).both(8)
	n, _ := named(0)
	m, _ := named(1)
	println(n, m)
}
