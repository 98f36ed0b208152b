// A Go program with C code, which another linker than Go's puts in front of it.
package main

// static int twice(int n) { return 2 * n; }
import "C"
import "os"

//go:noinline
func cold(n int) int { return int(C.twice(C.int(n))) }

type thing struct{ n int }

//go:noinline
func (t *thing) part(n int) int { return t.n + cold(n) }

func main() {
	t := &thing{len(os.Args)}
	os.Exit(t.part(2) & 1)
}
