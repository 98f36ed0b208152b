package sys

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestStopSignals: a child that stops sends no signal once the waiting thread was started, and its end does; with them asked for, a stop does too.
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
	select {
	case <-got:
		if !all {
			t.Error("a stop was signalled")
		}
	case <-time.After(100 * time.Millisecond): // the signal comes before the state can be read; this is for Go's way of it
		if all {
			t.Error("no stop was signalled")
		}
	}
	if err := unix.Kill(p.Pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-got:
	case <-time.After(10 * time.Second):
		t.Error("the end was not signalled")
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
}
