// Command branchmix counts a program's branches by kind, and how many of the conditional ones are taken.
package main

import (
	"fmt"
	"io"
	"sync/atomic"

	"alleria/tool"
)

type branch struct {
	Kind  uint8
	Taken bool
}

func main() {
	t := tool.New("branchmix")
	kinds := []string{"COND_BR", "UNCOND_BR", "CALL", "RET"}
	executed, taken := make([]atomic.Uint64, len(kinds)), make([]atomic.Uint64, len(kinds))
	branches := tool.Define(t, tool.Buffer[branch]{Records: 1 << 16, Full: func(b *tool.Batch[branch]) []branch {
		n, yes := [4]uint64{}, [4]uint64{}
		for _, r := range b.Records {
			n[r.Kind]++
			if r.Taken {
				yes[r.Kind]++
			}
		}
		for k := range n {
			executed[k].Add(n[k])
			taken[k].Add(yes[k])
		}
		return b.Records
	}})
	for k, name := range kinds {
		branches.Fill(tool.Instructions("cat="+name), tool.Fields{"Kind": tool.Constant(uint64(k)), "Taken": tool.Taken()})
	}
	t.Done = func(w io.Writer) {
		for k, name := range kinds {
			fmt.Fprintf(w, "%-10s %12d executed %12d taken\n", name, executed[k].Load(), taken[k].Load())
		}
	}
	t.Main()
}
