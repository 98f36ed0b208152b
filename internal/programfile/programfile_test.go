package programfile

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// TestWrite executes programs that have just been written, while other goroutines begin others all the time.
func TestWrite(t *testing.T) {
	if _, err := exec.LookPath("true"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := []byte("#!/bin/sh\nexit 7\n")
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for range 40 {
				path := filepath.Join(dir, string(rune('a'+n)))
				if err := Write(path, script, 0o700); err != nil {
					t.Error(err)
					return
				}
				var exit *exec.ExitError
				if err := exec.Command(path).Run(); errors.Is(err, syscall.ETXTBSY) || !errors.As(err, &exit) || exit.ExitCode() != 7 {
					t.Errorf("%s ends with %v", path, err)
					return
				}
				if err := os.Remove(path); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
