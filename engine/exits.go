package engine

// exit is a direct branch whose target had no translation when it was written.
// It is linked once the target has one.
// Exits are numbered; the number is what translated code asks with.
type exit struct {
	site     uint64 // cache address of the displacement
	target   uint64 // application address
	area     *area
	v        Variant
	fixed    bool // never linked: the tracer wants to be asked (notify points, system calls)
	call     bool // follows a SyscallNotify call
	recorded bool // call: the instruction is part of the records
	spent    bool // behind a block that used the budget up
	how      arrival
	rareExit
}

// rareExit is what few exits have.
type rareExit struct {
	need  *shortage // of a block that exceeds a budget
	stale *block    // the code of this block has changed
	trap  *block    // the tracer executes this block's last instruction
}

// exitWords is an exit as it is kept: there are more of them than blocks, so it has no
// pointers and 24 bytes.
type exitWords struct {
	target uint64
	site   uint32 // offset of the displacement in the area; 0 for none
	next   uint32 // the next exit that waits for the same target, by number, plus 1
	rare   uint32 // number of its rareExit, plus 1
	area   uint8
	v      Variant
	flags  uint8
}

// Bits of exitWords.flags.
const (
	exitFixed = 1 << iota
	exitCall
	exitRecorded
	exitSpent
	exitHow // two bits: the arrival
)

// newExit enters an exit and returns its number. Exits to notify points are
// never linked: the tracer wants to be asked each time.
func (p *Process) newExit(e exit) int {
	w, n := p.exits.add()
	*w = exitWords{target: e.target, area: e.area.num, v: e.v}
	if e.site != 0 {
		w.site = uint32(e.site - e.area.base)
	}
	w.flag(exitFixed, e.fixed || p.notify[e.target])
	w.flag(exitCall, e.call)
	w.flag(exitRecorded, e.recorded)
	w.flag(exitSpent, e.spent)
	w.flags |= uint8(e.how) * exitHow
	if e.rareExit != (rareExit{}) {
		p.rareExits = append(p.rareExits, e.rareExit)
		w.rare = uint32(len(p.rareExits))
	}
	if w.flags&exitFixed == 0 {
		p.await(w, n)
		p.aheadOf(e.target, e.v)
	}
	return n
}

func (w *exitWords) flag(bit uint8, on bool) {
	if on {
		w.flags |= bit
	}
}

// exitAt returns the exit of that number.
func (p *Process) exitAt(n int) exit {
	w := p.exits.at(n)
	e := exit{target: w.target, area: p.areas[w.area], v: w.v, fixed: w.flags&exitFixed != 0, call: w.flags&exitCall != 0,
		recorded: w.flags&exitRecorded != 0, spent: w.flags&exitSpent != 0, how: arrival(w.flags / exitHow & 3)}
	if w.rare != 0 {
		e.rareExit = p.rareExits[w.rare-1]
	}
	return e
}

// await puts an exit into the list of those that wait for its target. If there is a block,
// which the exit's branch does not reach, nobody waits: it is linked when it asks first.
func (p *Process) await(w *exitWords, n int) {
	s := p.makeSlot(w.target, w.v)
	if p.refTo(s.ref) != nil {
		return
	}
	if first, ok := s.ref.exit(); ok {
		w.next = uint32(first) + 1
	}
	s.ref = exitRef(n)
}

// enteredBlock is a block of the unit being written and the first of the exits that
// wait for it, by number plus 1.
type enteredBlock struct {
	b     *block
	waits uint32
}

// enter makes a block known. The exits that wait for it are linked once the
// unit is complete.
func (p *Process) enter(b *block) {
	s := p.makeSlot(b.app, b.variant)
	e := enteredBlock{b: b}
	if first, ok := s.ref.exit(); ok {
		e.waits = uint32(first) + 1
	}
	s.ref = blockRef(b.num)
	p.entered = append(p.entered, e)
	if p.scratch.newHead == b.app && b.app != 0 {
		p.scratch.newHead, b.headed = 0, true
	}
	if k := (headKey{b.variant, b.app}); len(p.bareHeads) > 0 && p.bareHeads[k] {
		delete(p.bareHeads, k)
		b.headed = true
	}
}

// linkEntered links the exits that waited for the blocks just written.
// Watched addresses are left out: their exits keep asking.
func (p *Process) linkEntered() {
	for _, e := range p.entered {
		if p.notify[e.b.app] {
			continue
		}
		for n := e.waits; n != 0; n = p.exits.at(int(n) - 1).next {
			p.link(int(n)-1, e.b)
		}
	}
	p.entered = p.entered[:0]
}

// link patches an exit's branch to lead to b. A thread that is on its way through the
// exit's stub gets its answer from the request, which names the target as well.
func (p *Process) link(n int, b *block) {
	e := p.exits.at(n)
	if e.flags&exitFixed != 0 || e.site == 0 {
		return
	}
	if p.siteGone(p.areas[e.area].base + uint64(e.site)) {
		e.site = 0
		return
	}
	ar, to := p.areas[e.area], b.at(arrival(e.flags/exitHow&3))
	if !ar.contains(to) {
		to = p.veneer(ar, to)
	}
	patch32(ar.mem[e.site:], uint32(int64(to)-int64(ar.base+uint64(e.site)+4)))
	e.site = 0
}
