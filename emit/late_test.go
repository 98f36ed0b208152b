package emit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"alleria/abp"
)

// TestLateErrors has a disk refuse what it has taken, while frames are written and when the file is finished: of two streams the other one's records stay, and what
// is written and what is lost are all there was.
func TestLateErrors(t *testing.T) {
	for _, when := range []string{"while", "end", "never"} {
		t.Run(when, func(t *testing.T) {
			prog, dir := newProgram(7, 30), filepath.Join(t.TempDir(), "run")
			run, err := NewRun(Options{Dirs: []string{dir}, Sync: true}, abp.Run{Tool: "test"})
			if err != nil {
				t.Fatal(err)
			}
			p, err := run.NewProcess(abp.Header{Process: 1, TSCFrequency: 1e9}, prog.blocks)
			if err != nil {
				t.Fatal(err)
			}
			for i := range uint32(4) {
				p.AddFunction(abp.Function{Number: i, Name: "f", Addr: 0x400000})
				p.AddImage(abp.Image{Number: i, Path: "/lib/x"})
			}
			streams := []*Stream{p.StreamOf(0), p.StreamOf(1)}
			in := []*interpreter{{p: prog}, {p: prog}}
			refused := 0
			feed := func(k int, n uint64) error {
				var words []uint64
				for range 40 {
					words = prog.item(words)
				}
				in[k].chunk(words)
				return errors.Join(streams[k].ConsumeAt(k+1, Place{Chunk: n}, Place{Chunk: n + 1}, words, n*1000, n*1000+900), streams[k].CloseThread(k+1))
			}
			for n := range uint64(10) {
				for k := range streams {
					err := feed(k, n)
					if bad := (*OutputError)(nil); errors.As(err, &bad) {
						refused++
					} else if err != nil {
						t.Fatal(err)
					}
				}
				out := streams[1].out
				switch {
				case when == "while" && n == 4:
					out.looked = -lookEvery // so much was written since
					fallthrough
				case when == "end" && n == 9:
					out.back = func(bool) error { return syscall.EIO }
				}
			}
			all, _ := p.Counts()
			wrote := streams[1].counts
			err = p.Close(abp.EndInfo{})
			got, _ := p.Counts()
			lost := p.Lost()
			for name, there := range map[string]bool{"1.abp": true, "2.abp": when == "never", "2.abp.damaged": when != "never"} {
				if _, err := os.Stat(filepath.Join(dir, "p1", name)); (err == nil) != there {
					t.Errorf("%s: %v", name, err)
				}
			}
			switch when {
			case "never":
				if err != nil || refused > 0 || lost.Instructions > 0 || got != all {
					t.Errorf("%v, %d refused, %+v lost", err, refused, lost)
				}
			case "end":
				if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "is lost as well") || refused > 0 {
					t.Errorf("%v, %d refused", err, refused)
				}
				if lost.Frames != 10 || lost.Instructions != wrote.Instructions || got.Instructions+lost.Instructions != all.Instructions {
					t.Errorf("%+v lost, %d left of %d", lost, got.Instructions, all.Instructions)
				}
			case "while":
				if err != nil || refused != 1 || lost.Frames != 10 || got != streams[0].counts {
					t.Errorf("%v, %d refused, %+v lost, %d left, %d in the other stream", err, refused, lost, got.Instructions, streams[0].counts.Instructions)
				}
			}
		})
	}
}
