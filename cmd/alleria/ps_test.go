package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"alleria/proctree"
)

// lockedBuffer is written by one goroutine and read by another.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestPs lists a tree of three generations, of which the middle one has ended, in a folder
// of its own.
func TestPs(t *testing.T) {
	dir := t.TempDir()
	tree := proctree.New([]string{"make", "-j4"}, proctree.Options{Dir: dir})
	defer tree.Close()
	tree.Created(0, 100)
	tree.Executed(1, "/usr/bin/make", []string{"make"})
	tree.Created(1, 101)
	tree.Created(2, 102)
	tree.Executed(3, "/usr/libexec/cc1\x1b[31m", []string{"cc1"})
	tree.SetState(3, proctree.WindowOpen)
	tree.SetCounts(3, 5_000_000, 1234)
	list := func(asJSON bool) string {
		t.Helper()
		var out, errs bytes.Buffer
		a := &app{stdout: &out, stderr: &errs}
		if err := a.listTrees(context.Background(), dir, asJSON, 0); err != nil || errs.Len() > 0 {
			t.Fatal(err, errs.String())
		}
		return out.String()
	}
	lines := strings.Split(list(false), "\n")
	if len(lines) != 6 || !strings.Contains(lines[0], "3 live of 3 processes: make -j4") || !strings.HasPrefix(lines[2], "  1 /usr/bin/make ") ||
		!strings.HasPrefix(lines[3], "    2 /usr/bin/make ") || !strings.HasPrefix(lines[4], "      3 /usr/libexec/cc1?[31m  open ") || !strings.Contains(lines[4], " 5 M ") || !strings.Contains(lines[4], " 1.23 kB ") {
		t.Errorf("%q", lines)
	}
	tree.Ended(2, 0, proctree.Usage{})
	if lines := strings.Split(list(false), "\n"); len(lines) != 5 || !strings.HasPrefix(lines[3], "  3 ") {
		t.Errorf("without its parent: %q", lines)
	}
	var trees []psTree
	if err := json.Unmarshal([]byte(list(true)), &trees); err != nil || len(trees) != 1 || trees[0].Tracer != os.Getpid() || trees[0].Counter != 3 {
		t.Fatalf("%v %+v", err, trees)
	}
	p := trees[0].Processes[1]
	if p.Number != 3 || p.Parent != 2 || p.PID != 102 || p.Generation != 1 || p.State != "open" || p.Instructions != 5_000_000 || p.InstructionsRate <= 0 || p.RecordedRate <= 0 {
		t.Errorf("%+v", p)
	}
}

// TestPsWatch has the rates of a process that goes on and then does nothing.
func TestPsWatch(t *testing.T) {
	dir := t.TempDir()
	tree := proctree.New([]string{"x"}, proctree.Options{Dir: dir})
	defer tree.Close()
	tree.Created(0, 100)
	tree.SetCounts(1, 1_000_000_000, 0)
	var out lockedBuffer
	a := &app{stdout: &out, stderr: &bytes.Buffer{}}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- a.listTrees(ctx, dir, true, 20*time.Millisecond) }()
	for strings.Count(out.String(), "\n") < 3 {
		time.Sleep(time.Millisecond)
	}
	tree.Close()
	for !strings.Contains(out.String(), "\n[]\n") {
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var rates []float64
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		var trees []psTree
		if err := json.Unmarshal([]byte(line), &trees); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if len(trees) == 1 && len(trees[0].Processes) == 1 {
			rates = append(rates, trees[0].Processes[0].InstructionsRate)
		}
	}
	if len(rates) < 2 || rates[0] <= 0 || rates[1] != 0 {
		t.Errorf("rates: %v", rates)
	}
}

// TestPsCommand asks the machine's own database: what else is traced there is not this test's.
func TestPsCommand(t *testing.T) {
	tree := proctree.New([]string{"alleria-ps-test"}, proctree.Options{Warn: func(err error) { t.Skip(err) }})
	tree.Created(0, os.Getpid())
	if status, out, errs := command(t, "ps"); status != 0 || !strings.Contains(out, "1 live of 1 processes: alleria-ps-test\n") {
		t.Errorf("%d %s %s", status, errs, out)
	}
	tree.Close()
	if status, out, _ := command(t, "ps", "--json"); status != 0 || !strings.HasPrefix(out, "[") || strings.Contains(out, "alleria-ps-test") {
		t.Errorf("%d %s", status, out)
	}
	for _, args := range [][]string{{"ps", "--watch=soon"}, {"ps", "--watch=0"}, {"ps", "x"}} {
		if status, _, errs := command(t, args...); status != 2 || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: %d %q", args, status, errs)
		}
	}
}

func TestAmount(t *testing.T) {
	for n, want := range map[float64]string{0: "0", 999: "999", 999.6: "1 k", 1000: "1 k", 123456: "123 k", 5e6: "5 M", 2.5e9: "2.5 G", 1e18: "1e+06 T"} {
		if got := amount(n, ""); got != want {
			t.Errorf("%v: %q, want %q", n, got, want)
		}
	}
	if got := amount(0, "B") + amount(2e3, "B"); got != "0 B2 kB" {
		t.Errorf("%q", got)
	}
}
