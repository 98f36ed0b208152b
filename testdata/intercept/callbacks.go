// Command callbacks calls C functions from eight goroutines, which call back into Go, where the goroutine gives way to others: a C function returns on the thread's own stack, with calls of Go's
// pending on the goroutine's before and after it.
//
// Each of outer, cwork, goback, inner and twice is called 400 times and returns.
package main

/*
extern int goback(int);
__attribute__((noinline)) static int cwork(int n) { return goback(n) + 1; }
__attribute__((noinline)) static int twice(int n) { __asm__ volatile("" : "+r"(n)); return 2 * n; }
*/
import "C"

import (
	"runtime"
	"sync"
)

//export goback
func goback(n C.int) C.int { runtime.Gosched(); return C.int(inner(int(n))) }

//go:noinline
func inner(n int) int { runtime.Gosched(); return n * 3 }

//go:noinline
func outer(n int) int { return int(C.cwork(C.int(n))) + int(C.twice(C.int(n))) }

func main() {
	var all sync.WaitGroup
	sums := make([]int, 8)
	for i := range sums {
		all.Add(1)
		go func() {
			defer all.Done()
			for k := range 50 {
				sums[i] += outer(k)
			}
		}()
	}
	all.Wait()
	println(sums[0], sums[7])
}
