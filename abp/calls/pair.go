package calls

import (
	"maps"
	"slices"
)

// End is how a call ended.
type End uint8

// The ends.
const (
	Returned   End = iota
	LeftBehind     // by longjmp, an exception, or a jump: a return further out, or a call from further out, came first
	Unfinished     // the recording or the thread ended inside
	Unawaited      // its return was not awaited
	BeforeArm      // a return without an entry: the function ran already when it was armed
)

// String words the end.
func (e End) String() string {
	names := [...]string{"returned", "left without returning", "unfinished", "return not captured", "entered before"}
	if int(e) < len(names) {
		return names[e]
	}
	return "unknown"
}

// Call is one call of a function.
type Call struct {
	Sig    *Signature
	Thread uint32
	Number uint64 // of the call within its thread, from 1, in the order of entries
	Depth  int    // intercepted calls around it
	Start  uint64 // TSC at entry
	Stop   uint64 // TSC at the return, or when it was known to be left; 0: never
	Inner  uint64 // of that time, ticks spent in intercepted calls below
	SP     uint64 // where the return address lay
	Caller uint64 // return address
	Parent uint32 // function of the intercepted call around it, 0 none
	End    End
	// Changes are what was changed of it: at entry, and at return once it has ended.
	Changes []Change

	entry, exit       []uint64
	entryCut, exitCut bool
	place             uint64 // pending.place of SP, when it was entered
}

// In are the values captured at entry.
func (c *Call) In(t *Table) ([]Argument, error) {
	if c.End == BeforeArm {
		return nil, nil
	}
	args, err := c.Sig.Values(t, false, c.entry, c.entryCut)
	if c.Sig.Variadic && err == nil {
		args = c.Sig.variadic(t, args)
	}
	return args, err
}

// EntryWords are the words captured at entry, as the engine wrote them; cut tells that a bound ended them.
func (c *Call) EntryWords() (words []uint64, cut bool) { return c.entry, c.entryCut }

// Out are the values captured at return.
func (c *Call) Out(t *Table) ([]Argument, error) {
	if c.End != Returned && c.End != BeforeArm {
		return nil, nil
	}
	return c.Sig.Values(t, true, c.exit, c.exitCut)
}

// Clone is a copy that stays good.
func (c *Call) Clone() *Call {
	d := *c
	d.Changes = append([]Change(nil), c.Changes...)
	d.entry, d.exit = append([]uint64(nil), c.entry...), append([]uint64(nil), c.exit...)
	return &d
}

// Pairer makes calls of the records of one thread. What Add hands out is good until it is called again.
type Pairer struct {
	// Entered is called for each call when it is entered, Ended when it has ended; both may be nil.
	Entered, Ended func(*Call) error
	Thread         uint32
	Goroutines     *Goroutines // of the process: the Pairers of its threads share them
	sigs           map[uint32]*Signature
	first          pending  // the thread's stack as long as there is but one, or it is not known which
	own            *pending // the one that the thread is on
	on             *pending // the goroutine's on which functions in Go run now
	free           []*Call
	number         uint64
	last           uint64 // TSC
	part           Record // what was put together of a record of several marks
	parted         bool
}

// pending is the calls on a stack that have not ended.
type pending struct {
	calls      []*Call    // from the outermost
	end        uint64     // of a goroutine's stack, which may move: where calls are on it counts from there; 0: a thread's
	replaced   *Signature // of a call that was left, behind which its function was entered again by another signature
	replacedAt uint64
}

// place is where on the stack a return address lies, greater further out.
func (s *pending) place(sp uint64) uint64 { return sp - s.end }

// Goroutines are those of a process, of which each may be on any thread: they have their calls, where a thread's Pairer has those on its own stack.
// So are a program's other stacks.
type Goroutines struct {
	of     map[uint64]*pending
	stacks []*stack
}

// stack is one of a program's that has several a thread.
type stack struct {
	lo, hi uint64
	pending
}

// NewPairer makes one for a thread, with goroutines of its own.
func NewPairer(sigs map[uint32]*Signature, thread uint32) *Pairer {
	p := &Pairer{sigs: sigs, Thread: thread, on: &pending{}, Goroutines: &Goroutines{}}
	p.own = &p.first
	return p
}

// stand has the thread stand on the stack from lo to hi. What of it the thread had before stacks were told apart comes with it.
func (p *Pairer) stand(lo, hi uint64) {
	all := &p.Goroutines.stacks
	k := slices.IndexFunc(*all, func(s *stack) bool { return s.lo < hi && s.hi > lo })
	if k < 0 {
		k = len(*all)
		*all = append(*all, &stack{})
	}
	s := (*all)[k]
	s.lo, s.hi = lo, hi
	in := func(c *Call) bool { return c.SP >= lo && c.SP < hi }
	for _, c := range p.first.calls {
		if in(c) {
			s.calls = append(s.calls, c)
		}
	}
	p.first.calls = slices.DeleteFunc(p.first.calls, in)
	p.own = &s.pending
}

// turn has calls of functions in Go be those of a goroutine, whose stack ends at end.
func (p *Pairer) turn(g, end uint64) {
	if p.Goroutines.of == nil {
		p.Goroutines.of = make(map[uint64]*pending)
	}
	s := p.Goroutines.of[g]
	if s == nil {
		s = &pending{}
		p.Goroutines.of[g] = s
	}
	s.end = end
	p.on = s
}

// Add takes the thread's next record.
func (p *Pairer) Add(r *Record) error {
	p.last = max(p.last, r.TSC)
	if p.parted && (r.Func != p.part.Func || r.SP != p.part.SP || r.Exit != p.part.Exit) {
		p.parted = false // its end was lost
		part := p.part
		part.More, part.Cut = false, true
		if err := p.whole(&part); err != nil {
			return err
		}
	}
	if r.More || p.parted {
		words := p.part.Words
		if !p.parted {
			words = words[:0]
		}
		words = append(words, r.Words...)
		altered := r.Altered || p.parted && p.part.Altered
		p.part, p.parted = *r, r.More
		p.part.Words, p.part.Altered = words, altered
		if r.More {
			return nil
		}
		return p.whole(&p.part)
	}
	return p.whole(r)
}

// whole takes a record that is complete.
func (p *Pairer) whole(r *Record) error {
	switch {
	case r.Func != ofGoroutine:
	case r.Exit:
		p.stand(r.SP, r.Ret)
		return nil
	default:
		p.turn(r.SP, r.Ret)
		return nil
	}
	sig := p.sigs[r.Func]
	if sig == nil {
		return nil // of a function that another file defines
	}
	var changes []Change
	if r.Altered {
		var err error
		plain := *r
		if changes, plain.Words, err = changesOf(r.Words); err != nil {
			return err
		}
		for i := range changes {
			changes[i].AtReturn = r.Exit
		}
		r = &plain
	}
	on := p.own
	if sig.Goroutine {
		on = p.on
	}
	if r.Exit {
		return p.returned(on, r, sig, changes)
	}
	return p.entered(on, r, sig, changes)
}

// entered takes an entry. What lies deeper in the stack than the new call's return address has been left; what lies in the same place
// as well, unless it is a tail call of another function: then the return address is the same.
func (p *Pairer) entered(on *pending, r *Record, sig *Signature, changes []Change) error {
	at := on.place(r.SP)
	for n := len(on.calls); n > 0; n = len(on.calls) {
		top := on.calls[n-1]
		if top.place > at || top.place == at && top.Caller == r.Ret && top.Sig.Returns && !top.Sig.sameFunction(sig) {
			break
		}
		if top.place == at && top.Sig != sig {
			on.replaced, on.replacedAt = top.Sig, top.place
		}
		if err := p.pop(on, r.TSC, top.leaves()); err != nil {
			return err
		}
	}
	c := p.call()
	*c = Call{Sig: sig, Changes: changes, entry: append(c.entry[:0], r.Words...), exit: c.exit[:0], entryCut: r.Cut}
	return p.push(on, c, r)
}

// push begins a call.
func (p *Pairer) push(on *pending, c *Call, r *Record) error {
	p.number++
	c.Thread, c.Number, c.Depth, c.Start, c.SP, c.Caller, c.place = p.Thread, p.number, len(on.calls), r.TSC, r.SP, r.Ret, on.place(r.SP)
	if n := len(on.calls); n > 0 {
		c.Parent = on.calls[n-1].Sig.Number
	}
	on.calls = append(on.calls, c)
	if p.Entered != nil {
		return p.Entered(c)
	}
	return nil
}

// leaves is how a call has ended that was passed over.
func (c *Call) leaves() End {
	if !c.Sig.Returns {
		return Unawaited
	}
	return LeftBehind
}

// sameFunction tells whether two signatures are of one function, which is captured in several ways.
func (s *Signature) sameFunction(o *Signature) bool { return s == o || s.Addr != 0 && s.Addr == o.Addr }

// returned takes a return: of the innermost call of that function with that place of the return address.
func (p *Pairer) returned(on *pending, r *Record, sig *Signature, changes []Change) error {
	at, place := -1, on.place(r.SP)
	for i := len(on.calls) - 1; i >= 0 && on.calls[i].place <= place; i-- {
		if on.calls[i].place == place && on.calls[i].Sig == sig {
			at = i
			break
		}
	}
	if at < 0 {
		if sig == on.replaced && place == on.replacedAt {
			return nil // code has taken the call that had been left for one that has made a tail call
		}
		c := p.call()
		*c = Call{Sig: sig, End: BeforeArm, Changes: changes, entry: c.entry[:0], exit: append(c.exit[:0], r.Words...), exitCut: r.Cut}
		if err := p.push(on, c, r); err != nil {
			return err
		}
		return p.pop(on, r.TSC, BeforeArm)
	}
	for len(on.calls) > at+1 {
		// A tail call's function returns together with the one that made it: the same place, and the return of
		// the outer one may be reported first.
		if err := p.pop(on, r.TSC, on.calls[len(on.calls)-1].leaves()); err != nil {
			return err
		}
	}
	c := on.calls[at]
	c.Changes = append(c.Changes, changes...)
	c.exit, c.exitCut = append(c.exit[:0], r.Words...), r.Cut
	return p.pop(on, r.TSC, Returned)
}

// pop ends the innermost call.
func (p *Pairer) pop(on *pending, tsc uint64, end End) error {
	n := len(on.calls) - 1
	c := on.calls[n]
	on.calls = on.calls[:n]
	c.Stop, c.End = tsc, end
	if n > 0 && tsc > c.Start {
		on.calls[n-1].Inner += tsc - c.Start
	}
	p.free = append(p.free, c)
	if p.Ended != nil {
		return p.Ended(c)
	}
	return nil
}

// Finish ends the calls that are still open, those of the process's goroutines as well.
func (p *Pairer) Finish() error {
	if err := p.finish(&p.first); err != nil {
		return err
	}
	for _, s := range p.Goroutines.stacks {
		if err := p.finish(&s.pending); err != nil {
			return err
		}
	}
	for _, g := range slices.Sorted(maps.Keys(p.Goroutines.of)) {
		if err := p.finish(p.Goroutines.of[g]); err != nil {
			return err
		}
	}
	return p.finish(p.on)
}

// finish ends those on a stack.
func (p *Pairer) finish(on *pending) error {
	for len(on.calls) > 0 {
		top := on.calls[len(on.calls)-1]
		end := Unfinished
		if !top.Sig.Returns {
			end = Unawaited
		}
		if err := p.pop(on, p.last, end); err != nil {
			return err
		}
		top.Stop = 0
	}
	return nil
}

// call makes a Call or takes one that was used.
func (p *Pairer) call() *Call {
	if n := len(p.free); n > 0 {
		c := p.free[n-1]
		p.free = p.free[:n-1]
		return c
	}
	return new(Call)
}
