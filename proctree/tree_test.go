package proctree

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// warned collects what a tree tells.
type warned []error

func (w *warned) add(err error) { *w = append(*w, err) }

// files lists what lies in a folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func mustList(t *testing.T, dir string) []LiveTree {
	t.Helper()
	trees, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	return trees
}

// TestFigure3 numbers the three trees of the paper's figure 3.
func TestFigure3(t *testing.T) {
	all := New([]string{"all"}, Options{Dir: t.TempDir()})
	defer all.Close()
	if all.Created(0, 100) != 1 || all.Created(1, 101) != 2 || all.Created(1, 102) != 3 || all.Created(2, 103) != 4 {
		t.Errorf("all processes: %+v", all.Processes())
	}
	// P2 is not profiled: it has its number, and its children have none and leave the counter alone.
	middle := New([]string{"middle"}, Options{Dir: t.TempDir()})
	defer middle.Close()
	middle.Created(0, 200)
	if n := middle.Created(1, 201); n != 2 {
		t.Errorf("P2: %d", n)
	}
	middle.SetState(2, Detached)
	if n := middle.Created(2, 202); n != 0 {
		t.Errorf("a child of P2: %d", n)
	}
	if n := middle.Created(1, 203); n != 3 {
		t.Errorf("P3: %d", n)
	}
	if p, ok := middle.Process(3); !ok || p.Depth != 1 || p.PID != 203 || len(middle.Processes()) != 3 {
		t.Errorf("%+v", middle.Processes())
	}
}

// TestTree follows a process through its life.
func TestTree(t *testing.T) {
	dir := t.TempDir()
	var w warned
	tr := New([]string{"make", "-j4"}, Options{Dir: dir, Warn: w.add})
	if n := tr.Created(0, os.Getpid()); n != 1 {
		t.Fatalf("the first process is number %d", n)
	}
	if tr.Created(0, 1) != 0 || tr.Created(7, 1) != 0 {
		t.Error("a second first process, or the child of none")
	}
	tr.Executed(1, "/usr/bin/make", []string{"make", "-j4"})
	if n := tr.Created(1, 77); n != 2 {
		t.Fatalf("the second is %d", n)
	}
	tr.SetState(2, WindowOpen)
	tr.SetCounts(2, 1000, 20)
	trees := mustList(t, dir)
	if len(trees) != 1 || trees[0].Command != "make -j4" || trees[0].Tracer != os.Getpid() || trees[0].Counter != 2 {
		t.Fatalf("%+v", trees)
	}
	got := trees[0].Processes
	if len(got) != 2 || got[0].Program != "/usr/bin/make" || got[0].Generation != 1 || got[0].Parent != 0 ||
		got[1].PID != 77 || got[1].Parent != 1 || got[1].Generation != 0 || got[1].Program != "/usr/bin/make" ||
		got[1].State != WindowOpen || got[1].Instructions != 1000 || got[1].Recorded != 20 {
		t.Errorf("%+v", got)
	}
	tr.Executed(2, "/usr/libexec/cc1", []string{"cc1", "a.c"})
	tr.Ended(2, -9, Usage{MaxRSS: 4096})
	tr.Ended(2, 0, Usage{})
	if got := mustList(t, dir)[0].Processes; len(got) != 1 {
		t.Errorf("a dead process is listed: %+v", got)
	}
	p := tr.Processes()[1]
	if p.Status != -9 || p.Usage.MaxRSS != 4096 || p.Generation() != 1 || p.Args[1] != "a.c" || p.Ended.Before(p.Started) {
		t.Errorf("%+v", p)
	}
	tr.Created(2, 78)
	if a := tr.Ancestors(3); !slices.Equal(a, []int{2, 1}) {
		t.Errorf("ancestors of 3: %v", a)
	}
	tr.Close()
	tr.Close()
	if len(w) != 0 || len(files(t, dir)) != 0 || len(mustList(t, dir)) != 0 {
		t.Errorf("%v, left: %v", w, files(t, dir))
	}
	if tr.Created(1, 79) != 4 || len(tr.Processes()) != 4 {
		t.Error("a closed tree does not number")
	}
}

// TestListedMeanwhile has a tree go on, or end, while it is listed: its counter is never below the number of a process that is listed.
func TestListedMeanwhile(t *testing.T) {
	for name, then := range map[string]func(*Tree){
		"goes on": func(tr *Tree) { tr.Created(1, os.Getppid()) },
		"ends":    (*Tree).Close,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tr := New([]string{"sh"}, Options{Dir: dir})
			defer tr.Close()
			tr.Created(0, os.Getpid())
			other := New([]string{"sh"}, Options{Dir: dir})
			defer other.Close()
			other.Created(0, os.Getpid())
			trees, err := list(dir, func(point string) {
				if point == "trees read" {
					then(tr)
				}
			})
			if err != nil || len(trees) != 2 {
				t.Fatalf("%+v, %v", trees, err)
			}
			for _, tree := range trees {
				for _, p := range tree.Processes {
					if p.Number > tree.Counter {
						t.Errorf("process %d of a tree whose last number is %d", p.Number, tree.Counter)
					}
				}
			}
		})
	}
}

// TestDetached has processes that nobody tells the end of.
func TestDetached(t *testing.T) {
	dir := t.TempDir()
	tr := New([]string{"sh"}, Options{Dir: dir})
	defer tr.Close()
	tr.Created(0, os.Getpid())
	sleeper := exec.Command("sleep", "100")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	n := tr.Created(1, sleeper.Process.Pid)
	tr.SetState(n, Detached)
	tr.SetState(n, WindowOpen) // no way back
	tr.Executed(n, "/bin/other", nil)
	if got := mustList(t, dir)[0].Processes; len(got) != 2 || got[1].State != Detached || got[1].Program != "" {
		t.Errorf("%+v", got)
	}
	if err := sleeper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = sleeper.Wait()
	if got := mustList(t, dir)[0].Processes; len(got) != 1 {
		t.Errorf("it has ended: %+v", got)
	}
	// Ten thousand that are detached and end do not fill the database.
	for range 10_000 {
		n := tr.Created(1, sleeper.Process.Pid)
		i := tr.slots[n]
		tr.region.process(i).start.Store(1) // as if it had lived when it was detached
		tr.detached++
		tr.process(n).State = Detached
		tr.region.process(i).state.Store(uint32(Detached))
	}
	if b := tr.region.backed(); b > 128 {
		t.Errorf("%d slots are backed by memory", b)
	}
	if n := tr.Created(1, 5); n != 10_003 || tr.slots[n] == 0 {
		t.Errorf("number %d in slot %d", n, tr.slots[n])
	}
}

// TestMany has more processes than slots: the rest is not shown, and all are numbered.
func TestMany(t *testing.T) {
	dir := t.TempDir()
	var w warned
	tr := New([]string{"many"}, Options{Dir: dir, Warn: w.add})
	defer tr.Close()
	tr.Created(0, 1)
	for i := 2; i <= processSlots+100; i++ {
		if n := tr.Created(1, i); n != i {
			t.Fatalf("process %d got number %d", i, n)
		}
	}
	if got := mustList(t, dir)[0]; len(got.Processes) != processSlots || got.Counter != processSlots+100 {
		t.Errorf("%d processes, counter %d", len(got.Processes), got.Counter)
	}
	if len(w) != 1 {
		t.Errorf("warnings: %v", w)
	}
	tr.Ended(5, 0, Usage{})
	n := tr.Created(1, 9)
	if got := mustList(t, dir)[0].Processes; !slices.ContainsFunc(got, func(p LiveProcess) bool { return p.Number == n }) {
		t.Error("a slot that became free is not used")
	}
}

// TestWithout runs where the database cannot be had. The numbers are the same.
func TestWithout(t *testing.T) {
	place := func(t *testing.T, dir string) string {
		t.Helper()
		path, err := regionPath(dir)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	for what, prepare := range map[string]func(t *testing.T, dir string) string{
		"no folder": func(_ *testing.T, dir string) string { return filepath.Join(dir, "none") },
		"a link in its place": func(t *testing.T, dir string) string {
			if err := os.Symlink("/etc/passwd", place(t, dir)); err != nil {
				t.Fatal(err)
			}
			return dir
		},
		"a file that others may read": func(t *testing.T, dir string) string {
			if err := os.WriteFile(place(t, dir), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			return dir
		},
		"a file with two names": func(t *testing.T, dir string) string {
			if err := os.WriteFile(place(t, dir), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Link(place(t, dir), filepath.Join(dir, "other")); err != nil {
				t.Fatal(err)
			}
			return dir
		},
		"somebody else's file": func(t *testing.T, dir string) string {
			if err := os.WriteFile(place(t, dir), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(place(t, dir), 12345, 12345); err != nil {
				t.Skip("needs root:", err)
			}
			return dir
		},
		"a pipe": func(t *testing.T, dir string) string {
			if err := syscall.Mkfifo(place(t, dir), 0o600); err != nil {
				t.Fatal(err)
			}
			return dir
		},
		"a full file system": func(t *testing.T, dir string) string {
			if err := syscall.Mount("none", dir, "tmpfs", 0, "size=32k"); err != nil {
				t.Skip("needs root:", err)
			}
			t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
			return dir
		},
	} {
		t.Run(strings.ReplaceAll(what, " ", "-"), func(t *testing.T) {
			dir := prepare(t, t.TempDir())
			before := files(t, dir)
			var w warned
			tr := New([]string{"x"}, Options{Dir: dir, Warn: w.add})
			if tr.Created(0, 1) != 1 || tr.Created(1, 2) != 2 {
				t.Error("numbers differ")
			}
			tr.Executed(2, "/bin/x", nil)
			tr.SetState(2, WindowOpen)
			tr.SetCounts(2, 1, 1)
			tr.Ended(2, 0, Usage{})
			tr.Close()
			if len(w) != 1 || len(tr.Processes()) != 2 {
				t.Errorf("%d processes, warnings: %v", len(tr.Processes()), w)
			}
			// What we made for nothing is gone, what was there stays.
			if after := files(t, dir); !slices.Equal(before, after) {
				t.Errorf("%v became %v", before, after)
			}
		})
	}
}

// TestRoomRunsOut has the file system fill up while the tree grows.
func TestRoomRunsOut(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=128k"); err != nil {
		t.Skip("needs root:", err)
	}
	defer func() { _ = syscall.Unmount(dir, 0) }()
	var w warned
	tr := New([]string{"x"}, Options{Dir: dir, Warn: w.add})
	tr.Created(0, 1)
	for i := 2; i < 500; i++ {
		if tr.Created(1, i) != i {
			t.Fatal("numbers differ")
		}
	}
	got := mustList(t, dir)[0].Processes
	if len(w) != 1 || len(got) < slotsAtATime || len(got) > 200 {
		t.Errorf("%d processes are shown, warnings: %v", len(got), w)
	}
	tr.Close()
	if len(files(t, dir)) != 0 {
		t.Errorf("left: %v", files(t, dir))
	}
}

// TestFileDisappears removes the file under a tracer: it goes on, and the next makes a new one.
func TestFileDisappears(t *testing.T) {
	dir := t.TempDir()
	var w warned
	first := New([]string{"first"}, Options{Dir: dir, Warn: w.add})
	if err := os.Remove(files(t, dir)[0]); err != nil {
		t.Fatal(err)
	}
	if first.Created(0, 1) != 1 || len(mustList(t, dir)) != 0 {
		t.Error("without its file")
	}
	second := New([]string{"second"}, Options{Dir: dir, Warn: w.add})
	second.Created(0, 1)
	first.Close()
	if got := mustList(t, dir); len(got) != 1 || got[0].Command != "second" || len(got[0].Processes) != 1 {
		t.Errorf("%+v", got)
	}
	second.Close()
	if len(w) != 0 || len(files(t, dir)) != 0 {
		t.Errorf("%v, left: %v", w, files(t, dir))
	}
}

// TestFileShortened empties the file under a tracer, whose next touch is a fault.
func TestFileShortened(t *testing.T) {
	dir := t.TempDir()
	var w warned
	tr := New([]string{"x"}, Options{Dir: dir, Warn: w.add})
	tr.Created(0, 1)
	if err := os.Truncate(files(t, dir)[0], 0); err != nil {
		t.Fatal(err)
	}
	for i := 2; i < 100; i++ {
		if tr.Created(1, i) != i {
			t.Fatal("numbers differ")
		}
	}
	tr.SetCounts(5, 1, 1)
	other := New([]string{"y"}, Options{Dir: dir, Warn: w.add})
	other.Created(0, 1)
	if got := mustList(t, dir); len(got) != 1 || got[0].Command != "y" {
		t.Errorf("%+v", got)
	}
	tr.Ended(5, 0, Usage{})
	tr.Close()
	other.Close()
	if len(w) != 1 || len(files(t, dir)) != 0 {
		t.Errorf("%v, left: %v", w, files(t, dir))
	}
}

// TestHeldLock has somebody stopped who holds the lock: New gives up waiting and numbers go on.
func TestHeldLock(t *testing.T) {
	dir := t.TempDir()
	r, err := openRegion(dir, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	var w warned
	tr := New([]string{"x"}, Options{Dir: dir, Warn: w.add})
	if tr.Created(0, 1) != 1 || len(w) != 1 {
		t.Errorf("%v", w)
	}
	tr.Close()
	r.unlock()
	r.leave()
	if len(files(t, dir)) != 0 {
		t.Errorf("left: %v", files(t, dir))
	}
}

// BenchmarkProcess is a process's whole life: created, executing, counted, ended.
func BenchmarkProcess(b *testing.B) {
	tr := New([]string{"bench"}, Options{Dir: b.TempDir()})
	defer tr.Close()
	tr.Created(0, 1)
	args := []string{"cc1"}
	for b.Loop() {
		n := tr.Created(1, 2)
		tr.Executed(n, "/usr/libexec/gcc/x86_64-linux-gnu/14/cc1", args)
		tr.SetState(n, WindowOpen)
		tr.SetCounts(n, 1, 1)
		tr.Ended(n, 0, Usage{})
	}
}

// BenchmarkSetCounts is what a tracer does over and over.
func BenchmarkSetCounts(b *testing.B) {
	tr := New([]string{"bench"}, Options{Dir: b.TempDir()})
	defer tr.Close()
	tr.Created(0, 1)
	for b.Loop() {
		tr.SetCounts(1, 1, 1)
	}
}
