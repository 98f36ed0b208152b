package tool

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"alleria/internal/sys"
)

// A command that uses this package is three processes, so that whatever ends the user's code leaves the program as it is: one that runs
// the user's main and calls the callbacks, one that traces the program and fills buffers, and one that has started both, and ends
// with the status that one of them has. The last is the one that was executed. It and the tracer are made in init, before anything of
// the user's main package runs, so that nothing of that runs twice.
//
// The tracer's parent is not the user's process, as its end would otherwise be the command's to whoever waits for it while the program still
// runs; and neither of the two is the other's child: the tracer waits for any child that it has.

// How the environment says what a process is to be.
const (
	// inProcessVariable is for users: in-process has everything in one process, apart is for test binaries, which are one process otherwise.
	inProcessVariable = "ALLERIA_TOOL"
	// sideVariable is ours: what the process is, and the numbers of its files.
	sideVariable = "ALLERIA_TOOL_SIDE"

	sideTracer = "tracer"
	sideUser   = "user"
)

// files of one side, in the order of sideVariable.
const (
	fileConn   = iota // to the other side
	fileCrash         // what the runtime says of the user's process when it ends it
	fileOwn           // buffers of the tracer's
	fileUsers         // buffers of the user's
	fileKeeper        // to the process that has started both; the tracer's only
	sideFiles
)

// tracer is the way to the tracer from the process that runs the user's main; nil: there is no other process.
var tracer = newUser(os.Getenv(sideVariable))

// init goes on with the user's main in one process only.
func init() {
	side := os.Getenv(sideVariable)
	_ = os.Unsetenv(sideVariable)
	switch {
	case tracer != nil:
	case strings.HasPrefix(side, sideTracer):
		os.Exit(trace(inherited(side)))
	case separate(os.Args, os.Getenv(inProcessVariable), testing.Testing()):
		if exit, err := keep(); err == nil {
			os.Exit(exit)
		} // else there can be no other process, and it is as with -in-process
	}
}

// separate tells whether the user's code is to have a process of its own. Programs that a tool names may have our flag as well: that is to be on the safe side of it.
func separate(args []string, variable string, test bool) bool {
	switch variable {
	case "in-process":
		return false
	case "apart":
		return true
	}
	if n := slices.Index(args, "--"); n >= 0 {
		args = args[:n]
	}
	return !test && !slices.ContainsFunc(args[1:], func(a string) bool {
		return strings.TrimLeft(a, "-") == "in-process" && strings.HasPrefix(a, "-")
	})
}

// inherited are the files that a side was started with.
func inherited(side string) (files [sideFiles]*os.File) {
	for i, text := range strings.Split(side, ":")[1:] {
		fd, err := strconv.Atoi(text)
		if err != nil || i >= sideFiles {
			continue
		}
		syscall.CloseOnExec(fd)
		if i == fileConn || i == fileKeeper {
			_ = syscall.SetNonblock(fd, true) // so that who waits keeps no thread
		}
		files[i] = os.NewFile(uintptr(fd), "tool")
	}
	return files
}

// keep starts both sides and waits for them. It returns the status of the command.
func keep() (exit int, err error) {
	k := keeper{forward: make(chan os.Signal, 8)}
	user, tracer, err := k.files()
	if err != nil {
		return 0, err
	}
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2} {
		if !signal.Ignored(s) {
			signal.Notify(k.forward, s)
		}
	}
	t, err := start(sideTracer, tracer)
	if err != nil {
		return 0, err
	}
	u, err := start(sideUser, user)
	if err != nil {
		_ = t.Kill()
		_, _ = t.Wait()
		return 0, err
	}
	for _, f := range append(user, tracer...) {
		f.Close()
	}
	go k.pass(u)
	return k.wait(u, t), nil
}

// keeper is the process that has started both.
type keeper struct {
	told    *os.File // to the tracer, and from it
	forward chan os.Signal
}

// files makes the files of both sides.
func (k *keeper) files() (user, tracer []*os.File, err error) {
	conn, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	told, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	k.told = os.NewFile(uintptr(told[0]), "tracer")
	var memory [3]*os.File
	for i := range memory {
		if memory[i], err = sys.Memfd("alleria-tool", 0); err != nil {
			return nil, nil, err
		}
	}
	user = append([]*os.File{os.NewFile(uintptr(conn[0]), "tracer")}, memory[:]...)
	tracer = append([]*os.File{os.NewFile(uintptr(conn[1]), "user")}, memory[:]...)
	return user, append(tracer, os.NewFile(uintptr(told[1]), "keeper")), nil
}

// start starts this program as one of the sides. Files keep their numbers, and those that we were started with are there as well.
func start(side string, files []*os.File) (*os.Process, error) {
	variable := sideVariable + "=" + side
	for _, f := range files {
		fd := f.Fd()
		variable += ":" + strconv.Itoa(int(fd))
		if err := sys.Inherit(f, true); err != nil {
			return nil, err
		}
		defer func() { _ = sys.Inherit(f, false) }()
	}
	return os.StartProcess("/proc/self/exe", os.Args, &os.ProcAttr{Env: append(os.Environ(), variable), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}) // init's thread starts it, and that ends last
}

// pass passes on what others send us. Terminals send their signals to all of us.
func (k *keeper) pass(user *os.Process) {
	for s := range k.forward {
		if s != syscall.SIGINT && s != syscall.SIGQUIT {
			_ = user.Signal(s)
		}
	}
}

// wait waits for both. The user's end is told to the tracer, which says what the command's status is if the program was still running.
func (k *keeper) wait(u, t *os.Process) int {
	said := make(chan string, 1)
	go func() {
		status := ""
		for lines := bufio.NewScanner(k.told); lines.Scan(); {
			if status = lines.Text(); status == toldHung {
				_ = u.Kill()
			}
		}
		said <- status
	}()
	st, err := u.Wait()
	how := "it has ended"
	if err == nil {
		how = st.String()
	}
	_, _ = k.told.WriteString(how + "\n")
	_, _ = t.Wait()
	if exit, err := strconv.Atoi(<-said); err == nil {
		return exit
	}
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return endBy(ws.Signal())
	}
	return st.ExitCode()
}

// toldHung is what the tracer says of a user's process that answers nothing any more, and that nobody is to wait for.
const toldHung = "hung"

// endBy ends as the user's process has ended, without a core of ours.
func endBy(s syscall.Signal) int {
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	signal.Reset(s)
	_ = syscall.Kill(os.Getpid(), s)
	return 128 + int(s)
}

// ended is the reason that the user's process has ended for, as exact as it is known: the runtime's own words, with the place in the user's code, or how it ended.
// Of fatal errors, such as two goroutines in one map, the runtime gives the traceback alone; its words are among what the user sees.
func ended(how, crash string) error {
	why, traceback, ok := strings.Cut(strings.TrimSpace(crash), "\n")
	switch {
	case !ok:
		return fmt.Errorf("the process of its callbacks ended: %s", how)
	case !strings.HasPrefix(why, "panic:"):
		why, traceback = "a fatal error of Go's runtime, which has said which", crash
	}
	if place := placeIn(traceback); place != "" {
		why += ", at " + place
	}
	return fmt.Errorf("the process of its callbacks ended: %s", why)
}
