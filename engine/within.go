package engine

import (
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
// first hit, and the process runs natively again when no thread is in such a function (amid.go).
// Refused: an int3 at the jumps back as well, two stops an iteration; a copy of the function in
// which they lead elsewhere, since calls have to push the application's own return
// addresses, by which a thread is back in the original.

// Extent is a stretch of code, from Start to before End.
type Extent struct{ Start, End uint64 }

// SetExtent says that a function begins at addr, where something is counted, and which code is
// its own. Without, it may be any address in the middle of code: whatever gets there counts,
// and its arrivals are never counted by a jump.
func (p *Process) SetExtent(addr uint64, code ...Extent) {
	at := p.placeAt[addr]
	if at == nil || len(code) == 0 || code[0].Start == code[0].End || at.function != nil {
		return
	}
	at.function = code
	for _, e := range code { // branches back are to lead elsewhere
		p.invalidate(e.Start, e.End)
	}
}

// HasExtent tells whether SetExtent has said what function begins at addr.
func (p *Process) HasExtent(addr uint64) bool { return p.placeAt[addr].size() > 0 }

// holds tells whether the code at an address belongs to the function.
func (at *placesAt) holds(addr uint64) bool {
	for _, e := range at.function {
		if addr >= e.Start && addr < e.End {
			return true
		}
	}
	return false
}

// size is how long the function's main part is; 0: it is not known to be one.
func (at *placesAt) size() uint64 {
	if at == nil || len(at.function) == 0 {
		return 0
	}
	return at.function[0].End - at.function[0].Start
}

// arrivalFrom is what a jump from one address to another is.
func (p *Process) arrivalFrom(from, to uint64) codecache.Entry {
	if len(p.placeAt) == 0 {
		return codecache.Uncounted
	}
	if at := p.placeAt[to]; at != nil && at.holds(from) {
		return codecache.BackEdge
	}
	return codecache.Uncounted
}

// loops tells whether the function at addr, as far as it is one, may jump to its first
// instruction. A register may lead there unless the stack pointer is another where it is jumped by:
// the function has lowered it before its first branch, and does not raise it in front of that
// jump, as it does before a call of another function that is its last.
func (p *Process) loops(addr uint64) bool {
	at := p.placeAt[addr]
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
	lowered int              // 1: a function's first ones leave it lower, or aligned; 0: they don't; -1: they are being looked at
}

// begin begins anew.
func (r *stackRun) begin() {
	r.Start()
	r.first = r.Reg[x86.RSP]
}

// step follows an instruction. What is called leaves the stack as it was.
func (r *stackRun) step(in *x86.Insn) {
	switch in.Cat {
	case x86.CatCALL:
	case x86.CatCONDBR, x86.CatUNCONDBR, x86.CatRET:
		if r.lowered < 0 {
			r.lowered = 0
			if now := r.Reg[x86.RSP]; now.ID != r.first.ID || now.Off < r.first.Off {
				r.lowered = 1
			}
		}
		r.begin()
	default:
		r.Symbols.Step(in)
	}
}

// level tells whether the stack pointer may be what it was at the function's start.
func (r *stackRun) level() bool {
	now := r.Reg[x86.RSP]
	switch {
	case r.lowered == 0:
		return true
	case r.lowered < 0:
		return now == r.first
	}
	return now.ID != r.first.ID || now.Off > r.first.Off
}
