// Functions with frames of all sizes that Go looks at its stack for, on stacks that grow. It prints how often each was called,
// and whether its thread had to wait while it called small, which grows no stack.
package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
)

var smalls, mediums, larges, deeps atomic.Int64

//go:noinline
func small(a, b int) int {
	smalls.Add(1)
	return touch(nil, a) + b
}

//go:noinline
func medium(a int) int {
	mediums.Add(1)
	var buf [512]byte
	return touch(buf[:], a)
}

//go:noinline
func large(a int) int {
	larges.Add(1)
	var buf [8192]byte
	return touch(buf[:], a)
}

//go:noinline
func deep(n int, by func(int) int) int {
	deeps.Add(1)
	if n == 0 {
		return by(1)
	}
	return deep(n-1, by) + 1
}

//go:noinline
func touch(b []byte, v int) int {
	for i := range b {
		b[i] = byte(v)
	}
	return len(b)
}

func main() {
	const turns = 20000
	runtime.LockOSThread()
	var before, after syscall.Rusage
	const thread = 1
	small(0, 0)
	syscall.Getrusage(thread, &before)
	for i := range turns {
		small(i, 2)
	}
	syscall.Getrusage(thread, &after)
	if n := after.Nvcsw - before.Nvcsw; n > turns/4 {
		fmt.Println("it waited", n, "times")
	}
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			deep(100*(i%5), medium)
			deep(i, large)
			small(i, i)
		})
	}
	all.Wait()
	fmt.Println("small", smalls.Load(), "medium", mediums.Load(), "large", larges.Load(), "deep", deeps.Load())
}
