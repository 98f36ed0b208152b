package probe

import (
	"alleria/engine/asm"
	"alleria/engine/translate"
	"alleria/engine/x86"
)

// What jumps that capture displace: more than those that count, since they lie behind calls as well, where mostly the next call's
// arguments come, and in front of functions of a few bytes.

// displaceCapture finds the instructions that a jump at j.entry displaces, and fills in what follows from them; nil if they
// cannot be displaced.
//
// A return or jump may be followed by padding, which nothing leads to: the jump covers it.
func (p *Points) displaceCapture(j *Jump) []x86.Insn {
	if p.code.MayChange(j.Entry) {
		return nil
	}
	code := p.code.Fetch(j.Entry, translate.FetchBytes)
	ins := p.decodeOn(code, j.Entry)
	j.Patch = j.Entry
	if len(ins) > 1 && isEndbr(code) { // stays: indirect calls must find it
		j.Patch += 4
		ins = ins[1:]
	}
	if !flagsUnread(ins) {
		return nil
	}
	for i := range ins {
		in := &ins[i]
		if !p.movableAny(in) {
			return nil
		}
		j.end = in.Next()
		short := j.end-j.Patch < jumpBytes
		if short && endsFlow(in) {
			if in.Cat == x86.CatCALL || !padding(code[j.end-j.Entry:], int(jumpBytes-(j.end-j.Patch))) {
				return nil
			}
			j.end, short = j.Patch+jumpBytes, false
		}
		if short {
			continue
		}
		size := j.end - j.Entry
		if j.size > 0 && in.Next()-j.Entry > j.size {
			return nil
		}
		j.orig = append([]byte(nil), code[:size]...)
		return ins[:i+1]
	}
	return nil
}

// decodeOn decodes instructions, also behind conditional branches, as many as a jump may displace.
func (p *Points) decodeOn(code []byte, addr uint64) []x86.Insn {
	var all []x86.Insn
	at := addr
	for at-addr < mostDisplaced && at-addr < uint64(len(code)) {
		buf := p.decoded()
		n, why := x86.Decode(code[at-addr:], at, buf)
		all = append(all, buf[:n]...)
		if n == 0 || why != x86.EndOfBlock || buf[n-1].Cat != x86.CatCONDBR {
			break
		}
		at = buf[n-1].Next()
	}
	return all
}

// endsFlow tells instructions that nothing goes on behind.
func endsFlow(in *x86.Insn) bool {
	return in.Cat == x86.CatUNCONDBR || in.Cat == x86.CatRET || in.Cat == x86.CatCALL
}

// padding tells whether the first n bytes belong to instructions that do nothing, as behind functions.
func padding(code []byte, n int) bool {
	for n > 0 {
		if len(code) > 0 && code[0] == 0xcc {
			code, n = code[1:], n-1
			continue
		}
		var ins [1]x86.Insn
		k, _ := x86.Decode(code, 0, ins[:])
		if k == 0 || ins[0].Cat != x86.CatNOP && ins[0].Cat != x86.CatWIDENOP {
			return false
		}
		code, n = code[ins[0].Len:], n-int(ins[0].Len)
	}
	return true
}

// movableAny is movable with returns and calls, of which it is known what they do.
func (p *Points) movableAny(in *x86.Insn) bool {
	switch in.Cat {
	case x86.CatRET:
		return in.Opcode == 0xc3 && in.Len == 1
	case x86.CatCALL:
		// An indirect one through what lies at a fixed place: it is read after the return address has been pushed.
		return in.Opcode == 0xe8 && in.Len == 5 || in.Opcode == 0xff && in.ModRM>>3&7 == 2 && (in.ModRM>>6 == 3 && in.ModRM&7 != 4 || in.RIPRelative()) &&
			in.Attr&x86.AttrGS == 0 && in.Len <= 7
	}
	return p.movable(in)
}

// moveAny writes a displaced instruction. Of a call that is two: the push of its return address, and a jump.
func (p *Points) moveAny(a *asm.Writer, in *x86.Insn) bool {
	switch in.Cat {
	case x86.CatRET:
		a.Ret(0)
		return true
	case x86.CatCALL:
		return p.moveCall(a, in)
	}
	return p.move(a, in)
}

// moveCall writes a call. The return address is the application's.
func (p *Points) moveCall(a *asm.Writer, in *x86.Insn) bool {
	ret := a.PushLiteral()
	ok := true
	switch {
	case in.Opcode == 0xe8:
		d := int64(in.Target()) - int64(a.Here())
		ok = d > -1<<31+64 && d < 1<<31-64
		a.Jmp(in.Target())
	default: // /2 is a call, /4 a jump
		code := append([]byte(nil), p.translator.InsBytes(in)...)
		at := len(code) - 1
		if in.RIPRelative() {
			at = int(in.DispOff) - 1
		}
		code[at] |= 4 << 3
		code[at] &^= 2 << 3
		if !in.RIPRelative() {
			a.Copy(code)
			break
		}
		disp := int64(p.translator.RipTarget(in)) - int64(a.Here()+uint64(in.Len))
		a.CopyDisp(code, int(in.DispOff), uint32(disp))
		ok = disp == int64(int32(disp))
	}
	a.Align8(0)
	a.Link(ret, a.Here())
	a.Uint64(in.Next())
	return ok
}
