// A Go program: names that look like parts of functions and aren't.
package main

import "os"

//go:noinline
func cold(n int) int { return n * 3 }

type thing struct{ n int }

//go:noinline
func (t *thing) part(n int) int { return t.n + cold(n) }

func main() {
	t := &thing{len(os.Args)}
	os.Exit(t.part(2) & 1)
}
