package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	"alleria/internal/sys"
)

// launcherName is the argv[0] by which launch.c knows its stage.
// Nobody types such a name by accident: a program called so would hang waiting for
// us.
const launcherName = "alleria: launching"

// ErrNotPermitted means that the kernel does not let us trace: a sandbox, a
// container, or another tracer is there already.
var ErrNotPermitted = errors.New("tracing is not permitted here")

// ExecError says that the target could not be executed.
//
// It is the kernel's own answer to execve of the path, after all checks that can be made
// beforehand have passed.
type ExecError struct {
	Path string // as in Options
	Err  error  // the kernel's
}

// Error names the program and the reason.
func (e *ExecError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap returns the kernel's error.
func (e *ExecError) Unwrap() error { return e.Err }

// launched is a process in its launcher stage.
type launched struct {
	pid      int
	goAhead  *os.File // one byte lets it execute the target
	errnoEnd *os.File // yields an errno if it could not
}

// launch starts the launcher stage. The caller seizes the process before it
// calls proceed.
//
// Descriptors that the stage has are closed in the tracer at once, so that each end of a
// pipe shows when the other is gone.
func launch(o *Options) (*launched, error) {
	gr, gw, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("launcher's pipe: %w", err)
	}
	defer gr.Close()
	er, ew, err := os.Pipe()
	if err != nil {
		gw.Close()
		return nil, fmt.Errorf("launcher's pipe: %w", err)
	}
	pid, err := startLauncher(o, gr, ew)
	ew.Close()
	if err == nil {
		// The process may still be within its execve, which would be reported as
		// the target's to a tracer that attaches now. The launcher says when it
		// is past that.
		_, err = io.ReadFull(er, make([]byte, 1))
	}
	if err != nil {
		gw.Close()
		er.Close()
		return nil, fmt.Errorf("launcher: %w", err)
	}
	return &launched{pid, gw, er}, nil
}

// startLauncher starts our own executable under the launcher's name. High
// descriptors without close-on-exec reach it beside whatever the user's shell
// passes on; it sets close-on-exec itself.
//
// The tracer's own start is what a shell gave it; the Go runtime has changed some of it
// since (handlers, the mask, descriptors 0 to 2), which is why the stage is told what it
// was. os/exec is not used: its Wait would take stops away from the tracer.
func startLauncher(o *Options, goAhead, report *os.File) (pid int, err error) {
	g, err := sys.DupInherited(goAhead)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(g)
	e, err := sys.DupInherited(report)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(e)
	flags := "-"
	if o.NoASLR {
		flags = "r"
	}
	ignored, blocked, closed := inherited()
	argv := append([]string{launcherName, strconv.Itoa(g), strconv.Itoa(e), flags,
		strconv.FormatUint(ignored, 16), strconv.FormatUint(blocked, 16), strconv.FormatUint(closed, 16), o.Path}, o.Argv...)
	// The link and not what it says: that may have been replaced meanwhile.
	pid, _, err = syscall.StartProcess("/proc/self/exe", argv, &syscall.ProcAttr{
		Dir: o.Dir, Env: o.Env, Files: []uintptr{0, 1, 2},
	})
	return pid, err
}

// proceed lets the launcher execute the target.
func (l *launched) proceed() error {
	defer l.goAhead.Close()
	if _, err := l.goAhead.Write([]byte{1}); err != nil {
		return fmt.Errorf("launcher: %w", err)
	}
	return nil
}

// execErrno returns why the target could not be executed, nil if it was. It
// blocks until the launcher has executed the target or ended.
func (l *launched) execErrno() error {
	defer l.errnoEnd.Close()
	var b [4]byte
	if n, _ := l.errnoEnd.Read(b[:]); n == 4 {
		return sys.Errno(binary.LittleEndian.Uint32(b[:]))
	}
	return nil
}
