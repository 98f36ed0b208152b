// Functions with Go's calling convention. What each call looks like stands in the comment in front of it.
package main

import (
	"fmt"
	"runtime"
)

// What a goroutine was captured to enter on one thread is not seen to return on another.
func init() { runtime.LockOSThread() }

type pair struct {
	a int32
	b float64
}

type box struct {
	n    int
	next *box
}

//go:noinline
func add(a int, b int8) int { return a + int(b) }

//go:noinline
func mixed(x float64, s string, ok bool, y float32) string { return s[:2] }

//go:noinline
func record(p pair, d int64) pair { return pair{p.a + int32(d), p.b * 2} }

//go:noinline
func many(a, b, c, d, e, f, g, h, i, j int) int { return a + b + c + d + e + f + g + h + i + 10*j }

//go:noinline
func several(n int) (half int, rest float64, name string) { return n / 2, float64(n%2) + 0.5, "two" }

//go:noinline
func (b *box) add(d int) { b.n += d }

//go:noinline
func array(a [2]int, b [1]int, c int) int { return a[0] + a[1] + b[0] + c }

type hook struct {
	a int
	f func(int) int
	b int
}

//go:noinline
func hooked(h hook, c int) int {
	if h.f != nil {
		return h.f(c)
	}
	return h.a + h.b + c
}

func main() {
	// main.add(a=40, b=-2) = 38
	n := add(40, -2)
	// main.mixed(x=1.5, s="text", ok=true, y=2.5) = "te"
	s := mixed(1.5, "text", true, 2.5)
	// main.record(p={a=1, b=2.5}, d=7) = {a=8, b=5}
	p := record(pair{1, 2.5}, 7)
	// main.many(a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=8, i=9, j=10) = 145
	m := many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	// main.several(n=5) = {half=2, rest=1.5, name="two"}
	h, r, name := several(5)
	b := box{n: 1, next: &box{n: 2}}
	// main.(*box).add(b=&{n=1, next=&{n=2, next=NULL}}, d=3) returned, b=&{n=4, next=&{n=2, next=NULL}}
	b.add(3)
	// main.array(a={1,2}, b={3}, c=4) = 10
	a := array([2]int{1, 2}, [1]int{3}, 4)
	// main.hooked(h={a=1, f=NULL, b=2}, c=3) = 6
	k := hooked(hook{a: 1, b: 2}, 3)
	fmt.Println(n, s, p, m, h, r, name, b.n, a, k)
}
