package calls

import "slices"

// arrive makes the top frame that of the function of the instruction that comes next.
func (t *Tracker) arrive(addr uint64, fn int32) {
	p := t.pend
	t.pend = pending{}
	matched := true
	switch p.op {
	case opCall:
		t.call(p, addr, fn)
	case opRet:
		matched = t.ret(p, addr, fn)
	default:
		matched = false
	}
	if n := len(t.frames); n > 0 && t.frames[n-1].match == fn {
		t.setTop()
		return
	}
	t.move(addr, fn, p, matched)
	t.setTop()
}

// setTop notes what the fast path wants to know of the top frame.
func (t *Tracker) setTop() {
	f := &t.frames[len(t.frames)-1]
	t.match, t.cur = f.match, f.node
}

// call pushes the frame of a function that was called. Where code was left out of the
// recording, what comes next may be something that the function called in turn, or what is
// behind the call.
func (t *Tracker) call(p pending, addr uint64, fn int32) {
	if n := len(t.frames); p.slot != 0 && n > 0 && t.frames[n-1].slot != 0 && t.frames[n-1].slot <= p.slot {
		t.resync(p.slot)
	}
	callee, entry := fn, addr
	if p.target != 0 && p.target != addr {
		if at := t.pl.at(p.target); at != fn {
			callee, entry = at, p.target
		}
	}
	switch {
	case addr == p.ret && entry == addr:
		if p.target == p.ret {
			return // for the address of the next instruction
		}
		if len(t.frames) > 0 && t.frames[len(t.frames)-1].match == fn {
			return // nothing of what was called is recorded, not even its name
		}
	case addr == p.ret:
		t.push(callee, entry, p)
		t.pop(1)
		return
	}
	t.push(callee, entry, p)
}

// push pushes the frame of a call.
func (t *Tracker) push(fn int32, entry uint64, p pending) {
	named := fn
	if t.function(fn).Name == NoFunction {
		named = t.pl.called(entry, fn)
	}
	n := t.nodes.child(t.top(), named, p.site)
	if t.count {
		t.nodes.all[n].calls++
	}
	t.frames = append(t.frames, frame{node: n, fn: named, match: t.function(named).match, slot: p.slot, ret: p.ret})
}

// top returns the top frame's node, the root's without any.
func (t *Tracker) top() int32 {
	if n := len(t.frames); n > 0 {
		return t.frames[n-1].node
	}
	return root
}

// pop drops n frames.
func (t *Tracker) pop(n int) { t.keep(len(t.frames) - n) }

// keep drops all frames but the first n.
func (t *Tracker) keep(n int) {
	if t.dropped != nil {
		for i := len(t.frames) - 1; i >= n; i-- {
			t.drop(&t.frames[i])
		}
	}
	t.frames = t.frames[:n]
}

// drop tells who follows frames of one that is gone.
func (t *Tracker) drop(f *frame) {
	if f.state != (State{}) {
		t.dropped(f.fn, &f.state)
	}
}

// finishFrames drops all that there are, on all stacks: the thread has ended.
func (t *Tracker) finishFrames() {
	t.keep(0)
	for _, frames := range t.dormant {
		t.forget(frames)
	}
}

// forget drops the frames of a stack that was kept.
func (t *Tracker) forget(frames []frame) {
	if t.dropped == nil {
		return
	}
	for i := len(frames) - 1; i >= 0; i-- {
		t.drop(&frames[i])
	}
}

// resync is asked where a call stores its return address above the frame that it seems to
// be of: frames have been left without returning, or the thread is on another stack. The
// frames above are dropped if the caller is below them.
func (t *Tracker) resync(slot uint64) {
	caller := t.frames[len(t.frames)-1].match
	for i := len(t.frames) - 1; i >= max(0, len(t.frames)-maxSearch); i-- {
		f := &t.frames[i]
		if f.slot > slot || f.slot == 0 {
			if f.match == caller && f.slot-slot < farAway {
				t.keep(i + 1)
			}
			return
		}
	}
}

// ret pops what a return leaves, to an address of function fn. It reports whether that was known.
func (t *Tracker) ret(p pending, addr uint64, fn int32) bool {
	n := len(t.frames)
	if n == 0 {
		return false
	}
	// A frame whose caller is not known returns by its first return.
	if p.slot != 0 {
		if i := t.findSlot(p.slot); i >= 0 {
			t.unwind(i)
			return true
		}
		if t.wake(p.slot) {
			return true
		}
	}
	if i := t.findReturn(addr, p.slot == 0); i >= 0 {
		t.unwind(i)
		return true
	}
	if t.found(addr, fn) {
		return true
	}
	if top := &t.frames[n-1]; top.tail || top.slot == 0 {
		t.pop(1)
	}
	return false
}

// findSlot returns the frame that returns by the address at slot, -1 if there is none.
func (t *Tracker) findSlot(slot uint64) int {
	for i := len(t.frames) - 1; i >= max(0, len(t.frames)-maxSearch); i-- {
		if t.frames[i].slot == slot && !t.frames[i].tail {
			return i
		}
	}
	return -1
}

// findReturn returns the frame that returns to addr: the top one behind those that were
// entered without a call, or any where stack addresses are not known.
func (t *Tracker) findReturn(addr uint64, any bool) int {
	for i := len(t.frames) - 1; i >= max(0, len(t.frames)-maxSearch); i-- {
		f := &t.frames[i]
		if f.ret == addr && !f.tail {
			return i
		}
		if !any && !f.tail {
			return -1
		}
	}
	return -1
}

// unwind drops frame i and those above it. A stack that is thereby left, and not by its
// first function's return, is kept.
func (t *Tracker) unwind(i int) {
	for k := i + 1; k < len(t.frames); k++ {
		if t.frames[k].base {
			if t.sleep(t.frames[k:]) {
				t.frames = t.frames[:k]
			}
			break
		}
	}
	t.keep(i)
}

// sleep keeps the frames of a stack that the thread has left by switching to another. false: it cannot be found again.
func (t *Tracker) sleep(frames []frame) bool {
	top := frames[len(frames)-1].slot
	if top == 0 {
		return false
	}
	kept := slices.Clone(frames)
	if k, ok := t.bySlot[top]; ok {
		t.forget(t.dormant[k])
		t.dormant[k] = kept
		return true
	}
	if len(t.dormant) >= maxDormant {
		for _, f := range t.dormant {
			t.forget(f)
		}
		t.dormant, t.bySlot = nil, map[uint64]int{} // their frames will be found to have no callers
	}
	t.bySlot[top] = len(t.dormant)
	t.dormant = append(t.dormant, kept)
	return true
}

// wake goes on with a kept stack whose top frame returns by the address at slot.
func (t *Tracker) wake(slot uint64) bool {
	k, ok := t.bySlot[slot]
	if !ok {
		return false
	}
	woken := t.dormant[k]
	delete(t.bySlot, slot)
	t.dormant[k] = t.dormant[len(t.dormant)-1]
	t.dormant = t.dormant[:len(t.dormant)-1]
	for s, i := range t.bySlot {
		if i == len(t.dormant) {
			t.bySlot[s] = k
			break
		}
	}
	// From one such stack to another: the current one sleeps.
	for i := len(t.frames) - 1; i >= max(0, len(t.frames)-maxSearch); i-- {
		if t.frames[i].base {
			if t.sleep(t.frames[i:]) {
				t.frames = t.frames[:i]
			}
			t.keep(i)
			break
		}
	}
	t.forget(woken[len(woken)-1:])
	t.frames = append(t.frames, woken[:len(woken)-1]...)
	return true
}

// move goes on in another function without a call that was matched: by a jump, a return to
// elsewhere, a signal, or behind code that was not recorded.
func (t *Tracker) move(addr uint64, fn int32, p pending, matched bool) {
	f := t.function(fn)
	entry := addr == f.Addr && f.Addr != 0
	ends := p.op == opRet // what follows was not jumped to but returned to
	// A return to a function's beginning, on another stack, starts that stack.
	base := ends && !matched && p.slot != 0 && t.far(p.slot)
	if !entry || ends && !base {
		if i := t.findFunction(fn); i >= 0 {
			t.unwind(i + 1)
			return
		}
	} else if i := t.findTail(fn); i >= 0 && !base {
		// Functions that go on in each other again and again return only once.
		t.keep(i + 1)
		if t.count {
			t.nodes.all[t.frames[i].node].calls++
		}
		return
	}
	named := fn
	slot := uint64(0)
	if n := len(t.frames); n > 0 && !base {
		slot = t.frames[n-1].slot
	}
	n := t.nodes.child(t.top(), named, 0)
	if entry && t.count { // also where a window opens at the call, and its caller is not known
		t.nodes.all[n].calls++
	}
	t.frames = append(t.frames, frame{node: n, fn: named, match: f.match, tail: len(t.frames) > 0 && !base, base: base, slot: slot})
}

// far reports whether a stack address is of another stack than the current frame's.
func (t *Tracker) far(slot uint64) bool {
	for i := len(t.frames) - 1; i >= 0; i-- {
		if s := t.frames[i].slot; s != 0 {
			return slot > s || s-slot > farAway
		}
	}
	return false
}

// findTail looks for a function among those that return with the top frame, entered from
// the same function.
func (t *Tracker) findTail(fn int32) int {
	n := len(t.frames)
	for i := n - 1; i > max(0, n-maxSearch) && t.frames[i].tail; i-- {
		if t.frames[i].match == fn && t.frames[i-1].match == t.frames[n-1].match {
			return i
		}
	}
	return -1
}

// findFunction looks for a function among all frames, from the top down.
func (t *Tracker) findFunction(fn int32) int {
	for i := len(t.frames) - 1; i >= max(0, len(t.frames)-maxSearch); i-- {
		if t.frames[i].match == fn {
			return i
		}
	}
	return -1
}
