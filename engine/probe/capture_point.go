package probe

import (
	"errors"
	"fmt"

	"alleria/engine/translate"
	"alleria/engine/x86"
	"alleria/internal/capture"
	"alleria/internal/layout"
)

// Interceptors: functions whose calls are captured, with what capture.Program names, into the
// ring of the thread that makes them.
//
// The tracer can capture each moment by itself (package captures), wherever the thread is: it is stopped by a native probe or
// asks from the cache. Code captures what it can (capture_body.go, capture_native.go), and goes to the tracer with the rest
// before it has written anything. So there are three ways, of which the first is what the other two are held to.
//
// Which calls are awaited is on a stack of frames in the thread's slot (capture_frame.go).

// captures is what a process intercepts.
type captures struct {
	points  []*Interception // by number; never removed, since frames hold numbers
	returns bool            // some return is awaited: translated returns look
	armed   int             // points that are
	// sites is where natively returns are caught, as long as anything is intercepted.
	sites  map[uint64]bool
	needs  translate.CaptureNeeds   // of all points together
	last   map[uint64]*Interception // by entry, armed or not; older leads to the others
	code   []captureRange
	images map[uint64]*branchMap // by where they begin
	// goroutines has their frames, nil: no function is known to be called by one; goSites are those of sites to which such functions return, goCode their programs' code.
	goroutines *goroutines
	goSites    map[uint64]bool
	goCode     []translate.CodeRange
	behind     map[uint64]uint64 // entries of functions that are captured elsewhere (CapturedAt)
}

// Interception is an intercepted function.
type Interception struct {
	number uint32
	Entry  uint64 // where it is captured
	Fn     uint32 // the client's number
	Prog   *capture.Program
	needs  translate.CaptureNeeds
	// Armed: it is what is done at the entry, or was before another program took its place, and calls that are under way are captured when they return.
	Armed bool
	older *Interception // at the same entry
	// Code that captures entries, 0: there is none; made: it has been looked whether there can be.
	code  uint64
	leave uint64 // and its returns
	made  bool
}

var errProgram = errors.New("a program that cannot be captured")

// FollowByTracer has the tracer capture calls of functions, of those that are intercepted from then on, where pointers are followed: a program's memory may be filled when it is
// asked for (userfaultfd), and a load by code asks.
func (p *Points) FollowByTracer() { p.filled = true }

// Intercept has the calls of the function at entry captured as prog says, in threads of this process, and
// written into their rings as calls of function fn, which is not 0 (capture.OfGoroutine). A function that is intercepted already gets the new program, while
// calls of it that are under way return by the program that they were entered with: only that has saved what it needs, and whoever
// reads them knows them by its fn. The program must not be changed afterwards.
//
// Calls under way that were not captured when they were entered are not captured. It takes effect at once, whatever the mode. Errors: a program that makes no
// sense, code that cannot be read or written.
func (p *Points) Intercept(entry uint64, fn uint32, prog *capture.Program) error {
	if err := checkProgram(prog); err != nil {
		return fmt.Errorf("function at %#x: %w", entry, err)
	}
	looks := false
	if prog.Go {
		if prog.Goroutine && p.captures.goroutines == nil && p.goroutineIn(entry) {
			looks = p.followGoroutines()
		}
		entry = p.CapturedAt(entry)
	}
	at := p.pointAt(entry)
	if at.capture != nil {
		p.removeProbe(entry) // a jump leads to the code of the old program
	}
	c := p.pointOf(entry, fn, prog)
	p.arm(c)
	at.capture = c
	looks = p.goCode(c) || looks
	if !p.captures.returns {
		p.turnAll() // each goroutine is told of from now on
	}
	if p.captures.lookFor(c) || looks {
		p.host.Invalidate(0, 1<<47) // returns look from now on, or save more
	}
	p.watch(entry)
	return p.probeNatively(entry)
}

// FindErrno says who finds out where errno of each thread is, from the base of fs on: 0 as long as that is not known. Functions that are intercepted before
// have none.
func (p *Points) FindErrno(find func() int64) { p.errno = find }

// Errno is where errno is, 0: nobody knows.
func (p *Points) Errno() int64 {
	w := p.shm.Ctl.U64(layout.ErrnoAt)
	if w.Load() == 0 && p.errno != nil {
		w.Store(uint64(p.errno()))
	}
	return int64(w.Load())
}

// pointOf returns what is known of a function that is intercepted with a program, which may have been so before.
func (p *Points) pointOf(entry uint64, fn uint32, prog *capture.Program) *Interception {
	cs := &p.captures
	for c := cs.last[entry]; c != nil; c = c.older {
		if c.Prog == prog && c.Fn == fn {
			return c
		}
	}
	c := &Interception{number: uint32(len(cs.points)), Entry: entry, Fn: fn, Prog: prog, needs: needsOf(prog), older: cs.last[entry]}
	cs.points = append(cs.points, c)
	if cs.last == nil {
		cs.last = make(map[uint64]*Interception)
	}
	cs.last[entry] = c
	return c
}

// Unintercept ends the capturing of the function at entry. Calls under way are not captured when they return.
func (p *Points) Unintercept(function uint64) {
	entry := function
	if at, ok := p.captures.behind[function]; ok {
		entry = at
		delete(p.captures.behind, function) // other code may be there by the next time
	}
	at := p.at[entry]
	if at == nil || at.capture == nil {
		return
	}
	for c := p.captures.last[entry]; c != nil; c = c.older {
		p.disarm(c)
	}
	at.capture = nil
	if at.entry == nil && at.returns == nil && at.within == nil {
		delete(p.at, entry)
	}
	p.watch(entry)
	p.RemoveIdle(entry)
	if p.captures.armed == 0 {
		p.dropCaptureSites()
	}
}

// lookFor adds what returns have to look for and save because of c, and tells whether that is more than before.
func (cs *captures) lookFor(c *Interception) bool {
	was, returned := cs.needs, cs.returns
	cs.returns = cs.returns || c.Prog.Returns
	cs.needs.Exit |= c.needs.Exit
	cs.needs.X87 = cs.needs.X87 || c.needs.X87
	return cs.returns && (!returned || was != cs.needs)
}

// arm begins it.
func (p *Points) arm(c *Interception) {
	if c.Armed {
		return
	}
	c.Armed = true
	p.captures.armed++
	if c.leave != 0 {
		p.shm.Ctl.U64(layout.CaptureLeaves + 8*int(c.number)).Store(c.leave)
	}
}

// disarm ends what is known as c; frames of it are dropped when they are reached.
func (p *Points) disarm(c *Interception) {
	if !c.Armed {
		return
	}
	c.Armed = false
	p.captures.armed--
	if c.number < layout.MaxCaptureLeaves {
		p.shm.Ctl.U64(layout.CaptureLeaves + 8*int(c.number)).Store(0)
	}
}

// checkProgram tells what is wrong with a program.
func checkProgram(prog *capture.Program) error {
	if len(prog.Saves) > capture.MaxSaves {
		return fmt.Errorf("%d saved values: %w", len(prog.Saves), errProgram)
	}
	sources := make([]capture.Source, 0, len(prog.Saves)+len(prog.Entry)+len(prog.Exit))
	sources = append(sources, prog.Saves...)
	for _, items := range [][]capture.Item{prog.Entry, prog.Exit} {
		for i := range items {
			sources = append(sources, items[i].Src)
			if err := checkPointers(items[i].Points, items[i].Bytes, 0); err != nil {
				return err
			}
		}
	}
	for _, s := range sources {
		if !validSource(s, len(prog.Saves)) {
			return fmt.Errorf("source %d of kind %d: %w", s.N, s.Kind, errProgram)
		}
	}
	return nil
}

func validSource(s capture.Source, saves int) bool {
	switch s.Kind {
	case capture.GPR:
		return s.N < 16 && s.N != uint32(x86.RSP)
	case capture.Vector:
		return s.N < 16
	case capture.Stack:
		return s.N < 1<<20
	case capture.X87:
		return s.N < 8
	case capture.Saved:
		return int(s.N) < saves
	}
	return false
}

// checkPointers holds pointers to the bytes that they lie in. Types may refer to themselves, so that only so many levels are
// looked at: what is the same on each is right on all.
func checkPointers(ps []capture.Pointer, size uint32, level int) error {
	if level > 8 {
		return nil
	}
	for _, q := range ps {
		if q.Target == nil || q.Target.Size == 0 || q.Off+8 > size || q.Off+8 < q.Off {
			return fmt.Errorf("pointer at %d of %d bytes: %w", q.Off, size, errProgram)
		}
		if err := checkPointers(q.Target.Points, q.Target.Size, level+1); err != nil {
			return err
		}
	}
	return nil
}

// needsOf looks through a program for registers that the assembly routines don't save.
func needsOf(prog *capture.Program) translate.CaptureNeeds {
	var n translate.CaptureNeeds
	note := func(s capture.Source, at *uint32) {
		switch s.Kind {
		case capture.Vector:
			*at |= 1 << s.N
		case capture.X87:
			n.X87 = true
		}
	}
	for _, s := range prog.Saves {
		note(s, &n.Entry)
	}
	for i := range prog.Entry {
		note(prog.Entry[i].Src, &n.Entry)
	}
	for i := range prog.Exit {
		note(prog.Exit[i].Src, &n.Exit)
	}
	return n
}

// Alteration is what is to be changed of a call; nil: nothing.
func (c *Interception) Alteration(m capture.Moment) *capture.Alteration {
	if c.Prog.Alter == nil {
		return nil
	}
	return c.Prog.Alter(m)
}
