package abp_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"alleria/abp"
	"alleria/analysis/synthetic"
)

// recorded is a small run to read.
func recorded() (dir string, done func()) {
	tmp, err := os.MkdirTemp("", "abp-example-")
	if err != nil {
		log.Fatal(err)
	}
	dir = filepath.Join(tmp, "run")
	if err := synthetic.Write(dir); err != nil {
		log.Fatal(err)
	}
	return dir, func() { os.RemoveAll(tmp) }
}

// The counts of a profile are in the headers of its frames: nothing is decoded.
func ExampleOpen() {
	dir, done := recorded()
	defer done()
	p, err := abp.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	fmt.Println("complete:", p.Complete())
	for _, proc := range p.Processes() {
		for _, t := range proc.Threads() {
			fmt.Printf("process %d thread %d: %d instructions, %d loads\n", proc.Number(), t.Number, t.Counts.Instructions, t.Counts.Loads)
		}
	}
	// Output:
	// complete: true
	// process 1 thread 1: 403 instructions, 265 loads
	// process 1 thread 2: 20 instructions, 10 loads
}

// Executions are the fastest way through a profile: one step a block, and what all executions of a
// block have in common is known from the block.
func ExampleProfile_EachExec() {
	dir, done := recorded()
	defer done()
	p, err := abp.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	blocks := map[uint64]int{}
	err = p.EachExec(abp.Query{Processes: []uint32{1}}, func(x *abp.Exec) error {
		blocks[x.Block.Addr]++
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(blocks), "blocks")
	// Output: 4 blocks
}

// Entries come one by one: headers of threads, changes of windows, instructions, and what hangs on
// them.
func ExampleReader_Next() {
	dir, done := recorded()
	defer done()
	p, err := abp.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	var stores, bytes uint64
	r := p.Reader(abp.Query{Functions: []string{"demo::work"}})
	for r.Next() {
		if e := r.Entry(); e.Kind == abp.EntryMem && e.Mem.Store {
			stores++
			bytes += uint64(e.Mem.Size)
		}
	}
	if r.Err() != nil {
		log.Fatal(r.Err())
	}
	fmt.Println(stores, "stores of", bytes, "bytes")
	// Output: 110 stores of 440 bytes
}

// A trace is an instruction with its accesses, its branch and its system call.
func ExampleReader_NextTrace() {
	dir, done := recorded()
	defer done()
	p, err := abp.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	r := p.Reader(abp.Query{Processes: []uint32{1}, Threads: []uint32{1}})
	if err := r.Seek(1, 398); err != nil { // by the frames' headers: at once, wherever it is
		log.Fatal(err)
	}
	for n := 0; n < 2 && r.NextTrace(); n++ {
		t := r.Trace()
		fmt.Printf("%d at %#x: %d accesses\n", t.Ins.Ordinal, t.Ins.Addr, len(t.Mems))
	}
	if r.Err() != nil {
		log.Fatal(r.Err())
	}
	// Output:
	// 398 at 0x401100: 1 accesses
	// 399 at 0x401102: 1 accesses
}

// Verify says what is wrong with a profile, and where.
func ExampleVerify() {
	dir, done := recorded()
	defer done()
	if err := os.Remove(filepath.Join(dir, "p1", abp.MainFile)); err != nil {
		log.Fatal(err)
	}
	err := abp.Verify(dir, func(p abp.Problem) { fmt.Println(filepath.Base(p.Path), p.Text) })
	if err != nil {
		log.Fatal(err)
	}
	// Output: main.abp is missing
}
