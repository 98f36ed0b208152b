package proctree

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The tests here start this binary again as tracers of their own, which the variable
// tells what to do.
const helperVariable = "PROCTREE_TEST_HELPER"

func TestMain(m *testing.M) {
	switch words := strings.Fields(os.Getenv(helperVariable)); {
	case len(words) == 0:
		os.Exit(m.Run())
	case words[0] == "life":
		at, _ := strconv.Atoi(words[2])
		life(words[1], at)
	case words[0] == "hammer":
		hammer(words[1])
	case words[0] == "visits":
		visits(words[1])
	case words[0] == "hold":
		hold(words[1])
	}
}

// helper is this binary again.
func helper(words ...string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), helperVariable+"="+strings.Join(words, " "))
	c.Stderr = os.Stderr
	return c
}

// life is the whole life of a tracer, which kills itself at a step: 0 is never. It prints
// how many steps there were.
func life(dir string, kill int) {
	steps := 0
	step := func(string) {
		if steps++; steps == kill {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(time.Hour) // the signal is on its way
		}
	}
	opts := Options{Dir: dir, step: step, Warn: func(err error) { panic(err) }}
	t := New([]string{"life"}, opts)
	expect := func(got, want int) {
		if got != want {
			panic(fmt.Sprintf("number %d, want %d", got, want))
		}
	}
	expect(t.Created(0, os.Getpid()), 1)
	for i := range slotsAtATime + 3 {
		expect(t.Created(1, 1000+i), 2+i)
	}
	t.Executed(2, "/bin/a", []string{"a"})
	t.SetState(1, Detached)
	t.SetCounts(2, 1, 2)
	t.Ended(3, 0, Usage{})
	second := New([]string{"second"}, opts) // a tracer may have several
	expect(second.Created(0, 5), 1)
	if _, err := list(dir, step); err != nil {
		panic(err)
	}
	t.Close()
	second.Close()
	fmt.Println(steps)
}

// TestKilledAtEachStep kills a tracer at every step of the protocol, alone and beside
// another one that lives.
func TestKilledAtEachStep(t *testing.T) {
	out, err := helper("life", t.TempDir(), "0").Output()
	if err != nil {
		t.Fatal(err)
	}
	steps, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || steps < 100 {
		t.Fatalf("%d steps: %v", steps, err)
	}
	reached := 0
	for k := 1; k <= steps; k++ {
		beside := k%2 == 0 // by turns: all steps of both kinds would take twice as long
		if killAt(t, k, beside) {
			reached++
		}
	}
	t.Logf("killed at %d of %d steps", reached, steps)
	// Beside another tracer there is no file to be made and removed.
	if reached < steps-5 {
		t.Errorf("only %d of %d steps were reached", reached, steps)
	}
}

// killAt tells whether the step was reached.
func killAt(t *testing.T, k int, beside bool) bool {
	t.Helper()
	dir := t.TempDir()
	var w warned
	opts := Options{Dir: dir, Warn: w.add}
	var other *Tree
	if beside {
		other = New([]string{"other"}, opts)
		other.Created(0, os.Getpid())
	}
	c := helper("life", dir, strconv.Itoa(k))
	err := c.Run()
	killed := err != nil && c.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	if err != nil && !killed {
		t.Fatalf("step %d: %v", k, err)
	}
	// Whoever comes next finds what lives, and a place in it.
	next := New([]string{"next"}, opts)
	if next.Created(0, os.Getpid()) != 1 || next.Created(1, 9) != 2 {
		t.Errorf("step %d: the next tracer's numbers", k)
	}
	want := "next"
	if beside {
		want = "other next"
		if other.Created(1, 8) != 2 {
			t.Errorf("step %d: the other tracer's numbers", k)
		}
	}
	var got []string
	for _, tr := range mustList(t, dir) {
		got = append(got, tr.Command)
		if len(tr.Processes) != 2 || tr.Counter != 2 {
			t.Errorf("step %d: %+v", k, tr)
		}
	}
	if strings.Join(got, " ") != want {
		t.Errorf("step %d: %v is listed, want %s", k, got, want)
	}
	taken := 0
	for i := range next.region.backed() {
		if next.region.process(i).owner.Load() != 0 {
			taken++
		}
	}
	if taken != 2*len(got) {
		t.Errorf("step %d: %d slots are taken by %d processes", k, taken, 2*len(got))
	}
	next.Close()
	if beside {
		other.Close()
	}
	if len(w) != 0 || len(files(t, dir)) != 0 {
		t.Errorf("step %d: %v, left: %v", k, w, files(t, dir))
	}
	return killed
}

// TestKilledLeavesNothing lists after a tracer was killed: that is enough to clean.
func TestKilledLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	c := start(t, "hold", dir)
	if len(mustList(t, dir)) != 1 {
		t.Error("it is not listed")
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// Not waited for: until then it is a zombie, with a number and a start time.
	for end := time.Now().Add(10 * time.Second); len(mustList(t, dir)) > 0; {
		if time.Now().After(end) {
			t.Fatal("a killed tracer that nobody has waited for is taken for a live one")
		}
	}
	if len(files(t, dir)) != 0 {
		t.Errorf("left: %v", files(t, dir))
	}
}

// start starts a helper that says a word when it is ready.
func start(t *testing.T, words ...string) *exec.Cmd {
	t.Helper()
	c := helper(words...)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return c
}

// hold has a tree until it is killed.
func hold(dir string) {
	t := New([]string{"held"}, Options{Dir: dir, Warn: func(err error) { panic(err) }})
	t.Created(0, 1)
	fmt.Println("ready")
	select {}
}

// hammer makes and ends trees without end, and panics where something is not as it should be.
func hammer(dir string) {
	opts := Options{Dir: dir, Warn: func(err error) { panic(err) }}
	fmt.Println("ready")
	for {
		t := New([]string{"hammer", strconv.Itoa(os.Getpid())}, opts)
		for i := range 1 + rand.IntN(50) {
			if n := t.Created(min(i, 1), 10_000+i); n != i+1 {
				panic(fmt.Sprintf("number %d, want %d", n, i+1))
			}
			t.Executed(1+rand.IntN(i+1), strings.Repeat("/"+strconv.Itoa(os.Getpid()), rand.IntN(100)), nil)
			t.SetCounts(i+1, uint64(os.Getpid()), 7)
			if rand.IntN(3) == 0 {
				t.Ended(1+rand.IntN(i+1), 0, Usage{})
			}
		}
		listed(dir, t.id)
		if rand.IntN(100) > 0 { // else it leaves its tree behind: the process lives, and so does that
			t.Close()
		}
	}
}

// listed panics if a tree is not in the database that others find.
func listed(dir string, id uint32) {
	trees, err := List(dir)
	for _, t := range trees {
		if t.ID == int(id) && t.Tracer == os.Getpid() {
			return
		}
	}
	panic(fmt.Sprintf("tree %d of %d is not in %+v, %v", id, os.Getpid(), trees, err))
}

// TestComeAndGo has tracers come and go with nobody who stays: the file is made and removed
// all the time, and each finds itself in the one that there is.
func TestComeAndGo(t *testing.T) {
	dir := t.TempDir()
	done := make(chan error)
	for range 4 {
		c := helper("visits", dir)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { done <- c.Wait() }()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if len(files(t, dir)) != 0 {
		t.Errorf("left: %v", files(t, dir))
	}
}

// visits comes and goes.
func visits(dir string) {
	for range 300 {
		t := New([]string{"visit"}, Options{Dir: dir, Warn: func(err error) { panic(err) }})
		t.Created(0, os.Getpid())
		listed(dir, t.id)
		t.Close()
	}
}

// TestHammer has several tracers come, go and be killed at random moments, beside one that
// stays and looks.
func TestHammer(t *testing.T) {
	dir := t.TempDir()
	var w warned
	tr := New([]string{"stays"}, Options{Dir: dir, Warn: w.add})
	tr.Created(0, os.Getpid())
	kills, looks := 0, 0
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		var at []*exec.Cmd
		for range 4 {
			at = append(at, start(t, "hammer", dir))
		}
		for round := time.Now().Add(time.Duration(rand.IntN(60)) * time.Millisecond); time.Now().Before(round); looks++ {
			tr.Created(1, 5)
			look(t, mustList(t, dir), len(tr.Processes()))
		}
		for _, c := range at {
			if err := c.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
			kills++
		}
		for _, c := range at {
			if err := c.Wait(); c.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("a tracer found something wrong: %v", err)
			}
		}
	}
	if got := mustList(t, dir); len(got) != 1 || len(got[0].Processes) != len(tr.Processes()) {
		t.Errorf("%d trees are left", len(got))
	}
	tr.Close()
	t.Logf("%d tracers were killed, %d looks", kills, looks)
	if len(w) != 0 || len(files(t, dir)) != 0 || kills < 8 || looks < 10 {
		t.Errorf("%d kills, %d looks, %v, left: %v", kills, looks, w, files(t, dir))
	}
}

// look checks what a reader sees of trees that change: each process whole.
func look(t *testing.T, trees []LiveTree, own int) {
	t.Helper()
	stays := false
	for _, tr := range trees {
		for _, p := range tr.Processes {
			// A program names its tree's tracer, over and over, and a cut one begins with a part.
			if p.Program != "" && !strings.HasSuffix(p.Program, "/"+strconv.Itoa(tr.Tracer)) ||
				p.Instructions != 0 && p.Instructions != uint64(tr.Tracer) && p.Recorded == 7 {
				t.Fatalf("%+v in the tree of %d", p, tr.Tracer)
			}
		}
		if tr.Command == "stays" {
			stays = len(tr.Processes) == own && tr.Counter == own
		}
	}
	if !stays {
		t.Fatalf("the tree that stays is not whole: %+v", trees)
	}
}

// TestNested has a tracer run inside another's tree.
func TestNested(t *testing.T) {
	dir := t.TempDir()
	outer := New([]string{"outer"}, Options{Dir: dir})
	outer.Created(0, 1)
	c := start(t, "hold", dir)
	n := outer.Created(1, c.Process.Pid)
	trees := mustList(t, dir)
	if len(trees) != 2 || trees[0].Inside != nil || trees[1].Inside == nil || *trees[1].Inside != (Place{trees[0].ID, n}) {
		t.Errorf("%+v", trees)
	}
	outer.Close() // the inner one lives on
	if trees := mustList(t, dir); len(trees) != 1 || trees[0].Tracer != c.Process.Pid || len(trees[0].Processes) != 1 {
		t.Errorf("%+v", trees)
	}
}

// TestNamespaces starts a tracer where process numbers mean other processes. It must not
// take ours for dead.
func TestNamespaces(t *testing.T) {
	if out, err := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").CombinedOutput(); err != nil {
		t.Skipf("no namespaces here: %v %s", err, out)
	}
	dir := t.TempDir()
	tr := New([]string{"outside"}, Options{Dir: dir})
	defer tr.Close()
	tr.Created(0, os.Getpid())
	for _, flags := range [][]string{{"--pid", "--fork", "--mount-proc"}, {"--pid", "--fork"}} {
		c := helper("life", dir, "0")
		c.Path, c.Args = "/usr/bin/unshare", append(append([]string{"unshare"}, flags...), os.Args[0])
		c.Stderr = nil
		// Without a /proc of its own it has no database, which the helper takes for a failure.
		if err := c.Run(); (err == nil) != (len(flags) == 3) {
			t.Errorf("%v: %v", flags, err)
		}
		if got := mustList(t, dir); len(got) != 1 || got[0].Command != "outside" || len(got[0].Processes) != 1 {
			t.Errorf("%v: %+v", flags, got)
		}
	}
	if len(files(t, dir)) != 1 {
		t.Errorf("%v", files(t, dir))
	}
}
