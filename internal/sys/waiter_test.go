package sys

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestStopSignals: a child that stops, or ends, sends no signal once the waiting thread was started; with them asked for both do, and behind Close again whatever was asked for.
//
// It is done in a process of its own, whose handlers stay as they are then.
func TestStopSignals(t *testing.T) {
	const name = "TEST_STOP_SIGNALS"
	if how := os.Getenv(name); how != "" {
		stopAndEnd(t, how == "all")
		return
	}
	for _, how := range []string{"quiet", "all"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestStopSignals$")
		cmd.Env = append(os.Environ(), name+"="+how)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", how, err, out)
		}
	}
}

// stopAndEnd stops a child and ends it; all: stops are signalled.
func stopAndEnd(t *testing.T, all bool) {
	got := make(chan os.Signal, 8)
	signal.Notify(got, unix.SIGCHLD)
	p, err := os.StartProcess("/bin/sleep", []string{"sleep", "60"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := StartWaiter(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(p.Pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		text, err := readProc(fmt.Sprintf("/proc/%d/stat", p.Pid))
		if err != nil || n > 5000 {
			t.Fatal("the child does not stop", err)
		}
		if strings.Contains(string(text), ") T ") {
			break
		}
		time.Sleep(time.Millisecond)
	}
	signalled(t, got, "a stop", all)
	if err := unix.Kill(p.Pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for {
		if s, ok := w.Next(); ok {
			if s.TID != p.Pid || !s.Status.Signaled() {
				t.Errorf("reported: %+v", s)
			}
			break
		}
		w.Wait(time.Second)
	}
	signalled(t, got, "an end", all)
	w.Close()
	if _, err = os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{}); err != nil {
		t.Fatal(err)
	}
	signalled(t, got, "an end behind the run", true)
}

// signalled tells whether a signal has come, or does.
func signalled(t *testing.T, got chan os.Signal, of string, want bool) {
	t.Helper()
	patience := 100 * time.Millisecond
	if want {
		patience = 10 * time.Second
	}
	select {
	case <-got:
		if !want {
			t.Errorf("%s was signalled", of)
		}
	case <-time.After(patience):
		if want {
			t.Errorf("%s was not signalled", of)
		}
	}
}

// TestWaitHere has children end while the thread waits that was started for it, and while the calling one does: each end is reported once, the calling thread does not wait long in vain, and
// behind the last end everything is over. It is done in a process of its own.
func TestWaitHere(t *testing.T) {
	const name = "TEST_WAIT_HERE"
	if os.Getenv(name) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestWaitHere$")
		cmd.Env = append(os.Environ(), name+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	runtime.LockOSThread()
	var children []*os.Process
	for range 5 {
		p, err := os.StartProcess("/bin/sleep", []string{"sleep", "60"}, &os.ProcAttr{})
		if err != nil {
			t.Fatal(err)
		}
		children = append(children, p)
	}
	w, err := StartWaiter(false)
	if err != nil {
		t.Fatal(err)
	}
	end := func() (pid int) {
		pid = children[0].Pid
		children = children[1:]
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		return pid
	}
	taken := func(pid int) {
		t.Helper()
		if s, ok := w.Next(); !ok || s.TID != pid || !s.Status.Signaled() || s.Usage == nil {
			t.Fatalf("reported: %+v, want the end of %d", s, pid)
		}
	}
	// there waits while the started thread does, and here until the calling one has something.
	there := func() {
		t.Helper()
		for n := 0; !w.Pending(); n++ {
			if n > 10000 {
				t.Fatal("nothing is reported")
			}
			time.Sleep(time.Millisecond)
		}
	}
	here := func() {
		t.Helper()
		for !w.Pending() {
			if !w.WaitHere() {
				t.Fatal("it is not waited for here")
			}
		}
	}
	if w.WaitHere() {
		t.Error("it is waited for here while another thread does")
	}
	pid := end()
	there()
	taken(pid)
	pid = end() // the thread waits for nothing any more
	here()
	taken(pid)
	since := time.Now()
	for w.WaitHere() {
	}
	if d := time.Since(since); d > 10*time.Second {
		t.Errorf("nothing was waited for for %v", d)
	}
	pid = end()
	there()
	taken(pid)
	w.WaitHere() // asks for it again
	pid = end()
	there()
	taken(pid)
	w.WaitHere()
	w.WaitThere()
	pid = end()
	there()
	taken(pid)
	for !w.Over() {
		w.Wait(time.Second)
	}
	w.Close()
}
