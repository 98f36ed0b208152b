package probe

import (
	"bytes"
	"encoding/binary"

	"alleria/engine/x86"
)

// Go's functions begin with a look whether the stack is large enough. Where it is not, one that grows it is called, and the
// function begins anew, by a jump to its own first instruction. That is no call, nor is it one when the scheduler has made the
// look fail. So calls are captured behind the look, where each comes by once, and everything that is captured is as it was at
// the first instruction: the look changes the flags and a register that means nothing there.
//
// Refused: to tell a jump back from a call at the first instruction. Nothing there shows which it is: the stack has
// moved meanwhile, and a function that was left by a panic is called again with the same stack pointer. Counts of
// entries stay where they are, since a window that one opens has the function's first instruction in it.

// mostGrow bounds the code that has the stack grown: all registers that hold arguments are stored, and loaded again.
const mostGrow = 512

// mostCheck bounds the look itself.
const mostCheck = 40

// stackGuards are the fields of a goroutine that its stack pointer is held to.
var stackGuards = []byte{0x10, 0x18}

// CapturedAt is where calls of the function at entry are captured: behind its look at the stack, if it begins with one.
func (p *Points) CapturedAt(entry uint64) uint64 {
	if p.off.BehindCheck {
		return entry
	}
	if at, ok := p.captures.behind[entry]; ok {
		return at
	}
	at := p.behindCheck(entry)
	if p.captures.behind == nil {
		p.captures.behind = make(map[uint64]uint64)
	}
	if at != entry {
		p.captures.behind[entry] = at
	}
	return at
}

// behindCheck is where a function's look at the stack ends; its entry: it has none.
func (p *Points) behindCheck(entry uint64) uint64 {
	// Pages of code are read anew wherever something was armed in them: of very many functions each would cost a page.
	var code [mostCheck]byte
	got, _ := p.mem.ReadAt(code[:], int64(entry))
	p.Unprobed(code[:got], entry)
	n, grows := stackCheck(code[:got])
	if n == 0 || len(grows) == 0 {
		return entry
	}
	for _, g := range grows {
		if g != grows[0] {
			return entry
		}
	}
	if !p.growsStack(entry+uint64(grows[0]), entry) {
		return entry
	}
	return entry + uint64(n)
}

// goroutineIn tells whether a function is seen to have its goroutine in r14, by its look at the stack.
func (p *Points) goroutineIn(entry uint64) bool {
	var code [mostCheck]byte
	got, _ := p.mem.ReadAt(code[:], int64(entry))
	p.Unprobed(code[:got], entry)
	c := checkReader{code: code[:got]}
	if c.skip(0x4c, 0x8d, 0x64, 0x24) { // lea r12, [rsp-frame]
		c.at++
	} else if c.skip(0x4c, 0x8d, 0xa4, 0x24) {
		c.at += 4
	} else if c.skip(0x49, 0x89, 0xe4, 0x49, 0x81, 0xec) { // mov r12, rsp; sub r12, frame; jb
		c.at += 4
		c.branch(0x72)
	}
	return c.skip(0x49, 0x3b, 0x66) || c.skip(0x4d, 0x3b, 0x66)
}

// growsStack tells whether the code at an address makes one call, and jumps to entry then, with nothing between but moves.
func (p *Points) growsStack(at, entry uint64) bool {
	called, back := false, false
	p.eachInsn(at, at+mostGrow, func(in *x86.Insn) bool {
		switch in.Cat {
		case x86.CatCALL:
			if called || in.Opcode != 0xe8 {
				return true
			}
			called = true
		case x86.CatUNCONDBR:
			back = called && in.Attr&x86.AttrRel != 0 && in.Target() == entry
			return true
		case x86.CatCONDBR, x86.CatRET, x86.CatSYSCALL, x86.CatINTERRUPT:
			return true
		}
		return false
	})
	return back
}

// stackCheck takes the look at the stack apart that code begins with: how long it is, and where its branches lead, from where it
// begins. 0: there is none.
//
// The goroutine is in r14, since Go 1.17, or was loaded into rcx; functions with arguments on the stack load it first. Held to its
// guard is the stack pointer, or what it will be, in r12 or rax.
func stackCheck(code []byte) (n int, grows []int) {
	c := checkReader{code: code}
	if c.skip(0x64, 0x4c, 0x8b, 0x34, 0x25, 0xf8, 0xff, 0xff, 0xff) || !c.skip(0x64, 0x48, 0x8b, 0x0c, 0x25, 0xf8, 0xff, 0xff, 0xff) {
		switch {
		case c.skip(0x49, 0x3b, 0x66): // cmp rsp, [r14+guard]
			return c.guarded()
		case c.skip(0x4c, 0x8d, 0x64, 0x24): // lea r12, [rsp-frame]
			c.at++
		case c.skip(0x4c, 0x8d, 0xa4, 0x24):
			c.at += 4
		case c.skip(0x49, 0x89, 0xe4, 0x49, 0x81, 0xec): // mov r12, rsp; sub r12, frame; jb
			if c.at += 4; !c.branch(0x72) {
				return 0, nil
			}
		}
		if c.skip(0x4d, 0x3b, 0x66) { // cmp r12, [r14+guard]
			return c.guarded()
		}
		return 0, nil
	}
	switch {
	case c.skip(0x48, 0x3b, 0x61): // cmp rsp, [rcx+guard]
		return c.guarded()
	case c.skip(0x48, 0x8d, 0x44, 0x24): // lea rax, [rsp-frame]
		c.at++
	case c.skip(0x48, 0x8d, 0x84, 0x24):
		c.at += 4
	}
	if c.skip(0x48, 0x3b, 0x41) { // cmp rax, [rcx+guard]
		return c.guarded()
	}
	return 0, nil
}

// checkReader reads a look at the stack.
type checkReader struct {
	code  []byte
	at    int
	grows []int
}

// skip tells whether some bytes come next, and goes behind them.
func (c *checkReader) skip(b ...byte) bool {
	if c.at > len(c.code) || !bytes.HasPrefix(c.code[c.at:], b) {
		return false
	}
	c.at += len(b)
	return true
}

// branch reads a conditional branch.
func (c *checkReader) branch(op byte) bool {
	switch {
	case c.at+2 <= len(c.code) && c.code[c.at] == op:
		c.at += 2
		c.grows = append(c.grows, c.at+int(int8(c.code[c.at-1])))
	case c.at+6 <= len(c.code) && c.code[c.at] == 0x0f && c.code[c.at+1] == op+0x10:
		c.at += 6
		c.grows = append(c.grows, c.at+int(int32(binary.LittleEndian.Uint32(c.code[c.at-4:]))))
	default:
		return false
	}
	return true
}

// guarded reads what follows the comparison's opcode: which guard it is with, and the branch if the stack is too small.
func (c *checkReader) guarded() (n int, grows []int) {
	if c.at >= len(c.code) || bytes.IndexByte(stackGuards, c.code[c.at]) < 0 {
		return 0, nil
	}
	if c.at++; !c.branch(0x76) { // jbe
		return 0, nil
	}
	return c.at, c.grows
}
