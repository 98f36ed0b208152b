// Command goroutines has functions that go on in another thread, or on another stack, than they began: 20 goroutines wait for each other in take, go deeper than their stacks in deep, and
// leave bad by a panic in one call of five.
//
// 400 calls of take, 20 of grow, 20*41 of deep, 400 of safe and 400 of bad, of which 80 are left; all others return.
package main

import (
	"runtime"
	"sync"
)

//go:noinline
func take(n int, mu *sync.Mutex) int {
	mu.Lock()
	defer mu.Unlock()
	runtime.Gosched()
	return n + 1
}

//go:noinline
func grow(n int) int { return deep(40) + n }

//go:noinline
func deep(n int) int {
	var a [256]int
	if n == 0 {
		return 0
	}
	a[n] = n
	return deep(n-1) + a[n]
}

//go:noinline
func safe(n int) (r int) {
	defer func() {
		if recover() != nil {
			r = -1
		}
	}()
	return bad(n)
}

//go:noinline
func bad(n int) int {
	if n%5 == 3 {
		panic("five")
	}
	runtime.Gosched()
	return n
}

func main() {
	var mu sync.Mutex
	var all sync.WaitGroup
	sums := make([]int, 20)
	for k := range sums {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := range 20 {
				sums[k] += take(i, &mu) + safe(i)
				if i == 10 {
					sums[k] += grow(k)
				}
			}
		}()
	}
	all.Wait()
	sum := 0
	for _, s := range sums {
		sum += s
	}
	println(sum)
}
