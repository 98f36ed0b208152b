package acceptance

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSignalAtStart sends a program the signal that ends it as early as its process is there: in the launcher's
// stage, within its execve, while memory of ours is mapped into it. It ends each time.
func TestSignalAtStart(t *testing.T) {
	for n := range 25 {
		cmd := exec.Command(alleria(), "-q", "record", "--only", "translate", "--", find("sleep"), "20")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		child := 0
		for end := time.Now().Add(10 * time.Second); child == 0 && time.Now().Before(end); {
			child = firstChild(cmd.Process.Pid)
		}
		if child == 0 {
			t.Fatal("no child was started")
		}
		time.Sleep(time.Duration(n) * 300 * time.Microsecond)
		began := time.Now()
		if err := syscall.Kill(child, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		var exit *exec.ExitError
		if took := time.Since(began); !errors.As(err, &exit) || exit.ExitCode() != 143 || took > 15*time.Second {
			t.Errorf("signalled %d µs after its process was there: %v after %v, want status 143", 300*n, err, took)
		}
	}
}

// firstChild is a child of a process, 0 if it has none.
func firstChild(pid int) int {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, l := range lists {
		text, _ := os.ReadFile(l)
		for _, f := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(f); err == nil {
				return n
			}
		}
	}
	return 0
}
