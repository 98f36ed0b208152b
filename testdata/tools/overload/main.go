// Command overload is a tool whose callback is slow, panics or never returns, as its flags say; it prints how many accesses it was given.
//
// What is expected: the program's output and status are its own in any case. A slow one gets every access, as one that is not slow. One that panics
// or never returns ends the analysis, which is told with its name, the buffer's and the place.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"alleria/tool"
)

type ref struct{ Addr uint64 }

func main() {
	t := tool.New("overload")
	slow := t.Flags.Duration("slow", 0, "time that each buffer takes")
	panics := t.Flags.Int64("panic", 0, "panic at this buffer")
	hangs := t.Flags.Int64("hang", 0, "never return from this buffer")
	if slices.Contains(os.Args, "-hang") { // on a busy machine a good callback may take long
		t.Limit = 300 * time.Millisecond
	}
	var buffers, count atomic.Int64
	refs := tool.Define(t, tool.Buffer[ref]{Records: 4096, Full: func(b *tool.Batch[ref]) []ref {
		time.Sleep(*slow)
		switch buffers.Add(1) {
		case *panics:
			panic("as it was asked to")
		case *hangs:
			select {}
		}
		count.Add(int64(len(b.Records)))
		return b.Records
	}})
	refs.Fill(tool.Accesses("anyMem"), tool.Fields{"Addr": tool.Address()})
	t.Done = func(w io.Writer) { fmt.Fprintf(w, "%d accesses\n", count.Load()) }
	t.Main()
}
