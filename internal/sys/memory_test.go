package sys

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// TestMemoryOfWhatIsGone: what is asked of the memory of a process that has ended, or executes another program, fails as what is asked of its threads does; where
// nothing is mapped it does not.
func TestMemoryOfWhatIsGone(t *testing.T) {
	for _, way := range []string{"killed", "executes"} {
		t.Run(way, func(t *testing.T) {
			c := exec.Command("/bin/sh", "-c", "read line; exec sleep 100")
			in, err := c.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Wait() }()
			defer c.Process.Kill()
			f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", c.Process.Pid), os.O_RDWR, 0)
			if err != nil {
				t.Skip(err)
			}
			defer f.Close()
			mem := &ProcessMemory{File: f}
			maps, err := Maps(c.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			b, at := make([]byte, 1), int64(maps[0].Start)
			if _, err := mem.ReadAt(b, at); err != nil {
				t.Fatal(err)
			}
			if _, err := mem.ReadAt(b, 4096); err == nil || Gone(err) {
				t.Errorf("where nothing is mapped: %v", err)
			}
			if way == "killed" {
				_ = c.Process.Kill()
			} else {
				_ = in.Close()
			}
			for end := time.Now().Add(10 * time.Second); err == nil && time.Now().Before(end); {
				_, err = mem.ReadAt(b, at)
			}
			_, werr := mem.WriteAt(b, at)
			if !Gone(err) || !Gone(werr) {
				t.Errorf("read: %v; written: %v", err, werr)
			}
		})
	}
}

// TestWritten: which pages were written is remembered, up to some.
func TestWritten(t *testing.T) {
	f, err := Memfd("written", 100*PageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mem := &ProcessMemory{File: f}
	write := func(at int64, n int) {
		if _, err := mem.WriteAt(make([]byte, n), at); err != nil {
			t.Fatal(err)
		}
	}
	write(PageSize+7, 1)
	write(PageSize+9, 1)
	write(4*PageSize-1, 2)
	if pages, all := mem.Written(); all || !slices.Equal(pages, []uint64{PageSize, 3 * PageSize, 4 * PageSize}) {
		t.Errorf("%#x, all %t", pages, all)
	}
	if pages, all := mem.Written(); len(pages) > 0 || all {
		t.Errorf("then %#x, all %t", pages, all)
	}
	write(0, 90*PageSize)
	if _, all := mem.Written(); !all {
		t.Error("ninety pages are told")
	}
}
