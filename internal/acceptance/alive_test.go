package acceptance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// TestKilledTracers kills tracers at any moment, one that is in another's tree among them, while their trees are listed: nothing of what they traced lives on, nothing
// is listed, their database is gone. What is listed meanwhile holds together.
func TestKilledTracers(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 || find("unshare") == "" {
		t.Skip("needs namespaces of its own, for a database that nobody else uses")
	}
	script, err := filepath.Abs("../../testdata/trees/kills.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := workDir(t)
	if err := os.WriteFile(filepath.Join(dir, "followed.xml"), []byte(treeConfigs()["followed.xml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	r := run(t, command{argv: []string{"unshare", "-mpf", "--mount-proc", "--kill-child", "bash", script, strconv.Itoa(short(4, 200)), alleria()}, dir: dir, timeout: 20 * time.Minute})
	if why, ok := strings.CutPrefix(string(r.stdout), "skip: "); ok {
		t.Skip(why)
	}
	if string(r.stdout) != "listing ended with 0\n" || r.status != 0 {
		t.Errorf("status %d: %s%s", r.status, r.stdout, r.stderr)
	}
	f, err := os.Open(filepath.Join(dir, "ps.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := 0
	for d := json.NewDecoder(f); ; seen++ {
		var trees []listedTree
		if err := d.Decode(&trees); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("listing %d: %v", seen+1, err)
		}
		for _, tree := range trees {
			if why := tree.wrong(); why != "" {
				t.Errorf("listing %d: %s", seen+1, why)
			}
		}
	}
	if seen < 4 {
		t.Errorf("%d listings", seen)
	}
}

// listedTree is a tree of ps --json.
type listedTree struct {
	Tree, Counter int
	Processes     []struct {
		Number, Parent int
		Rate           float64 `json:"instructions_per_second"`
		Bytes          float64 `json:"recorded_bytes_per_second"`
	}
}

// wrong says what cannot be.
func (l *listedTree) wrong() string {
	numbers := make(map[int]bool)
	for _, p := range l.Processes {
		if p.Number < 1 || p.Number > l.Counter || p.Parent >= p.Number || numbers[p.Number] || p.Rate < 0 || p.Bytes < 0 {
			return fmt.Sprintf("tree %d, whose last number is %d: %+v", l.Tree, l.Counter, p)
		}
		numbers[p.Number] = true
	}
	return ""
}
