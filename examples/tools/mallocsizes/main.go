// Command mallocsizes makes a histogram of the sizes that malloc is asked for. The program's code is recorded at one instruction only.
package main

import (
	"fmt"
	"io"
	"math/bits"
	"sync"

	"alleria/tool"
)

type call struct{ Size uint64 }

func main() {
	t := tool.New("mallocsizes")
	var mu sync.Mutex
	var by [65]uint64 // by the number of bits
	var calls, bytes uint64
	sizes := tool.Define(t, tool.Buffer[call]{Records: 1024, Buffers: 1, Full: func(b *tool.Batch[call]) []call {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range b.Records {
			by[bits.Len64(c.Size)]++
			calls++
			bytes += c.Size
		}
		return b.Records
	}})
	sizes.Fill(tool.Entry("libc.so.6", "malloc"), tool.Fields{"Size": tool.Register("rdi")})
	t.Done = func(w io.Writer) {
		fmt.Fprintf(w, "%d calls, %d bytes\n", calls, bytes)
		for k, n := range by {
			if n > 0 {
				fmt.Fprintf(w, "below %12d: %d\n", uint64(1)<<k, n)
			}
		}
	}
	t.Main()
}
