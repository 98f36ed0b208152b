// Command watch says which instructions write to a range of memory, how often, and what last: a watchpoint of any size that costs no stops.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"

	"alleria/tool"
)

type write struct{ PC, Addr, Value uint64 }

type writer struct {
	times uint64
	last  write
}

func main() {
	t := tool.New("watch")
	from := t.Flags.Uint64("from", 0, "the first `address`; -no-aslr keeps addresses the same from run to run")
	size := t.Flags.Uint64("size", 8, "how many `bytes`")
	if err := t.Flags.Parse(os.Args[1:]); err != nil { // Main says what is wrong
		os.Exit(map[bool]int{true: 0, false: 2}[errors.Is(err, flag.ErrHelp)])
	}
	var mu sync.Mutex
	by := map[uint64]*writer{}
	writes := tool.Define(t, tool.Buffer[write]{Full: func(b *tool.Batch[write]) []write {
		mu.Lock()
		defer mu.Unlock()
		for _, r := range b.Records {
			w := by[r.PC]
			if w == nil {
				w = new(writer)
				by[r.PC] = w
			}
			w.times++
			w.last = r
		}
		return b.Records
	}})
	in := tool.Condition{Of: tool.Address(), Least: *from, Most: *from + max(*size, 1) - 1}
	writes.Fill(tool.Accesses("anyMem").When(in, tool.Condition{Of: tool.Store(), Least: 1, Most: 1}), tool.Fields{"PC": tool.PC(), "Addr": tool.Address(), "Value": tool.Value()})
	t.Done = func(w io.Writer) {
		for _, pc := range slices.SortedFunc(maps.Keys(by), func(x, y uint64) int { return int(by[y].times) - int(by[x].times) }) {
			fmt.Fprintf(w, "%#x: %d writes, the last of %#x to %#x\n", pc, by[pc].times, by[pc].last.Value, by[pc].last.Addr)
		}
	}
	t.Main()
}
