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

func main() {
	runtime.GOMAXPROCS(3)
	stop := make(chan bool)
	for range 2 { // tight loops that only SIGURG can interrupt
		go func() {
			for i := 0; ; i++ {
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
	var wg sync.WaitGroup
	c := make(chan int, 4)
	for i := range 1000 {
		wg.Go(func() { c <- i })
	}
	go func() { wg.Wait(); close(c) }()
	sum := 0
	for v := range c {
		sum += v
	}
	for range 3 {
		grow(9)
		runtime.GC()
	}
	close(stop)
	time.Sleep(time.Millisecond)
	if panics(3) == nil {
		os.Exit(98)
	}
	// The runtime's handler looks at the faulting address and makes the thread go on
	// in a function that panics.
	var nilTree *tree
	func() {
		defer func() {
			if recover() == nil { // a SIGSEGV made into a panic
				os.Exit(97)
			}
		}()
		fmt.Println(nilTree.l)
	}()
	out, err := exec.Command("/bin/sh", "-c", "printf child").Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(96)
	}
	m := map[int]int{}
	for i := range 1000 {
		m[i%80] += i
	}
	fmt.Println(sum, "recovered 3", string(out), len(m))
	os.Exit(3)
}
