package step

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"alleria/engine/launch"
	"alleria/engine/x86"
	"alleria/internal/sys"
)

// Options is what to run and how.
// Nothing in it must change while Run is at work.
type Options struct {
	Path   string   // the executable
	Argv   []string // with argv[0]
	Env    []string
	Dir    string // "": the caller's
	NoASLR bool
	// FixRandom replaces the 16 random bytes that the kernel gives a program,
	// so that two runs do the same. FixRandom, the function, does it elsewhere.
	FixRandom bool
	// MaxIns ends the run with ErrTooLong after so many instructions; 0: never.
	MaxIns uint64
	// Started is called with the process's id when the program stands before its
	// first instruction, if it is not nil.
	Started func(pid int) error
	// VectorState makes Ins.Register know vector and mask registers.
	VectorState bool
	// Before is called before each instruction is executed, if it is not nil; for
	// a repeated string instruction before its first iteration. Only what is
	// known before is set.
	Before func(*Ins) error
}

// ErrTooLong says that the program executed more instructions than
// Options.MaxIns.
var ErrTooLong = errors.New("more instructions than allowed")

// errThreads says that the program is none for this engine.
var errThreads = errors.New("the program creates threads, and single-stepping follows one")

// Status is how the target ended.
type Status struct {
	Exited bool       // it ended by itself: Code holds
	Code   int        // exit code
	Signal sys.Signal // that killed it
	Ins    uint64     // completed instructions
}

// Access is one access to memory.
//
// Addresses are linear, sizes those of one element where lanes are accessed one by one.
type Access struct {
	Addr  uint64 // linear address
	Size  uint32 // bytes
	Store bool   // else a load
	// Value is the bytes that were there before a load, or after a store; nil
	// where they could not be read.
	Value []byte
}

// Ins is one completed instruction. It and what it refers to are valid until
// the visitor returns.
//
// It has the fields of a decoded instruction, with its registers from before.
type Ins struct {
	x86.Insn
	Bytes    []byte // its encoding
	Accesses []Access
	// Branch is set for instructions that may transfer control, Taken if this
	// one did; To is the address of the next instruction in any case.
	Branch, Taken bool
	To            uint64
	// Part: a repeated string instruction that a signal interrupted; Accesses is
	// what it did before. It goes on, as another instruction, if the program goes
	// back there.
	Part bool
	// Regs is the registers before the instruction.
	Regs  sys.Regs
	state *tracee // its vector state is the one before the instruction
}

// tracee is the state of one run.
// It belongs to the goroutine that called Run, and to its thread.
type tracee struct {
	opts   Options
	visit  func(*Ins) error
	pid    int
	mem    *sys.ProcessMemory
	status Status
	done   bool
	// cur is the instruction being executed, open if there is one. A repeated
	// string instruction stays open over its iterations.
	cur    Ins
	open   bool
	one    [1]x86.Insn
	code   [16]byte
	ops    []x86.Operand
	fresh  bool // execve has not returned to the program yet
	thread int  // a second thread, because of which the run ends
	states stateLayout
	xstate []byte
	arena  []byte // of the values of cur
}

// Run executes the target to its end and calls visit for each instruction that
// completed. An error of visit ends the run and the target.
//
// The target has the caller's standard streams. It is killed on an error, and waited for:
// nothing is left behind.
func Run(o Options, visit func(*Ins) error) (Status, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l, err := launch.Start(&launch.Program{Path: o.Path, Argv: o.Argv, Env: o.Env, Dir: o.Dir, NoASLR: o.NoASLR})
	if err != nil {
		return Status{}, err
	}
	t := &tracee{opts: o, visit: visit, pid: l.PID(), states: newStateLayout()}
	if err := t.run(l); err != nil {
		t.kill()
		return t.status, fmt.Errorf("single-stepping %s: %w", o.Path, err)
	}
	return t.status, nil
}

// run is Run but for cleaning up.
func (t *tracee) run(l *launch.Launched) error {
	if err := sys.Seize(t.pid); err != nil {
		return err
	}
	if err := l.Proceed(); err != nil {
		return err
	}
	errno := make(chan error, 1)
	go func() { errno <- l.ExecError() }()
	if err := t.untilExec(); err != nil {
		return err
	}
	if t.done {
		return &launch.ExecError{Path: t.opts.Path, Err: <-errno}
	}
	for !t.done {
		if err := t.advance(); err != nil {
			return err
		}
	}
	return nil
}

// kill ends a target that nobody follows any more.
func (t *tracee) kill() {
	if t.mem != nil {
		t.mem.Close()
	}
	if !t.done && unix.Kill(t.pid, unix.SIGKILL) == nil {
		if t.thread != 0 { // the process does not end before it has been waited for
			var st unix.WaitStatus
			for ended := false; !ended; ended = st.Exited() || st.Signaled() {
				if _, err := unix.Wait4(t.thread, &st, unix.WALL, nil); err != nil {
					break
				}
			}
		}
		for !t.done {
			if _, err := t.wait(); err != nil {
				return
			}
		}
	}
}

// untilExec lets the launcher run until it has executed the target or ended.
// The launcher's own instructions are not stepped.
func (t *tracee) untilExec() error {
	for {
		s, err := t.wait()
		if err != nil || t.done {
			return err
		}
		if s.Event() == unix.PTRACE_EVENT_EXEC {
			return t.executed()
		}
		if err := sys.Cont(t.pid, s.Signal()); err != nil {
			return err
		}
	}
}

// executed takes a new program image.
func (t *tracee) executed() error {
	if t.mem != nil {
		t.mem.Close()
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", t.pid), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("memory of process %d: %w", t.pid, err)
	}
	t.mem, t.fresh = &sys.ProcessMemory{File: mem}, true
	if t.opts.FixRandom {
		if err := FixRandom(t.pid); err != nil {
			return err
		}
	}
	if t.opts.Started != nil {
		return t.opts.Started(t.pid)
	}
	return nil
}

// wait waits for the target and notes its end.
// Only for this process: a child that was detached is waited for by its parent, the
// target.
func (t *tracee) wait() (sys.Stop, error) {
	var st unix.WaitStatus
	for {
		_, err := unix.Wait4(t.pid, &st, unix.WALL, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return sys.Stop{}, fmt.Errorf("wait4: %w", err)
		}
		break
	}
	if st.Exited() || st.Signaled() {
		t.done = true
		t.status.Exited, t.status.Code = st.Exited(), st.ExitStatus()
		if st.Signaled() {
			t.status.Signal = st.Signal()
		}
	}
	return sys.Stop{TID: t.pid, Status: st}, nil
}
