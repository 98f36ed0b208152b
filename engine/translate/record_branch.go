package translate

import (
	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
)

// finish writes the end of the record, gives the registers back and writes the
// block's last instruction.
//
// A branch comes behind everything else: the registers are given back in front of it, so
// that the code at its target finds the application's.
func (r *recorder) finish(i int, in *x86.Insn) (next uint64) {
	u, b := r.u, r.b
	u.lastRecorded = r.want[i].Flags&records.InsRecorded != 0
	// Whether the branch's outcome or its target's value is recorded decides how it
	// is written.
	branch := r.want[i].Flags&records.InsBranch != 0 && r.facts.Branch != records.BranchNone
	if !r.isBranch(in) {
		// The instruction is where a fault belongs: exec is set behind what counts
		// ahead of it.
		u.counting(in, func() {
			r.u.pos[i].Exec = uint16(u.asm.Here() - b.Code)
			r.execute(i, in)
		})
		r.after(i)
		r.epilogue()
		return in.Next()
	}
	if branch && r.facts.Branch == records.BranchCond {
		return r.finishCond(i, in)
	}
	// ff /2 to /5 are the indirect calls and jumps.
	indirect := in.Cat == x86.CatRET || in.Opcode == 0xff && (in.Cat == x86.CatCALL || in.Cat == x86.CatUNCONDBR)
	if indirect && (branch || r.valueOfTarget(i)) {
		return r.finishIndirect(i, in, branch)
	}
	r.epilogue()
	r.u.pos[i].Exec = uint16(u.asm.Here() - b.Code)
	return u.branch(b, in)
}

// isBranch tells what Translator.branch writes.
func (r *recorder) isBranch(in *x86.Insn) bool {
	switch in.Cat {
	case x86.CatCONDBR, x86.CatUNCONDBR, x86.CatCALL, x86.CatRET, x86.CatSYSCALL:
		return true
	}
	return in.Mnem == x86.MXBEGIN || in.Mnem == x86.MXABORT
}

// epilogue advances the ring pointer past the record, if it is worth it, and restores the borrowed
// registers.
// Until the pointer is stored nobody else can see the record.
func (r *recorder) epilogue() {
	a := &r.u.asm
	r.facts.Words, r.rec.Words = r.words, uint16(r.words)
	if r.slotted {
		r.number()
	}
	if r.as == 0 {
		a.Patch32(r.numAt, r.u.numbered(r.rec.ID, r.words))
	}
	if r.slotAt != 0 {
		a.Patch32(r.slotAt, uint32(8*(r.words+1)))
	}
	r.commit()
	a.LoadWord(r.rec.RA, SpillA)
	if r.rec.HasB {
		a.LoadWord(r.rec.RB, SpillB)
	}
	r.rec.To = uint16(a.Here() - r.b.Code)
}

// finishCond records whether a conditional branch is taken.
//
// setcc takes the outcome from the flags without changing them. loop and jrcxz have no such
// form: taken is recorded, and taken back on the way that falls through.
func (r *recorder) finishCond(i int, in *x86.Insn) (next uint64) {
	u, b := r.u, r.b
	a := &u.asm
	w, off := r.newWord()
	r.facts.BranchWord = w
	switch in.Mnem {
	case x86.MLOOP, x86.MLOOPE, x86.MLOOPNE, x86.MJRCXZ, x86.MJECXZ: // no condition that setcc knows
		// The record has been completed by the time it is known better: its word is
		// changed in place.
		a.PutImm(r.rec.RA, off, 1)
		r.conditional = false
		r.epilogue()
		r.u.pos[i].Exec = uint16(a.Here() - b.Code)
		next = u.branch(b, in)
		// Behind the branch that was not taken: Buf is past the record, which ends
		// words+1 before it.
		a.StoreWord(SpillA, r.rec.RA)
		a.LoadWord(r.rec.RA, layout.Buf)
		a.PutImm(r.rec.RA, off-8*(r.words+1), 0)
		a.LoadWord(r.rec.RA, SpillA)
		return next
	}
	// All eight bytes first: setcc writes one.
	a.PutImm(r.rec.RA, off, 0)
	a.PutCond(asm.CondOf(in.Opcode), r.rec.RA, off)
	r.epilogue()
	r.u.pos[i].Exec = uint16(a.Here() - b.Code)
	return u.branch(b, in)
}

// valueOfTarget tells whether the value that an indirect branch loads is wanted.
// The branch itself has loaded it: there is no second look at memory.
func (r *recorder) valueOfTarget(i int) bool {
	return r.want[i].Flags&records.InsValues != 0 && len(r.ops[i]) > 0
}

// finishIndirect records the target of an indirect branch: it is loaded once,
// into rcx, from where both the record and the look-up take it.
func (r *recorder) finishIndirect(i int, in *x86.Insn, branch bool) (next uint64) {
	u, b := r.u, r.b
	a := &u.asm
	b.Term = codecache.TermIndirect
	// Into the spill word that the look-up restores it from.
	a.StoreWord(layout.S0, x86.RCX)
	r.u.pos[i].Exec = uint16(a.Here() - b.Code)
	if in.Cat == x86.CatRET {
		a.Get(x86.RCX, x86.RSP, 0)
	} else {
		u.loadTarget(in)
	}
	// rcx is the target now, and free until the look-up.
	if branch {
		w, off := r.newWord()
		r.facts.BranchWord = w
		a.Put(r.rec.RA, off, x86.RCX)
	}
	r.targetValue(i, in)
	r.epilogue()
	switch in.Cat {
	case x86.CatRET:
		if u.Awaits || u.target.Captures().Returns { // only now: a window that closes there leaves a mark behind the record
			a.StoreWord(layout.S3, x86.RCX)
			u.checkReturn(in)
			a.LoadWord(x86.RCX, layout.S3)
		}
		u.retLookUp(in)
		return 0
	case x86.CatCALL:
		return u.call(in, (*Translator).lookUp)
	}
	u.branchToEntries(in)
	u.lookUp()
	return 0
}

// branchKind tells how an instruction leaves its block.
func branchKind(in *x86.Insn) (records.BranchKind, uint64) {
	direct := in.Opcode != 0xff
	switch in.Mnem {
	case x86.MXBEGIN: // always to its fallback
		return records.BranchJump, in.Target()
	case x86.MXABORT:
		return records.BranchNone, 0
	}
	switch in.Cat {
	case x86.CatCONDBR:
		return records.BranchCond, in.Target()
	case x86.CatUNCONDBR:
		if direct {
			return records.BranchJump, in.Target()
		}
		return records.BranchIndJump, 0
	case x86.CatCALL:
		if direct {
			return records.BranchCall, in.Target()
		}
		return records.BranchIndCall, 0
	case x86.CatRET:
		return records.BranchRet, 0
	case x86.CatSYSCALL, x86.CatINTERRUPT:
		return records.BranchSyscall, 0
	}
	return records.BranchNone, 0
}
