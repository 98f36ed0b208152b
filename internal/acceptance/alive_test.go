package acceptance

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAlive holds how much memory more a process takes that lives, traced, all of it counted: the tracer's and its own, shared memory once.
// The long form has 500 of them at a time.
func TestAlive(t *testing.T) {
	prog := build(t, "../../testdata/trees/alive.c", "")
	for _, m := range []struct {
		name      string
		flags     []string
		some, all int // processes
		most      int // KiB each
	}{
		{"followed", treeModes(t)["followed"], 40, 500, 1 << 10},
		{"recorded", []string{"--discard"}, 6, 500, 16 << 10},
	} {
		t.Run(m.name, func(t *testing.T) {
			n := m.some
			if *every {
				n = m.all
			}
			record := append([]string{alleria(), "-q", "record"}, append(m.flags, "--")...)
			// What a run takes anyway has one process as well.
			one := aliveMemory(t, record, prog, 1) - aliveMemory(t, nil, prog, 1)
			more := aliveMemory(t, record, prog, n) - aliveMemory(t, nil, prog, n) - one
			each := more / (n - 1)
			t.Logf("%d KiB more each, of %d", each, n)
			if each > m.most {
				t.Errorf("%d processes that are %s take %d KiB more each, more than %d", n, m.name, each, m.most)
			}
		})
	}
}

// aliveMemory is how much memory, in KiB, a tracer and all below it take when so many processes live.
func aliveMemory(t *testing.T, tracer []string, prog string, n int) int {
	t.Helper()
	argv := append(append([]string{}, tracer...), prog, strconv.Itoa(n))
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir = workDir(t)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(10*time.Minute, func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v %s", line, err, stderr.Bytes())
	}
	sum := memoryBelow(t, c.Process.Pid)
	in.Close()
	if err := c.Wait(); err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	return sum
}

// memoryBelow adds up the memory of a process and all below it, in KiB: what is shared by several is divided among them.
func memoryBelow(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "\nPss:")
	f := strings.Fields(after)
	sum, err := strconv.Atoi(f[0])
	if err != nil {
		t.Fatal(err)
	}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, l := range lists {
		b, _ := os.ReadFile(l) // a thread of the tracer's may have ended
		for _, child := range strings.Fields(string(b)) {
			n, err := strconv.Atoi(child)
			if err != nil {
				t.Fatal(err)
			}
			sum += memoryBelow(t, n)
		}
	}
	return sum
}
