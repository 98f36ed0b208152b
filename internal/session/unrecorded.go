package session

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"alleria/engine"
)

// Children that nobody records are detached, and find nothing of the tracer's: that they execute something is not reported. What they are is
// looked for in /proc, for a while, and told once a name.
//
// Refused: to follow them until they execute something. A program with rights of its own (sudo) would be executed twice.

// unrecorded are the programs of processes that were detached as they began.
type unrecorded struct {
	mu    sync.Mutex
	names []string // in the order in which they were found
	early bool     // one had ended before it could be looked at
	looks int      // that are under way
}

// Bounds of what is told and looked for.
const (
	maxUnrecordedNames = 10
	maxUnrecordedLooks = 32
	longestLook        = 2 * time.Second
)

// unrecords notes that a process is detached, and has not been recorded.
func (r *run) unrecords(ps *process) {
	w := r.opts.Warnings
	if w == nil || ps.number == 1 || ps.over.Load() {
		return
	}
	why := "the configuration records nothing of it"
	if r.opts.Follow == FollowNone {
		why = "children are not followed"
	}
	u := &r.unrecorded
	if ps.parent == nil || ps.path != ps.parent.path { // it has executed something
		u.found(w, ps.number, ps.path, why)
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.looks == maxUnrecordedLooks {
		return
	}
	u.looks++
	go u.look(w, ps.number, ps.path, why, func() string { return r.exe(ps.pid) })
}

// look waits until a process executes something else than was, and has found that.
func (u *unrecorded) look(w io.Writer, number int, was, why string, exe func() string) {
	wait, end := 100*time.Microsecond, time.Now().Add(longestLook)
	path := exe()
	for path == was && time.Now().Before(end) {
		time.Sleep(wait)
		wait = min(wait*5/4, 50*time.Millisecond)
		path = exe()
	}
	u.found(w, number, path, why)
	u.mu.Lock()
	u.looks--
	u.mu.Unlock()
}

// found tells of a program, once a name; path is "" where it ended before it could be looked at.
func (u *unrecorded) found(w io.Writer, number int, path, why string) {
	name := filepath.Base(path)
	u.mu.Lock()
	defer u.mu.Unlock()
	if path == "" {
		u.early = true // a line without a name would say no more than the note at the end
		return
	}
	if slices.Contains(u.names, name) || len(u.names) == maxUnrecordedNames {
		return
	}
	u.names = append(u.names, name)
	fmt.Fprintf(w, "alleria: %s (process %d) runs unrecorded: %s\n", name, number, why)
}

// note is what is said of them at the end.
func (u *unrecorded) note(st *engine.Status) string {
	text := counted(st.Detached, "child process", "child processes") + " ran untraced"
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.names) > 0 {
		text += ", of " + strings.Join(u.names, ", ")
	}
	if len(u.names) == maxUnrecordedNames || len(u.names) > 0 && u.early {
		text += " and others"
	}
	return text
}
