package acceptance

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"alleria/abp"
)

// TestCountedTree: what is counted of each process of a tree is the same whether functions are looked up beside the tracer or by it, and is read from run.json as it was printed; the
// file names functions once for all processes.
func TestCountedTree(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/calls/caches.c", "-static -nostdlib -fno-stack-protector -no-pie")
	dir := t.TempDir()
	count := func(out string, flags ...string) (found []*abp.Counted, printed string) {
		t.Helper()
		argv := append(append([]string{alleria(), "record", "--only", "count", "-o", out}, flags...), "--", "sh", "-c", prog+"; "+prog+" & "+prog+"; wait")
		r := run(t, command{argv: argv, dir: dir})
		if r.status != 0 {
			t.Fatalf("%s", clip(r.stderr))
		}
		read, err := abp.ReadRun(filepath.Join(dir, out))
		if err != nil {
			t.Fatal(err)
		}
		for i := range read.Processes {
			e := &read.Processes[i]
			if e.Counted == nil || e.Command[0] != prog {
				continue
			}
			var sum uint64
			for _, f := range e.Counted.Functions {
				sum += f.Instructions
			}
			if sum != e.Instructions || sum == 0 {
				t.Errorf("process %d: functions have %d instructions of %d", e.Number, sum, e.Instructions)
			}
			for k := range e.Counted.Threads {
				e.Counted.Threads[k].TID = 0
			}
			found = append(found, e.Counted)
		}
		text, err := os.ReadFile(filepath.Join(dir, out, abp.RunFile))
		if err != nil || !strings.Contains(string(text), `"counts": "`) {
			t.Errorf("names are not shared: %v", err)
		}
		return found, string(r.stderr)
	}
	beside, printed := count("beside")
	once, _ := count("once", "--engine", "count-at-once")
	if len(beside) != 3 || !reflect.DeepEqual(beside, once) {
		t.Errorf("%d processes beside, %d at once: %+v, %+v", len(beside), len(once), beside, once)
	}
	for _, f := range beside[0].Functions[:1] {
		if !strings.Contains(printed, f.Name) {
			t.Errorf("%s is not printed: %s", f.Name, clip([]byte(printed)))
		}
	}
}
