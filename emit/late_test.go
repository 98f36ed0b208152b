package emit

import (
	"errors"
	"fmt"
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
			said := gapOf(t, filepath.Join(dir, "p1"), filepath.Join(dir, "p1", "2.abp"))
			switch when {
			case "never":
				if said != "" {
					t.Errorf("verify says %q", said)
				}
			case "end":
				if want := fmt.Sprintf("is missing: the disk has refused some of what it had taken before, nobody knows which part; the file is 2.abp.damaged now. Of it 10 frames can be read, of thread 2, "+
					"from 0.000000 to 0.000010 s, with %d instructions, which are lost", lost.Instructions); said != want {
					t.Errorf("verify says %q, want %q", said, want)
				}
				damageFourth(t, filepath.Join(dir, "p1", "2.abp.damaged"))
				if said = gapOf(t, filepath.Join(dir, "p1"), filepath.Join(dir, "p1", "2.abp")); !strings.Contains(said, "Of it 9 frames can be read") || !strings.Contains(said, "the first damage lies at byte ") || !strings.Contains(said, "behind 0.000003 s") {
					t.Errorf("of a file with a frame that cannot be read verify says %q", said)
				}
				if err := os.WriteFile(filepath.Join(dir, "p1", "2.abp.damaged"), []byte("nothing"), 0o644); err != nil {
					t.Fatal(err)
				}
				if said = gapOf(t, filepath.Join(dir, "p1"), filepath.Join(dir, "p1", "2.abp")); !strings.HasSuffix(said, "nothing of it can be read") {
					t.Errorf("of a file that is none verify says %q", said)
				}
			case "while":
				if !strings.Contains(said, "frames can be read, of thread 2, ") {
					t.Errorf("verify says %q", said)
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

// gapOf is what verify says of a file, and that the rest can be read.
func gapOf(t *testing.T, dir, path string) (text string) {
	t.Helper()
	err := abp.Verify(dir, func(p abp.Problem) {
		if p.Path == path {
			text = p.Text
		}
	})
	if err != nil {
		t.Error(err)
	}
	p, err := abp.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Counts().Instructions == 0 {
		t.Error("nothing can be read")
	}
	return text
}

// damageFourth changes a byte of a file's fourth frame.
func damageFourth(t *testing.T, path string) {
	t.Helper()
	f, err := abp.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	frame := f.Frames()[3]
	at := f.Sections()[frame.Section].End() - 1
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[at] ^= 1
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
