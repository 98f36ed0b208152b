package probe

import (
	"bytes"

	"alleria/engine/asm"
	"alleria/engine/translate"
	"alleria/engine/x86"
	"alleria/internal/layout"
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

// CapturesByJump tells whether the process may have such jumps.
func (p *Points) CapturesByJump() bool {
	return p.captures.armed > 0 && !p.off.NativeCapture && !p.off.CacheCapture && !p.jumps.off && !p.translator.KeepFlags
}

// wantsCaptureJump tells whether nothing but a capture is wanted at an address.
func (p *Points) wantsCaptureJump(addr uint64) bool {
	at := p.at[addr]
	if !p.CapturesByJump() || p.cache.Watched[addr] || p.sites[addr] > 0 {
		return false
	}
	if at == nil {
		return p.captures.sites[addr]
	}
	return at.capture != nil && at.entry == nil && at.returns == nil && at.within == nil && !p.captures.sites[addr]
}

// PlanCapture looks whether addr can have a jump that captures; nil if it cannot.
func (p *Points) PlanCapture(addr uint64) (*Jump, []x86.Insn) {
	j := &Jump{Entry: addr, captures: true}
	if at := p.at[addr]; at != nil {
		j.point, j.size = at.capture, at.size()
		if p.captureCode(j.point) == 0 || p.JumpsToItself(addr) {
			return nil, nil
		}
	}
	p.code.Reread(p.code.Mapping(addr))
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
	into := func(target uint64) bool { return target > j.Entry && target < j.end }
	if b == nil || b.leads(j.Entry+1, j.end) || p.nearBranch(b.start, b.end, j, into) {
		return nil, nil
	}
	return j, ins
}

// JumpsToItself tells whether the function at an address jumps to its own first instruction, as a loop that begins with it. Where it ends is what
// SetExtent has said; else it is taken to end in front of padding behind a return or jump.
func (p *Points) JumpsToItself(addr uint64) bool {
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
	if at := p.at[addr]; at != nil && len(at.function) > 0 {
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
func (p *Points) nopAt(addr uint64) uint64 {
	code := p.code.Fetch(addr, translate.FetchBytes)
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
func (p *Points) writeCapture(ar *JumpRegion, j *Jump, ins []x86.Insn) bool {
	if ar.next+maxCaptureCode > len(ar.mem) {
		return false
	}
	p.translator.Fetch(j.Entry, translate.FetchBytes) // InsBytes' code
	w := asm.New(ar.mem, ar.base, ar.next)
	a := &w
	j.Code = a.Here()
	a.CmpWordImm(layout.CaptureOurs, layout.CaptureMagic)
	links := []asm.Site{a.JccLater(asm.IfZero.Not())}
	var left asm.Site
	if j.point != nil {
		links = append(links, p.enterCapture(a, j))
	} else {
		links = append(links, p.siteOfStack(a, j.Entry)...)
		left = p.lookCapture(a)
	}
	j.Body = a.Here()
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
	j.Hit = a.Here()
	a.Int3()
	for _, s := range links {
		a.Link(s, j.Hit)
	}
	if !ok || a.Full() || a.Pos()-ar.next > maxCaptureCode {
		return false
	}
	ar.next = (a.Pos() + 15) &^ 15
	j.patchBytes()
	return true
}

// enterCapture writes the way to the code that captures an entry. It returns what leads to the int3.
func (p *Points) enterCapture(a *asm.Writer, j *Jump) asm.Site {
	a.StoreWord(layout.CaptureSpill, x86.RAX)
	a.StoreWord(layout.CaptureSpill+8, x86.RCX)
	ask := a.LeaCode(x86.RCX, a.Here())
	a.StoreWord(layout.CaptureAskAt, x86.RCX)
	next := a.LeaCode(x86.RCX, a.Here())
	a.StoreWord(layout.CaptureBack, x86.RCX)
	a.StoreWordImm(layout.CaptureNative, 1)
	a.JmpLiteral(j.point.code)
	j.Ask = a.Here()
	a.Int3()
	a.Link(next, a.Here())
	storeSaves(a, j.point)
	return ask
}

// siteOfStack writes the look whether the slot has the frames of the stack that has returned to site, and returns what leads to the int3 where it has not.
func (p *Points) siteOfStack(a *asm.Writer, site uint64) []asm.Site {
	switch {
	case p.Stacks():
		a.CmpWord(x86.RSP, layout.FramesLo)
		below := a.JccLater(asm.CondOf(0x72))
		a.CmpWord(x86.RSP, layout.FramesHi)
		return []asm.Site{below, a.JccLater(asm.CondOf(0x77))} // above: the return address may have been the stack's last word
	case !p.Goroutines():
		return nil
	case !p.GoSite(site):
		a.CmpWordImm(layout.FramesG, layout.OwnStack)
		return []asm.Site{a.JccLater(asm.IfZero.Not())}
	}
	a.CmpWord(x86.R14, layout.FramesG)
	other := a.JccLater(asm.IfZero.Not())
	a.StoreWord(layout.CaptureSpill+8, x86.RCX)
	a.Get(x86.RCX, x86.R14, layout.GoStackEnd)
	a.CmpWord(x86.RCX, layout.FramesHi)
	a.LoadWord(x86.RCX, layout.CaptureSpill+8)
	return []asm.Site{other, a.JccLater(asm.IfZero.Not())}
}

// lookCapture writes the look whether a frame ends, and returns what leads to where one does.
func (p *Points) lookCapture(a *asm.Writer) asm.Site {
	a.StoreWord(layout.CaptureSpill+8, x86.RCX)
	a.LoadWord(x86.RCX, layout.CaptureTop)
	a.Cmp(asm.WordBy(layout.CaptureFrames+layout.CaptureSP, x86.RCX, 1), 8, x86.RSP)
	left := a.JccLater(asm.CondOf(0x72)) // below
	a.LoadWord(x86.RCX, layout.CaptureSpill+8)
	return left
}

// leaveCapture writes the way to the routine that goes through frames. It returns what leads to the int3.
func (p *Points) leaveCapture(a *asm.Writer, j *Jump) asm.Site {
	a.StoreWord(layout.CaptureSpill, x86.RAX)
	a.LeaCode(x86.RAX, j.Body)
	a.StoreWord(layout.CaptureBack, x86.RAX)
	ask := a.LeaCode(x86.RAX, a.Here())
	a.StoreWord(layout.CaptureAskAt, x86.RAX)
	// Has it come here by a return? See ByReturn. Else nothing is captured of what it has left.
	a.MovImm(x86.RAX, j.Entry)
	a.Cmp(asm.At(x86.RSP, -8), 8, x86.RAX)
	returned := a.JccLater(asm.IfZero)
	a.MovImm(x86.RAX, NoSite)
	a.Link(returned, a.Here())
	a.StoreWord(layout.CaptureLeftTo, x86.RAX)
	a.LeaDisp(x86.RAX, x86.RSP, -8)
	a.StoreWord(layout.CaptureLeftSP, x86.RAX)
	a.JmpLiteral(p.cache.Regions[0].Base + p.cache.Regions[0].Routines.Capture.Left)
	return ask
}

// noteSite enters a place where native returns are caught into the table that code looks at.
func (p *Points) noteSite(site uint64) {
	free := -1
	for i := range layout.CaptureProbes {
		switch p.shm.Ctl.U64(siteWord(site, i)).Load() {
		case site:
			return
		case 0:
			if free < 0 {
				free = i
			}
		}
	}
	if free < 0 {
		free = int(site>>4) % layout.CaptureProbes // who is not there any more is asked about again
	}
	p.shm.Ctl.U64(siteWord(site, free)).Store(site)
}

// siteWord is one of the words in which a place may be.
func siteWord(site uint64, i int) int {
	const mask = layout.MaxCaptureSites - 1
	first := int((uint32(site>>layout.CaptureSiteShift) ^ uint32(site)) & mask)
	return layout.CaptureSites + 8*(first+i)
}

// dropNoted takes a place out of it.
func (p *Points) dropNoted(site uint64) {
	for i := range layout.CaptureProbes {
		p.shm.Ctl.U64(siteWord(site, i)).CompareAndSwap(site, 0)
	}
}

// dropSites empties that table.
func (p *Points) dropSites() {
	from := layout.CaptureSites
	for i := range layout.MaxCaptureSites + layout.CaptureProbes {
		if w := p.shm.Ctl.U64(from + 8*i); w.Load() != 0 {
			w.Store(0)
		}
	}
}

// patchBytes says what a jump's first bytes have to become. The int3s behind the jump are never reached, as far as anybody knows.
func (j *Jump) patchBytes() {
	j.ours = bytes.Clone(j.orig)
	patch := j.ours[j.Patch-j.Entry:]
	for i := range patch {
		patch[i] = 0xcc
	}
	to := asm.New(patch, j.Patch, 0)
	to.Jmp(j.Code)
}

// WorthCapture tells whether an address whose int3 a thread has just hit, or that it will return to, may have a jump that captures.
func (p *Points) WorthCapture(addr uint64) bool {
	js := &p.jumps
	if _, ok := p.probes.get(addr); !ok || js.refused[addr] || !p.wantsCaptureJump(addr) || !p.code.Executable(addr) {
		return false
	}
	js.hits[addr]++
	m := p.code.Mapping(addr)
	return m.End-m.Start <= largeImage || len(p.captures.images) > 0 || js.hits[addr] >= jumpHitsLarge
}

// CapturingAt is the jump that captures whose code begins at an address; nil: none.
func (p *Points) CapturingAt(rip uint64) *Jump {
	if j := p.JumpAt(rip); j != nil && j.captures && rip == j.Code {
		return j
	}
	return nil
}
