package probe

import (
	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/translate"
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// maxJumpCode bounds the code of one jump.
const maxJumpCode = 128

// displace finds the instructions that a jump at j.entry displaces, and fills in
// what follows from them; nil if they cannot be displaced.
//
// The flags are overwritten by the count, so that code in front of which they may
// matter gets no jump: hardly any function of a compiler, some written by hand.
func (p *Points) displace(j *Jump) []x86.Insn {
	const most = 32 // instructions until the flags are known to be overwritten
	if p.code.MayChange(j.Entry) {
		return nil
	}
	buf := make([]x86.Insn, most)
	code := p.code.Fetch(j.Entry, translate.FetchBytes)
	n, _ := x86.Decode(code, j.Entry, buf)
	ins := buf[:n]
	j.Patch = j.Entry
	if len(ins) > 1 && isEndbr(code) { // stays: indirect calls must find it
		j.Patch += 4
		ins = ins[1:]
	}
	if p.translator.KeepFlags || !translate.FlagsDead(ins, 0) { // the count changes them
		return nil
	}
	for i := range ins {
		if !p.movable(&ins[i]) {
			return nil
		}
		if j.end = ins[i].Next(); j.end-j.Patch >= jumpBytes {
			size := j.end - j.Entry
			if size > j.size || i < len(ins)-1 && ins[i].Cat == x86.CatUNCONDBR {
				return nil
			}
			last := &ins[i]
			if last.Cat == x86.CatUNCONDBR || last.Cat == x86.CatCONDBR {
				j.leadsTo = last.Target()
			}
			j.pushes = last.MentionsRSP != 0 && last.GPRWrite&(1<<uint(x86.RSP)) != 0
			j.orig = append([]byte(nil), code[:size]...)
			return ins[:i+1]
		}
	}
	return nil
}

// isEndbr tells endbr64.
func isEndbr(code []byte) bool {
	return len(code) >= 4 && code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa
}

// movable tells instructions that do the same elsewhere, in one instruction. A call
// does not: its return address would be ours.
func (p *Points) movable(in *x86.Insn) bool {
	u := p.translator
	u.Variant = codecache.Plain
	if u.MustTrap(in) || in.Attr&(x86.AttrRep|x86.AttrRepne|x86.AttrGS) != 0 {
		return false
	}
	switch in.Cat {
	case x86.CatCALL, x86.CatRET, x86.CatSYSCALL, x86.CatINTERRUPT, x86.CatSYSTEM:
		return false
	case x86.CatUNCONDBR:
		return in.Opcode == 0xe9 || in.Opcode == 0xeb
	case x86.CatCONDBR:
		return conditional(in) != 0
	}
	switch in.Mnem {
	case x86.MPUSHF, x86.MPUSHFQ, x86.MPOPF, x86.MPOPFQ, x86.MXBEGIN, x86.MXABORT, x86.MXEND, x86.MXTEST, x86.MRDFSBASE, x86.MWRFSBASE:
		return false
	}
	return !in.RIPRelative() || in.AddrBits == 64
}

// conditional is the second opcode byte of a conditional jump's long form, 0 for
// those that have none (loop, jrcxz).
func conditional(in *x86.Insn) byte {
	switch {
	case in.Map == 0 && in.Opcode&0xf0 == 0x70:
		return in.Opcode + 0x10
	case in.Map == 1 && in.Opcode&0xf0 == 0x80:
		return in.Opcode
	}
	return 0
}

// writeJump writes the code that counts and the displaced instructions, and says
// what the function's first bytes have to become; false if something is too far away.
func (p *Points) writeJump(ar *JumpRegion, j *Jump, ins []x86.Insn) bool {
	p.translator.Fetch(j.Entry, translate.FetchBytes) // InsBytes' code
	w := asm.New(ar.mem, ar.base, ar.next)
	a := &w
	j.Code = a.Here()
	ok := a.LockDec(asm.Abs(ar.counts() + uint64(j.pl.Offset()) + layout.PlaceLeft))
	hit := a.JccLater(asm.IfZero)
	j.Body = a.Here()
	for i := range ins {
		j.moved = append(j.moved, movedInsn{ins[i].Addr, a.Here()})
		ok = ok && p.move(a, &ins[i])
	}
	if ins[len(ins)-1].Cat != x86.CatUNCONDBR {
		a.Jmp(j.end)
	}
	j.Hit = a.Here()
	a.Int3()
	a.Link(hit, j.Hit)
	if !ok || a.Full() || a.Pos()-ar.next > maxJumpCode {
		return false
	}
	ar.next = (a.Pos() + 15) &^ 15
	j.patchBytes()
	return true
}

// move writes a displaced instruction.
func (p *Points) move(a *asm.Writer, in *x86.Insn) bool {
	near := func(target uint64) bool {
		d := int64(target) - int64(a.Here())
		return d > -1<<31+64 && d < 1<<31-64
	}
	code := p.translator.InsBytes(in)
	switch {
	case in.Cat == x86.CatUNCONDBR:
		a.Jmp(in.Target())
		return near(in.Target())
	case in.Cat == x86.CatCONDBR:
		a.Jcc(asm.CondOf(conditional(in)), in.Target())
		return near(in.Target())
	case in.RIPRelative():
		u := p.translator
		target, d := u.RipTarget(in), int(in.DispOff)
		disp := int64(target) - int64(a.Here()+uint64(in.Len))
		a.CopyDisp(code, d, uint32(disp))
		return disp == int64(int32(disp))
	}
	a.Copy(code)
	return true
}

// CopyOf is where the displaced instruction at an application address has gone; the
// first one's also for the endbr64 in front of it.
func (j *Jump) CopyOf(app uint64) (uint64, bool) {
	if app <= j.Patch {
		return j.Body, app == j.Entry || app == j.Patch
	}
	for _, m := range j.moved {
		if m.app == app {
			return m.code, true
		}
	}
	return 0, false
}
