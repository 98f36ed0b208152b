package session

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"alleria/config"
	"alleria/engine"
	"alleria/internal/sys"
	"alleria/proctree"
)

// Born is engine.Client's: numbers are given in the order of the kernel's reports, whether the
// process is followed or not (Alleria, section 2.5).
func (r *run) Born(parent, pid int) engine.Fate { return r.born(r.byPID[parent], pid) }

// Orphaned is engine.Client's.
func (r *run) Orphaned(parent, pid int) engine.Fate {
	for _, ps := range slices.Backward(r.killed) {
		if ps.pid == parent {
			return r.born(ps, pid)
		}
	}
	return engine.Detach // it has no number
}

// mostKilled is how many processes that were killed are remembered: more than the engine asks for.
const mostKilled = 16

// born is Born for a parent that may have ended.
func (r *run) born(parent *process, pid int) engine.Fate {
	ps := r.newProcess(pid, parent)
	r.debuggers.asks.Created(pid, parent.pid)
	// Until it executes something it is what its parent is.
	ps.path, ps.also, ps.argv = ps.parent.path, ps.parent.also, ps.parent.argv
	if r.opts.Unpatched && r.debuggers.is(ps.path) {
		ps.fate = engine.Detach
		r.tree.SetState(ps.number, proctree.Detached)
		r.lack(fmt.Sprintf("process %d (%s) traces others: what it created ran untraced", ps.parent.number, filepath.Base(ps.path)))
		r.ended(ps, nil)
		return ps.fate
	}
	ps.matched = r.matcher.Child(ps.parent.matched, ps.chosenBy())
	return r.decide(ps)
}

// Executed is engine.Client's.
func (r *run) Executed(pid int) engine.Fate {
	ps := r.byPID[pid]
	if ps == nil { // the user's own
		ps = r.newProcess(pid, nil)
	} else if ps.windows == nil {
		ps.facts.execs++
		ps.facts.unseen++
	}
	ps.describe()
	r.tree.Executed(ps.number, ps.path, ps.argv)
	if ps.matched == nil {
		ps.matched = r.matcher.Genesis(ps.chosenBy())
	} else {
		ps.matched = r.matcher.Executed(ps.matched, ps.chosenBy())
	}
	return r.decide(ps)
}

// newProcess numbers a process.
func (r *run) newProcess(pid int, parent *process) *process {
	above := 0
	if parent != nil {
		above = parent.number
	}
	ps := &process{run: r, number: r.tree.Created(above, pid), pid: pid, parent: parent, since: time.Now()}
	if parent != nil {
		ps.depth = parent.depth + 1
	}
	r.byPID[pid] = ps
	return ps
}

// decide asks the configuration what becomes of a process.
func (r *run) decide(ps *process) engine.Fate {
	r.selected.processes.see(ps.chosenBy())
	ps.threads, _ = plansOf(ps.matched, len(r.opts.Config.Windows)) // prepare has looked for errors
	ps.fate = ps.choose()
	r.tree.SetState(ps.number, [...]proctree.State{engine.Detach: proctree.Detached, engine.Follow: proctree.Followed, engine.Trace: proctree.WindowClosed}[ps.fate])
	if ps.fate == engine.Detach {
		r.unrecords(ps)
		r.ended(ps, nil)
	}
	return ps.fate
}

// traced is what is done where a program image is about to begin.
func (r *run) traced(pid int) *process {
	r.began = true
	return r.byPID[pid]
}

// Untraced is engine.Client's: the rest of the process is not recorded, which the user is told of.
func (r *run) Untraced(pid int, why error) {
	ps := r.byPID[pid]
	if ps == nil || ps.number == 1 { // of that the engine's status tells
		return
	}
	ps.fate = engine.Follow
	name := filepath.Base(ps.path)
	if ps.path == "" { // which may not be read
		name = sys.CommandName(pid)
	}
	r.lack(fmt.Sprintf("process %d (%s) ran untraced: %v", ps.number, name, why))
}

// Exited is engine.Client's.
func (r *run) Exited(pid int, end engine.End) {
	ps := r.byPID[pid]
	switch {
	case ps == nil:
	case !end.Exited && end.Signal == 0: // it was detached
		if ps.parts == 0 {
			ps.fate = engine.Detach
		}
		r.tree.SetState(ps.number, proctree.Detached)
		r.ended(ps, nil)
	default:
		r.ended(ps, &end)
	}
}

// endedUnseen tells of a process that has ended as a guest in its creator's memory, as by vfork without an execve: it had no threads of its own for windows to be told of.
func (ps *process) endedUnseen() {
	if ps.number > 1 && ps.windows == nil && ps.fate == engine.Trace && anyEvent(ps.opts.Config, func(e *config.Event) bool { return e.Process == ps.number }) {
		ps.note(fmt.Sprintf("process %d (%s) shared its creator's memory until its end: its events were not seen, which windows wait for", ps.number, filepath.Base(ps.path)))
	}
}

// ended says in run.json how a process ended; end is nil for one that is not followed any more.
func (r *run) ended(ps *process, end *engine.End) {
	if end != nil {
		status := end.Code
		if end.Signal != 0 {
			status = -int(end.Signal)
		}
		r.tree.Ended(ps.number, status, proctree.Usage{MaxRSS: end.Usage.MaxRSS, User: end.Usage.User, System: end.Usage.System})
	}
	if end != nil {
		ps.endedUnseen()
	}
	if end != nil && end.Signal != 0 {
		r.killed = append(r.killed[max(0, len(r.killed)+1-mostKilled):], ps)
	}
	r.debuggers.asks.Forget(ps.pid)
	if ps.number > 1 {
		delete(r.byPID, ps.pid)
	}
	if ps.counts.any {
		r.counted = append(r.counted, ps)
	}
	if r.emit == nil {
		return
	}
	e := ps.entry(nil)
	tell := func() {
		if ps.counts.any {
			r.emit.AddProcess(ps.counts.entry(e))
		} else if ps.parts == 0 {
			r.emit.AddProcess(e)
		}
		if end != nil {
			r.emit.ProcessEnded(uint32(ps.number), shellStatus(end))
		}
	}
	if ps.counts.any { // behind what its threads have counted
		r.counting.do(r.opts.Engine, tell)
	} else {
		tell()
	}
}

// Poll is engine.Client's: limits are looked at.
// The engine calls it every now and then, whatever the target does.
func (r *run) Poll() {
	now := time.Now()
	live := r.live()
	for _, ps := range live {
		ps.modes.look(ps.image.p.Mode(), now)
		sampleRows(ps.image, now)
		if ps.image.writer != nil {
			c, _ := ps.image.writer.Counts()
			r.tree.SetCounts(ps.number, c.Instructions, 0)
		}
	}
	r.proc.tuned.publish(live)
	r.proc.placed.publish(live)
	r.limits(now)
	r.costs.memory(live, now)
	r.forgetStart(now)
	r.moreProcs(now)
	// The flag may have been set by any goroutine; what follows from it is done
	// here, on the one that may change the windows.
	if !r.over.Load() {
		return
	}
	for _, ps := range live {
		ps.closeAll()
	}
	r.tracer.DetachAll()
}

// live is the processes of which a program image is traced, by number.
func (r *run) live() []*process {
	return r.those(func(ps *process) bool { return ps.image != nil })
}

// inOrder is the processes that are followed, by number.
func (r *run) inOrder() []*process { return r.those(func(*process) bool { return true }) }

// those is the processes that are followed and for which something holds, by number. Every millisecond it is asked for those that are traced: what is only followed, and may be
// many, is not to be put in order for that.
func (r *run) those(holds func(*process) bool) (some []*process) {
	for _, ps := range r.byPID {
		if holds(ps) {
			some = append(some, ps)
		}
	}
	slices.SortFunc(some, func(a, b *process) int { return a.number - b.number })
	return some
}

// closeAll closes the process's windows for good and detaches it.
func (ps *process) closeAll() {
	im := ps.image
	if im.windows == nil || im.windows.Done() {
		return
	}
	ps.changed(nil, im.windows.Finish(), 0)
	im.events.disarm()
	ps.watch()
	im.p.SetMode(engine.ModeNative)
	im.p.LetRun(engine.Detach)
}
