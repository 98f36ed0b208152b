package sys

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"alleria/internal/programfile"

	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	const tail = " 1 2 3 0 -1 4194304 10 0 0 0 1 2 0 0 20 0 1 0 4711 1000 100"
	for _, c := range []struct {
		text  string
		start uint64
		ended bool
		good  bool
	}{
		{"12 (a) S" + tail, 4711, false, true},
		{"12 (a) b (c) Z" + tail, 4711, true, true},
		{"12 (a\nb) R" + tail, 4711, false, true},
		{"12 (a) S 1 2", 0, false, false},
		{"", 0, false, false},
		{")", 0, false, false},
	} {
		start, ended, err := parseStat([]byte(c.text))
		if start != c.start || ended != c.ended || (err == nil) != c.good {
			t.Errorf("%q: %d %v %v", c.text, start, ended, err)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (a) b) S 1 2 3 0 -1 4194304 10 0 0 0 1 2 0 0 20 0 1 0 4711 1000 100"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if start, _, err := parseStat(text); err != nil && start != 0 {
			t.Errorf("a value and an error: %d, %v", start, err)
		}
	})
}

// TestAlive has a process live, be dead and unasked for, and be gone.
func TestAlive(t *testing.T) {
	if start, _, err := StartTime(os.Getpid()); err != nil || !Alive(os.Getpid(), start) || Alive(os.Getpid(), start+1) {
		t.Errorf("this process: %d %v", start, err)
	}
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	start, ended, err := StartTime(c.Process.Pid)
	if err != nil || ended {
		t.Fatal(ended, err)
	}
	in.Close()
	for ended = false; !ended && err == nil; {
		_, ended, err = StartTime(c.Process.Pid)
	}
	if err != nil || Alive(c.Process.Pid, start) {
		t.Errorf("a zombie: %v", err)
	}
	if err := c.Wait(); err != nil || Alive(c.Process.Pid, start) {
		t.Errorf("one that is gone: %v", err)
	}
}

// TestExecName asks for a program behind a link and for a script.
func TestExecName(t *testing.T) {
	dir := t.TempDir()
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	script := dir + "/script"
	if err := programfile.Write(script, []byte("#!"+cat+" -\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(cat, dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{script, dir + "/link", cat} {
		c := exec.Command(name)
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil { // returns when it is being executed, before the kernel has told it anything
			t.Fatal(err)
		}
		got, err := ExecName(c.Process.Pid)
		for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); got, err = ExecName(c.Process.Pid) {
			time.Sleep(time.Millisecond)
		}
		if got != name || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		in.Close()
		_ = c.Wait()
		if got, err := ExecName(c.Process.Pid); got != "" || err == nil {
			t.Errorf("a process that is gone: %q, %v", got, err)
		}
	}
}

// TestLeads: a process's first thread leads it, another one does not, nor does who is not there; its parent is whose child it is.
func TestLeads(t *testing.T) {
	pid := os.Getpid()
	done, tid := make(chan struct{}), make(chan int)
	go func() {
		runtime.LockOSThread()
		tid <- unix.Gettid()
		<-done
	}()
	other := <-tid
	defer close(done)
	if other != pid && Leads(other) {
		t.Error("another thread leads")
	}
	if !Leads(pid) || Leads(1<<22+1) {
		t.Error("the first thread does not, or nobody does")
	}
	if parent, err := Parent(pid); err != nil || parent != os.Getppid() {
		t.Errorf("parent %d instead of %d: %v", parent, os.Getppid(), err)
	}
}

// TestStarted compares what programs' stacks say of how they were started with what they were: with many words and none, a script, an environment that is read in two steps, and one that is too
// large to be read.
func TestStarted(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	script := t.TempDir() + "/script"
	if err := programfile.Write(script, []byte("#!"+cat+" -u\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path        string
		given, want []string
		environment int
		beyond      bool
		loader      []string
	}{
		{path: cat, given: []string{"cat", "", "-u", ""}, want: []string{"cat", "", "-u", ""}},
		{path: cat, given: []string{"cat"}, want: []string{"cat"}, environment: 2 * mostStarts, loader: []string{"LD_A=", "LD_B=c"}},
		{path: cat, given: []string{"cat"}, environment: allStarts, beyond: true},
		{path: script, given: []string{"s", "a"}, want: []string{cat, "-u", script, "a"}},
	} {
		attr := &os.ProcAttr{Sys: &unix.SysProcAttr{Ptrace: true}}
		for n := 0; n < c.environment; n += 1 << 10 {
			attr.Env = append(attr.Env, "V="+strings.Repeat("x", 1<<10))
		}
		if len(attr.Env) > 0 || c.loader != nil {
			attr.Env = append(attr.Env, c.loader...)
			attr.Env = append(attr.Env, "OLD_A=b")
		}
		p, err := os.StartProcess(c.path, c.given, attr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := unix.Wait4(p.Pid, nil, unix.WALL, nil); err != nil {
			t.Fatal(err)
		}
		s, err := Started(p.Pid)
		if c.beyond {
			if err == nil {
				t.Error("a stack of which a part was read tells all")
			}
		} else if err != nil || s.Name != c.path || !slices.Equal(s.Words, c.want) || !slices.Equal(s.Loader, c.loader) {
			t.Errorf("%s %q: %+v, %v", c.path, c.given, s, err)
		}
		if at := StackStart(p.Pid); s.Stack == 0 || at != s.Stack {
			t.Errorf("%s: its stack begins at %#x, the kernel says %#x", c.path, s.Stack, at)
		}
		var head [4]byte // the headers lie behind the file's in its first page
		if n, err := ReadMemory(p.Pid, s.Headers&^4095, head[:]); !c.beyond && (n != 4 || string(head[:]) != "\x7fELF") {
			t.Errorf("%s: no program at %#x: %q, %v", c.path, s.Headers, head[:n], err)
		}
		if other, err := ExecName(p.Pid); other != c.path {
			t.Errorf("%s: %q, %v", c.path, other, err)
		}
		_ = p.Kill()
		_, _ = p.Wait()
	}
	if _, err := Started(os.Getpid()); err == nil {
		t.Error("a process that is not traced is asked")
	}
}

// FuzzParseStart takes any stack apart: it is all there, or nothing is said of it.
func FuzzParseStart(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00\x00\x00\x00\x00\x40\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x1f\x00\x00\x00\x00\x00\x00\x00\x42\x10\x00\x00\x00\x00\x00\x00" + strings.Repeat("\x00", 16) + "a\x00b\x00"))
	f.Fuzz(func(t *testing.T, stack []byte) {
		if s, ok := parseStart(stack, 0x1000); !ok && (s.Name != "" || s.Words != nil || s.Loader != nil) {
			t.Errorf("%+v of a stack that is not whole", s)
		}
	})
}
