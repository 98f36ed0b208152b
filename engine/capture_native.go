package engine

import (
	"bytes"

	"alleria/engine/asm"
	"alleria/engine/translate"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Captures natively: a jump (jump.go) in place of the int3 at a function's entry leads to the code that captures it, and one at
// each place that such a function has returned to looks whether a frame ends there.
//
// Per-thread memory comes from gs: the base of a native thread whose application does not use gs itself is its slot's, as in
// the cache, as long as native code captures. The jump's code makes sure of it by a word in the slot, since a program may set gs at any time:
// it then stops at an int3, or faults at that very instruction, which is the same.
//
// Where a function returns to is known when it is entered: code looks whether it is caught there, in a table of the control area, and
// stops once if it is not.
//
// The flags are overwritten at both. At a function's entry and behind a call they mean nothing by the calling convention;
// code that reads them there all the same gets no jump.

// capturesByJump tells whether the process may have such jumps.
func (p *Process) capturesByJump() bool {
	return p.captures.armed > 0 && !p.tr.opts.NoNativeCapture && !p.tr.opts.NoCodeCapture && !p.jumps.off && !p.translator.KeepFlags
}

// nativeGS is the base of gs with which a thread runs natively.
func (t *Thread) nativeGS() uint64 {
	if t.appGS == 0 && t.slot != nil && !t.vfork && t.p.capturesByJump() {
		return t.slot.Base
	}
	return t.appGS
}

// noteGS takes the application's base of gs from a native thread's registers.
func (t *Thread) noteGS(regs *sys.Regs) {
	if t.slot != nil && regs.Gs_base == t.slot.Base {
		t.appGS = 0
		return
	}
	t.appGS = regs.Gs_base
}

// wantsCaptureJump tells whether nothing but a capture is wanted at an address.
func (p *Process) wantsCaptureJump(addr uint64) bool {
	at := p.placeAt[addr]
	if !p.capturesByJump() || p.cache.Watched[addr] || p.sites[addr] > 0 {
		return false
	}
	if at == nil {
		return p.captures.sites[addr]
	}
	return at.capture != nil && at.entry == nil && at.returns == nil && at.within == nil && !p.captures.sites[addr]
}

// considerCapture gives addr, where a thread stands or will return to, a jump that captures, if that is possible. regs is what
// the thread, which is stopped, will go on with. It tells whether there is one now.
func (tr *Tracer) considerCapture(t *Thread, regs *sys.Regs, addr uint64) (bool, error) {
	p := t.p
	js := &p.jumps
	if _, ok := p.probes[addr]; !ok || js.refused[addr] || p.mode != ModeNative || !t.native || t.vfork || t.appGS != 0 || !p.wantsCaptureJump(addr) || !p.executable(addr) {
		return false, nil
	}
	js.hits[addr]++
	if m := p.code.mapping(addr); m.End-m.Start > largeImage && len(p.captures.images) == 0 && js.hits[addr] < jumpHitsLarge {
		return false, nil
	}
	if p.shm.Ctl.U32(layout.NoCalls).Load() != 0 || p.letGoThreads {
		js.off = true
		return false, nil
	}
	j, ins := p.planCapture(addr)
	if j == nil {
		js.refused[addr] = true
		return false, nil
	}
	if err := sys.SetRegs(t.tid, regs); err != nil {
		return false, err
	}
	thaw := tr.freeze(p)
	defer thaw()
	ar, err := tr.jumpArea(t, addr)
	if err != nil {
		return false, err
	}
	if ar == nil || !p.writeCapture(ar, j, ins) {
		js.refused[addr] = true
		return false, nil
	}
	js.add(j)
	if !tr.placeJump(t, j) {
		js.refused[addr] = true
		return false, nil
	}
	return true, nil
}

// planCapture looks whether addr can have a jump that captures; nil if it cannot.
func (p *Process) planCapture(addr uint64) (*jump, []x86.Insn) {
	j := &jump{entry: addr, captures: true}
	if at := p.placeAt[addr]; at != nil {
		j.point, j.size = at.capture, at.size()
		if p.captureCode(j.point) == 0 || p.jumpsTo(addr) {
			return nil, nil
		}
	}
	p.code.reread(p.code.mapping(addr))
	ins := p.displaceCapture(j)
	if ins == nil || p.disturbed(j) {
		return nil, nil
	}
	for i := range ins {
		// Behind a call that does not return something else may begin.
		if j.point == nil && (ins[i].Cat == x86.CatNOP || ins[i].Cat == x86.CatWIDENOP) {
			return nil, nil
		}
	}
	b := p.branchesOf(addr)
	into := func(target uint64) bool { return target > j.entry && target < j.end }
	if b == nil || b.leads(j.entry+1, j.end) || p.nearBranch(b.start, b.end, j, into) {
		return nil, nil
	}
	return j, ins
}

// jumpsTo tells whether the function at an address jumps to its own first instruction, as a loop that begins with it. Where it ends is what
// SetExtent has said; else it is taken to end in front of padding behind a return or jump.
func (p *Process) jumpsTo(addr uint64) bool {
	const most = 4096
	back, left, ended := false, false, uint64(0)
	look := func(in *x86.Insn) bool {
		if ended != 0 && in.Addr == ended && (in.Cat == x86.CatNOP || in.Cat == x86.CatWIDENOP || in.Mnem == x86.MINT3) {
			left = true
			return true
		}
		ended = 0
		if in.Cat == x86.CatRET || in.Cat == x86.CatUNCONDBR {
			ended = in.Next()
		}
		back = in.Attr&x86.AttrRel != 0 && (in.Cat == x86.CatCONDBR || in.Cat == x86.CatUNCONDBR) && in.Target() == addr
		return back
	}
	if at := p.placeAt[addr]; at != nil && len(at.function) > 0 {
		for _, e := range at.function {
			ended = 0
			for from := e.Start; from < e.End && !back; {
				if left = false; !p.eachInsn(from, e.End, look) || !left {
					break
				}
				from, ended = ended, 0 // padding in the middle
				for from < e.End && p.nopAt(from) > 0 {
					from += p.nopAt(from)
				}
			}
		}
		return back
	}
	p.eachInsn(addr, addr+most, look)
	return back
}

// nopAt is the length of an instruction that does nothing at an address, 0: it is another one.
func (p *Process) nopAt(addr uint64) uint64 {
	code := p.fetch(addr, translate.FetchBytes)
	var ins [1]x86.Insn
	if n, _ := x86.Decode(code, addr, ins[:]); n == 0 || ins[0].Cat != x86.CatNOP && ins[0].Cat != x86.CatWIDENOP && ins[0].Mnem != x86.MINT3 {
		return 0
	}
	return uint64(ins[0].Len)
}

// flagsUnread tells whether no instruction up to the block's end finds the flags as they are before the first. What follows
// the block is reached by a call, a return or a jump of a function, across which they mean nothing.
func flagsUnread(ins []x86.Insn) bool {
	left := uint8(x86.AllFlags)
	for i := range ins {
		in := &ins[i]
		if in.FlagsRead&left != 0 {
			return false
		}
		left &^= in.FlagsAlways()
	}
	return true
}

// maxCaptureCode bounds the code of one jump that captures.
const maxCaptureCode = 512

// writeCapture writes the code of a jump that captures and says what the first bytes have to become; false if something is too far away.
func (p *Process) writeCapture(ar *jumpArea, j *jump, ins []x86.Insn) bool {
	if ar.next+maxCaptureCode > len(ar.mem) {
		return false
	}
	p.translator.Fetch(j.entry, translate.FetchBytes) // InsBytes' code
	w := asm.New(ar.mem, ar.base, ar.next)
	a := &w
	j.code = a.Here()
	a.CmpWordImm(layout.CaptureOurs, layout.CaptureMagic)
	links := []asm.Site{a.JccLater(asm.IfZero.Not())}
	var left asm.Site
	if j.point != nil {
		links = append(links, p.enterCapture(a, j))
	} else {
		left = p.lookCapture(a)
	}
	j.body = a.Here()
	ok := true
	for i := range ins {
		j.moved = append(j.moved, movedInsn{ins[i].Addr, a.Here()})
		ok = ok && p.moveAny(a, &ins[i])
	}
	if !endsFlow(&ins[len(ins)-1]) {
		a.Jmp(j.end)
	}
	if j.point == nil {
		a.Link(left, a.Here())
		links = append(links, p.leaveCapture(a, j))
	}
	j.hit = a.Here()
	a.Int3()
	for _, s := range links {
		a.Link(s, j.hit)
	}
	if !ok || a.Full() || a.Pos()-ar.next > maxCaptureCode {
		return false
	}
	ar.next = (a.Pos() + 15) &^ 15
	j.patchBytes()
	return true
}

// enterCapture writes the way to the code that captures an entry. It returns what leads to the int3.
func (p *Process) enterCapture(a *asm.Writer, j *jump) asm.Site {
	a.StoreWord(layout.CaptureSpill, x86.RAX)
	a.StoreWord(layout.CaptureSpill+8, x86.RCX)
	ask := a.LeaCode(x86.RCX, a.Here())
	a.StoreWord(layout.CaptureAskAt, x86.RCX)
	next := a.LeaCode(x86.RCX, a.Here())
	a.StoreWord(layout.CaptureBack, x86.RCX)
	a.StoreWordImm(layout.CaptureNative, 1)
	a.JmpLiteral(j.point.code)
	j.ask = a.Here()
	a.Int3()
	a.Link(next, a.Here())
	storeSaves(a, j.point)
	return ask
}

// lookCapture writes the look whether a frame ends, and returns what leads to where one does.
func (p *Process) lookCapture(a *asm.Writer) asm.Site {
	a.StoreWord(layout.CaptureSpill+8, x86.RCX)
	a.LoadWord(x86.RCX, layout.CaptureTop)
	a.Cmp(asm.WordBy(layout.CaptureFrames+layout.CaptureSP, x86.RCX, 1), 8, x86.RSP)
	left := a.JccLater(asm.CondOf(0x72)) // below
	a.LoadWord(x86.RCX, layout.CaptureSpill+8)
	return left
}

// leaveCapture writes the way to the routine that goes through frames. It returns what leads to the int3.
func (p *Process) leaveCapture(a *asm.Writer, j *jump) asm.Site {
	a.StoreWord(layout.CaptureSpill, x86.RAX)
	a.LeaCode(x86.RAX, j.body)
	a.StoreWord(layout.CaptureBack, x86.RAX)
	ask := a.LeaCode(x86.RAX, a.Here())
	a.StoreWord(layout.CaptureAskAt, x86.RAX)
	a.MovImm(x86.RAX, j.entry)
	a.StoreWord(layout.CaptureLeftTo, x86.RAX)
	a.LeaDisp(x86.RAX, x86.RSP, -8)
	a.StoreWord(layout.CaptureLeftSP, x86.RAX)
	a.JmpLiteral(p.cache.Regions[0].Base + p.cache.Regions[0].Routines.Capture.Left)
	return ask
}

// siteAsked catches the returns of a call that has just been captured natively, in a thread that has executed the int3 of j for that.
// It goes on with the function.
func (tr *Tracer) siteAsked(t *Thread, regs *sys.Regs) error {
	t.noteGS(regs)
	f := t.topCapture()
	site := f.site()
	if err := t.p.catchAt(site); err != nil {
		return err
	}
	if _, err := tr.considerCapture(t, regs, site); err != nil {
		return err
	}
	if tr.modeDiffers(t) {
		return tr.switchStopped(t)
	}
	return tr.resume(t, 0)
}

// captureJump is the jump whose code a thread is at, if its first instruction has just faulted: gs does not lead to a slot.
func (p *Process) captureJump(rip uint64, h *heldSignal) *jump {
	if h.sig != sigSegv || !h.fault() {
		return nil
	}
	if j := p.jumpAt(rip); j != nil && j.captures && rip == j.code {
		return j
	}
	return nil
}

// noteSite enters a place where native returns are caught into the table that code looks at.
func (p *Process) noteSite(site uint64) {
	const mask = layout.MaxCaptureSites - 1
	first := int((uint32(site>>layout.CaptureSiteShift) ^ uint32(site)) & mask)
	word := func(i int) int { return layout.CaptureSites + 8*(first+i) }
	for i := range layout.CaptureProbes {
		switch p.shm.Ctl.U64(word(i)).Load() {
		case site:
			return
		case 0:
			p.shm.Ctl.U64(word(i)).Store(site)
			return
		}
	}
	p.shm.Ctl.U64(word(int(site>>4) % layout.CaptureProbes)).Store(site) // who is not there any more is asked about again
}

// dropSites empties that table.
func (p *Process) dropSites() {
	from := layout.CaptureSites
	for i := range layout.MaxCaptureSites + layout.CaptureProbes {
		if w := p.shm.Ctl.U64(from + 8*i); w.Load() != 0 {
			w.Store(0)
		}
	}
}

// patchBytes says what a jump's first bytes have to become. The int3s behind the jump are never reached, as far as anybody knows.
func (j *jump) patchBytes() {
	j.ours = bytes.Clone(j.orig)
	patch := j.ours[j.patch-j.entry:]
	for i := range patch {
		patch[i] = 0xcc
	}
	to := asm.New(patch, j.patch, 0)
	to.Jmp(j.code)
}
