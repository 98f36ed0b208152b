package emit

import (
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"alleria/abp"
	"alleria/internal/records"
)

// TestRowsAgree: blocks are the same to readers whether their rows were made field by field in each process or are the engine's facts as they lie, of
// code that was translated in this run or an earlier one, in the first process that executes it or a later one.
func TestRowsAgree(t *testing.T) {
	for seed := range uint64(8) {
		prog := newProgram(seed, 200)
		kept, _ := records.FromKept(prog.blocks.Keep(), 1<<12, false)
		if kept == nil {
			t.Fatal("no table")
		}
		var copied, again records.Blocks
		copied.Copy(kept)
		again.Copy(kept)
		var all []uint64
		for i, b := range prog.list {
			if i%5 != 0 { // some are never executed, or in part
				all = prog.record(all, b)
			}
		}
		plain := rowsOf(t, all, Options{PlainRows: true}, prog.blocks, &copied)
		packed := rowsOf(t, all, Options{}, prog.blocks, &copied, &again)
		for _, got := range append(plain[1:], packed...) {
			for i, want := range plain[0] {
				if want == nil || want.Sample != nil {
					continue
				}
				if i >= len(got) || got[i] == nil || !sameBlock(want, got[i]) {
					t.Fatalf("seed %d, block %d: %+v, want %+v", seed, i, got[i], want)
				}
			}
		}
		if !slices.ContainsFunc(prog.list, func(b *records.Block) bool { _, ok := again.Form(b.ID); return ok }) {
			t.Error("nothing was found out once for all processes")
		}
		runtime.KeepAlive(prog)
	}
}

// sameBlock compares two blocks, of which empty lists may be nil.
func sameBlock(a, b *abp.Block) bool {
	x, y := *a, *b
	for _, v := range []*abp.Block{&x, &y} {
		v.Accesses = append([]abp.Access{}, v.Accesses...)
		v.Registers = append([]abp.RegisterWord{}, v.Registers...)
		v.Code = append([]byte{}, v.Code...)
	}
	return reflect.DeepEqual(x, y)
}

// rowsOf has processes with these tables execute the same, and returns the blocks that a reader finds in each. Their executions are compared as well.
func rowsOf(t *testing.T, words []uint64, opts Options, tables ...*records.Blocks) (blocks [][]*abp.Block) {
	t.Helper()
	opts.Dirs = []string{filepath.Join(t.TempDir(), "run")}
	run, err := NewRun(opts, abp.Run{Tool: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for n, table := range tables {
		p, err := run.NewProcess(abp.Header{Process: uint32(n + 1), TSCFrequency: 1e9}, table)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.SinkOf(0).ConsumeAt(1, Place{}, Place{Chunk: 1}, words, 1000, 1900); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(abp.EndInfo{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := run.Finish(abp.Outcome{State: abp.OutcomeComplete}); err != nil {
		t.Fatal(err)
	}
	p, err := abp.Open(opts.Dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for n := range tables {
		var got []uint64
		if err := p.EachExec(abp.Query{Processes: []uint32{uint32(n + 1)}}, func(x *abp.Exec) error {
			got = append(append(got, uint64(x.Block.ID)), x.Words...)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, words) {
			t.Errorf("process %d: %d words, want %d", n+1, len(got), len(words))
		}
		blocks = append(blocks, p.Process(uint32(n+1)).Blocks())
	}
	return blocks
}
