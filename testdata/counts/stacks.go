// Go functions that run for far longer than a burst of recording, called through recursion, an interface, a closure and on goroutines.
//
// Expectation: inclusive instructions by function are, from bursts, what they are where everything is recorded, but for what the scheduler calls.
package main

import (
	"fmt"
	"sort"
)

//go:noinline
func spin(n int, x uint32) uint32 {
	for range n {
		x = x*1664525 + 1013904223
	}
	return x
}

//go:noinline
func deep(depth int, x uint32) uint32 {
	if depth == 0 {
		return spin(300_000, x) + 1
	}
	return deep(depth-1, x+1) + spin(1000, x)
}

type numbers []uint32

func (n numbers) Len() int           { return len(n) }
func (n numbers) Less(i, j int) bool { return n[i] < n[j] }
func (n numbers) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }

//go:noinline
func sorted(x uint32) uint32 {
	all := make(numbers, 5000)
	for i := range all {
		x = x*1664525 + 1013904223
		all[i] = x
	}
	sort.Sort(all)
	return all[77]
}

//go:noinline
func closed(f func(n int) uint32) uint32 { return f(400_000) + 1 }

//go:noinline
func side(done chan uint32) { done <- deep(5, 7) }

func main() {
	x := uint32(1)
	for range 8 {
		x += deep(20, x)
		x += sorted(x)
		x += closed(func(n int) uint32 { return spin(n, x) })
		done := make(chan uint32)
		go side(done)
		x += <-done
	}
	fmt.Println(x != 0)
}
