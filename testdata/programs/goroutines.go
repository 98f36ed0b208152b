// Goroutines, channels, the collector, preemption by signals, panics, maps and
// a child process.
//
// expect stdout: 499500 recovered 3 child 80
// expect exit: 3
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// panics indexes an empty slice: a panic that the runtime raises by a call.
func panics(n int) (r any) {
	defer func() { r = recover() }()
	var s []int
	return s[n]
}

// tree gives the collector something to follow, and stacks something to grow for.
type tree struct{ l, r *tree }

// grow makes a tree of that depth.
func grow(n int) *tree {
	if n == 0 {
		return &tree{}
	}
	return &tree{grow(n - 1), grow(n - 1)}
}

// spin runs loops that never call anything: the runtime stops such a goroutine by
// a SIGURG to its thread, whose handler changes where the thread goes on. A
// recorder that delivers signals at block ends only, or loses the changed
// registers, hangs here or crashes.
func spin(stop <-chan bool) {
	for range 2 {
		go func() {
			for i := 0; ; i++ {
				// Rarely looked at, so that most interruptions fall between.
				if i&(1<<12-1) == 0 {
					select {
					case <-stop:
						return
					default:
					}
				}
			}
		}()
	}
}

// channels adds up what a thousand goroutines send: more than there are threads,
// so that stacks are switched all the time.
func channels() (sum int) {
	var wg sync.WaitGroup
	c := make(chan int, 4)
	for i := range 1000 {
		wg.Go(func() { c <- i })
	}
	go func() { wg.Wait(); close(c) }()
	for v := range c {
		sum += v
	}
	return sum
}

// faults dereferences nil. The runtime's SIGSEGV handler looks at the faulting
// address and makes the thread go on in a function that panics: the registers in
// the signal's frame have to be the application's, and writable.
func faults() (recovered bool) {
	defer func() { recovered = recover() != nil }()
	var none *tree
	fmt.Println(none.l)
	return false
}

func main() {
	// More than one, whatever the machine has: goroutines then move between threads.
	runtime.GOMAXPROCS(3)
	stop := make(chan bool)
	spin(stop)
	sum := channels()
	// The collector scans stacks while the loops spin, which takes stopping them.
	for range 3 {
		grow(9)
		runtime.GC()
	}
	close(stop)
	time.Sleep(time.Millisecond)
	// Each way to go wrong has a status of its own, which the test then shows.
	if panics(3) == nil {
		os.Exit(98)
	}
	if !faults() {
		os.Exit(97)
	}
	// clone with CLONE_VFORK, an execve in the child, and a pidfd where there is one.
	out, err := exec.Command("/bin/sh", "-c", "printf child").Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(96)
	}
	// Maps hash by AES instructions and look groups up by vector compares.
	m := map[int]int{}
	for i := range 1000 {
		m[i%80] += i
	}
	fmt.Println(sum, "recovered 3", string(out), len(m))
	os.Exit(3)
}
