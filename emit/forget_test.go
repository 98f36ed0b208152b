package emit

import (
	"path/filepath"
	"runtime"
	"testing"
	"weak"

	"alleria/abp"
)

// TestForgotten closes processes, written and dropped: nothing is kept of them but what the run says of them in the end.
func TestForgotten(t *testing.T) {
	for name, opts := range map[string]Options{"written": {Dirs: []string{filepath.Join(t.TempDir(), "run")}}, "dropped": {Discard: true}} {
		t.Run(name, func(t *testing.T) {
			run, err := NewRun(opts, abp.Run{Tool: "test"})
			if err != nil {
				t.Fatal(err)
			}
			const processes = 3
			var kept []weak.Pointer[ProcessWriter]
			var executed uint64
			for n := range uint32(processes) {
				p, counts := closedOne(t, run, n+1)
				kept = append(kept, p)
				executed += counts.Instructions
			}
			runtime.GC()
			for n, p := range kept {
				if p.Value() != nil {
					t.Errorf("process %d is kept", n+1)
				}
			}
			if err := run.Finish(abp.Outcome{State: abp.OutcomeComplete}); err != nil {
				t.Fatal(err)
			}
			if l := run.Lost(); l != (Lost{}) {
				t.Errorf("lost: %+v", l)
			}
			info := run.Info()
			var sum uint64
			for _, e := range info.Processes {
				sum += e.Counts.Instructions
				if e.Threads != 1 || (e.Dir == "") != opts.Discard {
					t.Errorf("process %d: %d threads, in %q", e.Number, e.Threads, e.Dir)
				}
			}
			if len(info.Processes) != processes || sum != executed || sum == 0 {
				t.Errorf("%d processes with %d instructions, want %d with %d", len(info.Processes), sum, processes, executed)
			}
		})
	}
}

// closedOne is a process of which something was consumed, and which is closed.
func closedOne(t *testing.T, run *Run, number uint32) (weak.Pointer[ProcessWriter], abp.Counts) {
	t.Helper()
	prog := newProgram(uint64(number), 30)
	p, err := run.NewProcess(abp.Header{Process: number, TSCFrequency: 1e9}, prog.blocks)
	if err != nil {
		t.Fatal(err)
	}
	in := interpreter{p: prog}
	var words []uint64
	for range 40 {
		words = prog.item(words)
	}
	in.chunk(words)
	if err := p.SinkOf(0).ConsumeAt(1, Place{}, Place{Chunk: 1}, words, 1000, 1900); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(abp.EndInfo{}); err != nil {
		t.Fatal(err)
	}
	c, _ := p.Counts()
	return weak.Make(p), c
}
