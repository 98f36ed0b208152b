package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"alleria/abp"
	"alleria/config"
	"alleria/engine"
	"alleria/internal/session/executables"
	"alleria/internal/sys"
	"alleria/window"
)

// process is one process of the tree: the engine's handler of what it does, where it is traced.
// Its methods run on the goroutine of Record.
//
// It outlives program images: an execve makes a new image within the same process, the windows
// staying as they are.
type process struct {
	*run
	rest    *rester // nil: nobody runs natively between bursts
	number  int     // in order of creation in the tree, from 1
	pid     int
	parent  *process  // nil: the user's own process
	depth   int       // 0: the user's own
	parts   int       // how many program images of it were recorded
	since   time.Time // its creation
	argv    []string  // of the program that it executes
	path    string
	also    []string               // other paths that lead to it
	matched *config.ProcessMatcher // what the configuration says of it, while it executes that
	fate    engine.Fate
	image   *image // the traced program image that runs now; nil: none

	counts  counts
	modes   modeClock
	windows *window.Set // of the process, whatever it executes
	budget  *budget     // so too; nil where no event counts
	facts   reported
	threads threadPlans
	watched map[uint32]bool // system calls that the engine watches
	pending []*window.Leaf  // events that the program being executed is
	// exceeded is by how much counts were, while the events that they are fire.
	exceeded map[*window.Leaf]uint64
}

// describe reads what the process executes now. What cannot be read stays empty.
func (ps *process) describe() {
	ps.also = nil
	start, err := ps.tracer.Started(ps.pid)
	var program executables.Program
	ps.path, program = ps.files.Of(ps.pid, &start, ps.exe)
	ps.debuggers.asks.Executes(ps.pid, program)
	if err != nil { // a program of 32 bits, say, or one whose memory may not be read
		start.Name, err = sys.ExecName(ps.pid)
		start.Words = commandLine(ps.pid)
	}
	if ps.argv = start.Words; err != nil {
		return
	}
	name := start.Name
	if !filepath.IsAbs(name) {
		wd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", ps.pid))
		name = filepath.Join(wd, name)
	}
	ps.also = []string{name}
}

// commandLine is the words of a process, nil if they cannot be read.
func commandLine(pid int) []string {
	b, err := sys.ReadProc(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

// choose decides what becomes of the process, from what the configuration says of such a one.
//
// A process of which nothing is recorded, and that no event is about, needs no code cache.
func (ps *process) choose() engine.Fate {
	if ps.over.Load() {
		return engine.Detach
	}
	if ps.opts.Follow == FollowNone && ps.number > 1 {
		return engine.Detach
	}
	st := ps.status()
	switch {
	case st == config.Records || ps.eventsName():
		return engine.Trace
	case st == config.RecordsNothing:
		return engine.Follow
	}
	return engine.Detach
}

// status is what the configuration says of the process, whichever windows are open.
func (ps *process) status() config.Status {
	return ps.matched.Status()
}

// chosenBy is what the process is chosen by.
func (ps *process) chosenBy() *config.ProcessFacts {
	return &config.ProcessFacts{Number: ps.number, Depth: ps.depth, Ancestors: ps.tree.Ancestors(ps.number), Path: ps.path, Also: ps.also, Args: ps.argv}
}

// eventsName tells whether an event of the configuration is about this very process.
func (ps *process) eventsName() bool {
	return anyEvent(ps.opts.Config, func(e *config.Event) bool { return e.Process == ps.number })
}

// family is the process's row of PROCESS_FAMILY; end is nil while it runs.
func (ps *process) family(end *engine.End) abp.FamilyRow {
	row := abp.FamilyRow{Number: uint32(ps.number), PID: uint32(ps.pid), Followed: ps.fate != engine.Detach, Started: ps.since.UnixNano(), Command: ps.argv}
	if ps.parent != nil {
		row.Parent = uint32(ps.parent.number)
	}
	if end != nil {
		row.Ended = time.Now().UnixNano()
		row.Exited, row.ExitStatus = true, int32(end.Code)
		if end.Signal != 0 {
			row.ExitStatus = -int32(end.Signal)
		}
	}
	return row
}

// entry is what run.json says of the process.
func (ps *process) entry(end *engine.End) abp.ProcessEntry {
	e := abp.ProcessEntry{Number: uint32(ps.number), PID: uint32(ps.pid), Command: ps.argv, Followed: ps.fate != engine.Detach}
	if ps.parent != nil {
		e.Parent = uint32(ps.parent.number)
	}
	if end != nil {
		code := shellStatus(end)
		e.Exit = &code
	}
	return e
}

// shellStatus is an exit status as a shell reports it.
func shellStatus(end *engine.End) int {
	if end.Signal != 0 {
		return 128 + int(end.Signal)
	}
	return end.Code
}

// fateWhenDone is what becomes of the process when nothing more of it can be recorded: it is detached, unless
// what it creates or executes may be.
func (ps *process) fateWhenDone() engine.Fate {
	if ps.over.Load() || ps.opts.Follow == FollowNone || !ps.recordsOthers() || !ps.matched.FollowsChildren() && !ps.matched.FollowsExec() {
		return engine.Detach
	}
	return engine.Follow
}

// recordsOthers tells whether the configuration may record processes besides this one.
func (ps *process) recordsOthers() bool {
	for _, w := range ps.opts.Config.Windows {
		for _, p := range w.Profile.Processes {
			if p.N != ps.number {
				return true
			}
		}
	}
	return false
}
