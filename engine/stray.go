package engine

import (
	"fmt"
	"time"

	"alleria/engine/shm"
	"alleria/engine/tracee"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// A process that is killed within fork has created a child, and its event is never reported: the
// child is seized with it, stops before its first instruction, and nobody says whose it is. The same happens to a thread
// that forks while another one of its process ends it or executes a program. Such a child gets no number,
// since it has no creator any more that it could be counted for; it is cleaned and runs untraced.

const (
	// strayAfter is how long a creator's event is awaited that is none of ours any more: the child has
	// been inherited by then. A report that was under way has come.
	strayAfter = 100 * time.Millisecond
	// adoptedAfter is the same where the child's parent is one of ours: its creator, or who inherits children in its place
	// (a subreaper, the first process of a namespace).
	adoptedAfter = 2 * time.Second
	// How long, and for how many, the memory shared with a process that was killed is kept.
	keepFor, keepAtMost = 2 * time.Second, 8
)

// ended is a process whose end has been told.
type ended struct {
	p    *Process
	when time.Time // of that
}

// await notes what a parent's event says of a child. One that has ended already, or been taken for a stray, has nothing to
// report any more.
func (tr *Tracer) await(tid int, k *childKind) {
	if k.seen || sys.Traced(tid) {
		tr.children[tid] = *k
		return
	}
	if k.event != tracee.EventClone {
		tr.endedUnseen(tid, k, End{})
	}
}

// endedUnseen tells of the end of a process that was never seen.
func (tr *Tracer) endedUnseen(pid int, k *childKind, end End) {
	if k.fate != Detach {
		tr.exited(pid, end)
	}
	if k.parent != nil {
		tr.closeDropped(k.parent.p)
	}
}

// keepEnded keeps the memory of a process that may have created something that nobody has told of; false for any other.
func (tr *Tracer) keepEnded(p *Process) bool {
	killed := p.end != nil && p.end.Signal == tracee.SIGKILL || p.lastNum > 1
	switch {
	case !killed || tr.done || p.closed:
		return false
	case p.kept:
		return true
	}
	p.kept = true
	if len(tr.lately) == keepAtMost {
		tr.lately[0].p.close()
		tr.lately = tr.lately[1:]
	}
	tr.lately = append(tr.lately, ended{p, time.Now()})
	return true
}

// strays lets children go whose creator is gone.
func (tr *Tracer) strays() {
	for tid, k := range tr.children {
		if !k.seen || k.known() || time.Since(k.since) < strayAfter {
			continue
		}
		if err := tr.stray(tid, time.Since(k.since)); !tracee.Passing(err) {
			tr.fail(fmt.Errorf("process %d, whose creator was killed: %w; it was ended", tid, err))
			sys.Kill(tid)
		}
		tr.lookWhetherDone()
	}
	for len(tr.lately) > 0 && time.Since(tr.lately[0].when) > keepFor {
		tr.lately[0].p.close()
		tr.lately = tr.lately[1:]
	}
}

// stray lets a child go whose creator has said nothing for so long, if it can be said that it never will.
func (tr *Tracer) stray(tid int, waited time.Duration) error {
	group, err := sys.ThreadGroup(tid)
	if err != nil || group != tid { // a thread: it ends with its process, or its creator lives
		return nil
	}
	parent, err := sys.Parent(tid)
	if err != nil {
		return nil
	}
	if tr.ours(parent) && (waited < adoptedAfter || sys.SharesMemory(tid, parent)) {
		return nil
	}
	delete(tr.children, tid)
	p := tr.creatorOf(tid)
	if p == nil { // it was followed: nothing of ours is there
		tr.status.Detached++
		return tr.stops.Bare(tid).Detach(0)
	}
	var regs sys.Regs
	if err := tr.stops.Bare(tid).GetRegs(&regs); err != nil {
		return err
	}
	t := tr.newThread(p, tid)
	t.appGS = regs.Gs_base
	if gs := regs.Gs_base; gs >= p.shm.BellAt() && gs < p.shm.Control()+shm.SharedBytes { // its creator was in the cache
		t.appGS = 0
		for _, s := range p.shm.Slots {
			if s.Base == gs {
				t.bornAt = s.Get(layout.ReqArg)
			}
		}
	}
	return tr.adoptForked(t, &regs)
}

// ours tells whether a process is traced or followed.
func (tr *Tracer) ours(pid int) bool {
	f := tr.others[pid]
	t := tr.threads[pid]
	return f != nil && !f.free || t != nil
}

// creatorOf finds the process whose memory a forked child has a copy of, by what is mapped there; nil if it was not traced.
func (tr *Tracer) creatorOf(pid int) *Process {
	maps, err := sys.Maps(pid)
	if err != nil {
		return nil
	}
	known := make(map[uint64]*Process)
	for _, p := range tr.procs {
		known[sys.Inode(p.shm.File)] = p
	}
	for _, e := range tr.lately {
		known[sys.Inode(e.p.shm.File)] = e.p
	}
	for i := range maps {
		if p := known[maps[i].Inode]; p != nil && maps[i].Inode != 0 {
			return p
		}
	}
	return nil
}
