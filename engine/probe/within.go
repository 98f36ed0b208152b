package probe

import (
	"encoding/binary"

	"alleria/engine/codecache"
	"alleria/engine/translate"
	"alleria/engine/x86"
)

// A jump to a function's first instruction from within the function is no call: the
// instruction is the head of a loop. In the cache such jumps lead behind the counting of
// entries, since the code that jumps is known when it is translated; an indirect one looks
// whether that is where it goes.
//
// Natively nothing tells where an int3 was come from, but a thread that was not in the function
// when the int3 was placed cannot jump there from within before it has run into it by entering.
// So a function with a loop to its first instruction sends the process into the cache with its
// first hit, and the process runs natively again when no thread is in such a function (engine/probes.go).
// Refused: an int3 at the jumps back as well, two stops an iteration; a copy of the function in
// which they lead elsewhere, since calls have to push the application's own return
// addresses, by which a thread is back in the original.

// Extent is a stretch of code, from Start to before End.
type Extent struct{ Start, End uint64 }

// SetExtent says that a function begins at addr, where something is counted, and which code is
// its own. Without, it may be any address in the middle of code: whatever gets there counts,
// and its entries are never counted by a jump.
func (p *Points) SetExtent(addr uint64, code ...Extent) {
	if behind, ok := p.captures.behind[addr]; ok { // it is captured there
		addr = behind
	}
	at := p.at[addr]
	if at == nil || len(code) == 0 || code[0].Start == code[0].End || at.function != nil {
		return
	}
	at.function = code
	for _, e := range code { // branches back are to lead elsewhere
		p.host.Invalidate(e.Start, e.End)
	}
}

// HasExtent tells whether SetExtent has said what function begins at addr.
func (p *Points) HasExtent(addr uint64) bool { return p.at[addr].size() > 0 }

// holds tells whether the code at an address belongs to the function.
func (at *point) holds(addr uint64) bool {
	for _, e := range at.function {
		if addr >= e.Start && addr < e.End {
			return true
		}
	}
	return false
}

// size is how long the function's main part is; 0: it is not known to be one.
func (at *point) size() uint64 {
	if at == nil || len(at.function) == 0 {
		return 0
	}
	return at.function[0].End - at.function[0].Start
}

// EntryFrom is what a jump from one address to another is.
func (p *Points) EntryFrom(from, to uint64) codecache.Entry {
	if len(p.at) == 0 {
		return codecache.Uncounted
	}
	if at := p.at[to]; at != nil && at.holds(from) {
		return codecache.BackEdge
	}
	return codecache.Uncounted
}

// Loops tells whether the function at addr, as far as it is one, may jump to its first
// instruction. A register may lead there unless the stack pointer is another where it is jumped by:
// the function has lowered it before its first branch, and does not raise it in front of that
// jump, as it does before a call of another function that is its last.
func (p *Points) Loops(addr uint64) bool {
	at := p.at[addr]
	if at == nil || len(at.function) == 0 {
		return false
	}
	if at.looked {
		return at.loops
	}
	at.looked = true
	run := stackRun{lowered: -1}
	run.begin()
	for _, e := range at.function {
		at.loops = at.loops || p.eachInsn(e.Start, e.End, func(in *x86.Insn) bool {
			relative := in.Attr&x86.AttrRel != 0
			switch {
			case relative && (in.Cat == x86.CatCONDBR || in.Cat == x86.CatUNCONDBR) && in.Target() == addr:
				return true
			case in.Cat == x86.CatUNCONDBR && !relative && !in.RIPRelative() && run.level():
				return true
			}
			run.step(in)
			return false
		})
	}
	return at.loops
}

// stackRun follows the stack pointer through instructions without a branch between them.
type stackRun struct {
	translate.Symbols
	first   translate.Symbol // the stack pointer's value where they begin
	aligned translate.Symbol // what it has become by an alignment, which is no higher; else first
	lowered int              // 1: a function's first ones leave it lower, or aligned; 0: they don't; -1: they are being looked at
}

// begin begins anew.
func (r *stackRun) begin() {
	r.Start()
	r.first = r.Reg[x86.RSP]
	r.aligned = r.first
}

// step follows an instruction. What is called leaves the stack as it was, unless it is the next instruction, and a return that is there to jump takes its address off.
func (r *stackRun) step(in *x86.Insn) {
	switch in.Cat {
	case x86.CatCALL:
		if in.Attr&x86.AttrRel != 0 && in.Target() == in.Next() {
			r.Reg[x86.RSP].Off -= 8
		}
	case x86.CatCONDBR, x86.CatUNCONDBR, x86.CatRET:
		if in.Cat == x86.CatRET {
			r.Reg[x86.RSP].Off += 8
			if in.ImmSize > 0 {
				r.Reg[x86.RSP].Off += in.Imm
			}
		}
		if r.lowered < 0 {
			r.lowered = 0
			if r.lower() {
				r.lowered = 1
			}
		}
		r.begin()
	default:
		was := r.lower() || r.Reg[x86.RSP] == r.first
		r.Symbols.Step(in)
		if was && in.Mnem == x86.MAND && in.NOps > 1 && in.Ops[0].Kind == x86.OpReg && in.Ops[0].Class == x86.ClassGPR64 && x86.Reg(in.Ops[0].ID) == x86.RSP && in.Ops[1].Kind == x86.OpImm {
			r.aligned = r.Reg[x86.RSP]
		}
	}
}

// lower tells whether the stack pointer is lower than where they began, for certain. What is not followed (a push of 16 bits, another stack) may leave it where it was.
func (r *stackRun) lower() bool {
	now := r.Reg[x86.RSP]
	return now.ID == r.aligned.ID && (now.Off < r.aligned.Off || r.aligned.ID != r.first.ID && now.Off == r.aligned.Off)
}

// level tells whether the stack pointer may be what it was at the function's start.
func (r *stackRun) level() bool {
	now := r.Reg[x86.RSP]
	switch {
	case r.lowered == 0:
		return true
	case r.lowered < 0:
		return now == r.first || now.ID != r.first.ID && !r.lower()
	}
	return now.ID != r.first.ID || now.Off > r.first.Off
}

// stackHolds tells whether some word of the stack from rsp up may be a return address, or where
// a handler returns to, in one of the functions. What is left there of earlier calls is
// taken for one, and so is everything beyond mostStack: that costs time in the cache only.
//
// Stacks that a thread has left for another (coroutines, handlers on one of their own) are not seen:
// a function that waits there may be counted once too often.
func (p *Points) stackHolds(rsp uint64, functions []*point) bool {
	buf := make([]byte, appPage)
	for at := rsp &^ 7; at < rsp+mostStack; {
		n := appPage - at%appPage // one page more may not be the stack's
		if _, err := p.mem.ReadAt(buf[:n], int64(at)); err != nil {
			return false
		}
		for i := uint64(0); i+8 <= n; i += 8 {
			w := binary.LittleEndian.Uint64(buf[i:])
			for _, f := range functions {
				// A pointer to the function is no return address.
				if f.holds(w) && w != f.function[0].Start {
					return true
				}
			}
		}
		at += n
	}
	return true
}

// mostStack bounds how much of a stack is looked through.
const mostStack = 8 << 20

// MayBeWithin tells whether a thread with these registers may be in a function that jumps to its own first instruction and whose calls are counted: of those that
// are captured frames tell.
func (p *Points) MayBeWithin(rip, rsp uint64) bool {
	var loops []*point
	for addr, at := range p.at {
		if (at.entry != nil || at.returns != nil) && p.Loops(addr) {
			if at.holds(rip) {
				return true
			}
			loops = append(loops, at)
		}
	}
	return len(loops) > 0 && p.stackHolds(rsp, loops)
}
