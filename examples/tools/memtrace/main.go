// Command memtrace counts the accesses to memory of a program, and prints the first ones: a memory trace.
package main

import (
	"fmt"
	"io"
	"sync"

	"alleria/tool"
)

type ref struct {
	PC, Addr uint64
	Size     uint32
	Store    bool
}

func main() {
	t := tool.New("memtrace")
	show := t.Flags.Int("show", 0, "print so many accesses")
	var mu sync.Mutex
	var count, bytes [2]uint64 // of loads and of stores
	var first []ref
	refs := tool.Define(t, tool.Buffer[ref]{Full: func(b *tool.Batch[ref]) []ref {
		var n, size [2]uint64
		for i := range b.Records {
			r, kind := &b.Records[i], 0
			if r.Store {
				kind = 1
			}
			n[kind]++
			size[kind] += uint64(r.Size)
		}
		mu.Lock()
		defer mu.Unlock()
		for kind := range n {
			count[kind] += n[kind]
			bytes[kind] += size[kind]
		}
		first = append(first, b.Records[:min(len(b.Records), *show-len(first))]...)
		return b.Records
	}})
	refs.Fill(tool.Accesses("anyMem"), tool.Fields{"PC": tool.PC(), "Addr": tool.Address(), "Size": tool.Size(), "Store": tool.Store()})
	t.Done = func(w io.Writer) {
		for _, r := range first {
			fmt.Fprintf(w, "%#x: %#x, %d bytes, store %v\n", r.PC, r.Addr, r.Size, r.Store)
		}
		fmt.Fprintf(w, "%d loads of %d bytes, %d stores of %d bytes\n", count[0], bytes[0], count[1], bytes[1])
	}
	t.Main()
}
