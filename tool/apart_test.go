package tool

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

var every = flag.Bool("every", false, "run every test a second time in a process apart")

// misbehaviour is the variable that has the test binary be a tool which does what no tool should.
const misbehaviour = "ALLERIA_TOOL_TEST"

// TestMain is a tool's main as well.
func TestMain(m *testing.M) {
	if os.Getenv(inProcessVariable) == "apart" && tracer == nil {
		fmt.Fprintln(os.Stderr, "this is to be apart, and is not")
		os.Exit(1)
	}
	if how := os.Getenv(misbehaviour); how != "" {
		misbehave(how)
	}
	os.Exit(m.Run())
}

// misbehave is a tool.
func misbehave(how string) {
	_ = os.Unsetenv(misbehaviour)
	y := New("bad")
	type ref struct {
		Addr     uint64
		Function uint32
	}
	y.Limit = 300 * time.Millisecond
	shared := map[int]int{}
	n := 0
	k := Define(y, Buffer[ref]{Records: 100, Full: func(b *Batch[ref]) []ref {
		n++
		switch {
		case n != 3:
		case how == "exit":
			os.Exit(3)
		case how == "exit 0":
			os.Exit(0)
		case how == "panic":
			go func() { panic("it is wrong") }()
			time.Sleep(time.Minute)
		case how == "nil":
			go func() { var p *int; *p = 1 }()
			time.Sleep(time.Minute)
		case how == "kill":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(time.Minute)
		case how == "maps":
			for range 4 {
				go func() {
					for i := 0; ; i++ {
						shared[i%8]++
					}
				}()
			}
			time.Sleep(time.Minute)
		case how == "hang":
			select {}
		case how == "stop":
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		}
		return b.Records
	}})
	k.Fill(Accesses("anyMem"), Fields{"Addr": Address(), "Function": Function()})
	y.Done = func(w io.Writer) {
		fmt.Fprintf(w, "done\n")
		if how == "done" {
			os.Exit(5)
		}
	}
	y.Main()
}

// apart is a run of this binary, in whose main the user's process is.
func apart(t *testing.T, env []string, args ...string) (stdout, stderr string, status syscall.WaitStatus) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, args...)
	c.Env = append(append(os.Environ(), inProcessVariable+"=apart"), env...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	_ = c.Run()
	return out.String(), errs.String(), c.ProcessState.Sys().(syscall.WaitStatus)
}

// TestApart: everything is as it is in one process.
func TestApart(t *testing.T) {
	if tracer != nil {
		t.Skip("this is it")
	}
	skipped := "-test.skip=^TestApart$|^TestUsersEnd"
	if !*every {
		skipped += "|^TestPlansEqualGeneral" // of what fills buffers, which knows nothing of processes; it takes most of the time
	}
	out, errs, status := apart(t, nil, "-test.run=.", skipped, "-test.v")
	if status != 0 || strings.Count(out, "--- PASS: Test") < 9 || strings.Contains(out, "--- SKIP: TestConditions") {
		t.Errorf("status %#x: %s%s", status, out, errs)
	}
}

// TestUsersEnd: whatever ends the user's process, the program's output and status are its own, and the tool is named with why, and where as far as that is known.
func TestUsersEnd(t *testing.T) {
	if tracer != nil {
		t.Skip("that is done by what is not apart")
	}
	prog := fixture(t, "tools/sizes.c", "-pthread")
	loop := "i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done; " + prog + "; exit $?"
	for how, want := range map[string]struct {
		text string
		not  string
	}{
		"exit":   {"the process of its callbacks ended: exit status 3; buffers were with the callback of ref at apart_test.go:", "done"},
		"exit 0": {"the process of its callbacks ended: exit status 0; buffers were with the callback of ref at apart_test.go:", "done"},
		"panic":  {"the process of its callbacks ended: panic: it is wrong, at apart_test.go:", "done"},
		"nil":    {"the process of its callbacks ended: panic: runtime error: invalid memory address or nil pointer dereference, at apart_test.go:", "done"},
		"kill":   {"the process of its callbacks ended: signal: killed; buffers were with the callback of ref at apart_test.go:", "done"},
		"maps":   {"the process of its callbacks ended: a fatal error of Go's runtime, which has said which, at apart_test.go:", "done"},
		"stop":   {"the process of its callbacks does not answer; buffers were with the callback of ref at apart_test.go:", "done"},
		"hang":   {"has been at one buffer for more than 300ms, at apart_test.go:", ""},
	} {
		out, errs, status := apart(t, []string{misbehaviour + "=" + how}, "sh", "-c", loop)
		if out != "0\n1\n2\n" || status.ExitStatus() != 7 {
			t.Errorf("%s: status %#x, output %q: %s", how, status, out, errs)
		}
		if !strings.Contains(errs, want.text) || !strings.Contains(errs, "bad: the recording is incomplete: analysis bad of process ") || want.not != "" && strings.Contains(errs, want.not+"\n") {
			t.Errorf("%s: %q, want %q", how, errs, want.text)
		}
		t.Logf("%s: %s", how, errs[strings.LastIndex(strings.TrimSpace(errs), "\n")+1:])
	}
	// Of a program whose own status is 0 the command's is 125.
	if out, errs, status := apart(t, []string{misbehaviour + "=exit"}, "sh", "-c", "echo 1; "+prog+"; echo 2"); out != "1\n2\n" || status.ExitStatus() != statusOwn {
		t.Errorf("status %#x, output %q: %s", status, out, errs)
	}
	// Behind the program's end the status is the user's.
	if out, errs, status := apart(t, []string{misbehaviour + "=done"}, "sh", "-c", "echo 1"); out != "1\n" || status.ExitStatus() != 5 || errs != "done\n" {
		t.Errorf("status %#x, output %q: %s", status, out, errs)
	}
	// Nothing is wrong.
	if out, errs, status := apart(t, []string{misbehaviour + "=nothing"}, "sh", "-c", "echo 1; kill -9 $$"); out != "1\n" || status.ExitStatus() != 137 || errs != "done\n" {
		t.Errorf("status %#x, output %q: %s", status, out, errs)
	}
}
