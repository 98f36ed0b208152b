package launch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"alleria/internal/sys"
)

// Program is what is to be executed.
type Program struct {
	Path   string   // the executable
	Argv   []string // with argv[0]
	Env    []string
	Dir    string // "": the tracer's
	NoASLR bool
}

// ErrNotPermitted means that the kernel does not let us trace: a sandbox, a
// container, or another tracer is there already.
var ErrNotPermitted = errors.New("tracing is not permitted here")

// ExecError says that the target could not be executed.
//
// It is the kernel's own answer to execve of the path, after all checks that can be made
// beforehand have passed.
type ExecError struct {
	Path string // as in Program
	Err  error  // the kernel's
}

// Error names the program and the reason.
func (e *ExecError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap returns the kernel's error.
func (e *ExecError) Unwrap() error { return e.Err }

// Launched is a process in its launcher stage.
type Launched struct {
	pid      int
	goAhead  *os.File // one byte lets it execute the target
	errnoEnd *os.File // yields an errno if it could not
	stage    stage
}

// Start starts the launcher stage of a program. The process waits; seize it now,
// or not at all, and call Proceed.
func Start(o *Program) (*Launched, error) { return start(o, false) }

// start is Start; copied is for a stage with a memory of its own.
//
// The stage has what a shell gave the tracer: the Go runtime has changed some of that since
// (handlers, the mask, a limit, descriptors 0 to 2). Descriptors of ours close when it executes the
// target; the stage's ends of the pipes are closed here at once, so that each end shows when
// the other is gone. os/exec is not used: its Wait would take stops away from the tracer.
func start(o *Program, copied bool) (*Launched, error) {
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
	defer ew.Close()
	pid, st, err := startStage(o, copied, gr, gw, ew)
	if err != nil {
		gw.Close()
		er.Close()
		return nil, fmt.Errorf("launcher: %w", err)
	}
	l := &Launched{pid, gw, er, st}
	if copied {
		// It runs only when whoever traces us has detached it, and not before can it be
		// attached to.
		ew.Close()
		if _, err := io.ReadFull(er, make([]byte, 1)); err != nil {
			l.abandon()
			return nil, fmt.Errorf("launcher: %w", err)
		}
	}
	return l, nil
}

// StartSeized starts the launcher stage and attaches to it.
//
// A tracer that traces us has what shares our memory as well, and does not give it away: a
// child with a memory of its own it may detach. One that somebody has killed by then is the result as well: its end is reported as any other.
func StartSeized(o *Program) (*Launched, error) {
	for copied := false; ; copied = true {
		l, err := start(o, copied)
		if err != nil {
			return nil, err
		}
		if err = sys.Seize(l.pid); err == nil {
			return l, nil
		}
		if sys.Killed(l.pid) {
			return l, nil
		}
		l.abandon()
		if copied {
			return nil, fmt.Errorf("%w: %w", ErrNotPermitted, err)
		}
	}
}

// PID is the process's id.
func (l *Launched) PID() int { return l.pid }

// abandon ends a stage that nobody traces.
func (l *Launched) abandon() {
	l.goAhead.Close() // that is what it waits for
	_ = l.ExecError()
	sys.Reap(l.pid)
}

// Proceed lets the launcher execute the target. That it has been killed is no error here: its end is reported as any other.
func (l *Launched) Proceed() error {
	defer l.goAhead.Close()
	if _, err := l.goAhead.Write([]byte{1}); err != nil && !errors.Is(err, sys.ErrNoReader) {
		return fmt.Errorf("launcher: %w", err)
	}
	return nil
}

// ExecError returns why the target could not be executed, nil if it was. It
// blocks until the launcher has executed the target or ended.
func (l *Launched) ExecError() error {
	defer l.errnoEnd.Close()
	defer l.stage.free()
	// To the end: the stage's memory is free only when it is gone.
	b, _ := io.ReadAll(l.errnoEnd)
	if len(b) == 4 {
		return sys.Errno(binary.LittleEndian.Uint32(b))
	}
	return nil
}
