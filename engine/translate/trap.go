package translate

import (
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/records"
)

// Instructions that the tracer executes for a thread stand in blocks of their own, which ask for it.

// untilTrap returns how many of the instructions belong in one block when those
// that the tracer must execute stand in blocks of their own.
func (u *Translator) untilTrap(ins []x86.Insn) int {
	for i := range ins {
		if u.MustTrap(&ins[i]) || popsFlags(&ins[i]) {
			return max(i, 1)
		}
	}
	return len(ins)
}

// MustTrap tells whether the tracer has to execute the instruction itself.
//
// These are instructions that would not do in the cache what they do in the application's
// code (gs is ours, software interrupts come from an address), or that leave 64-bit code.
// They are rare enough for two stops each.
func (u *Translator) MustTrap(in *x86.Insn) bool {
	switch in.Mnem {
	case x86.MRDGSBASE, x86.MWRGSBASE, x86.MINT, x86.MINT1, x86.MINT3, x86.MINTO, x86.MIRETQ, x86.MSYSENTER,
		x86.MUD0, x86.MUD1, x86.MUD2, x86.MHLT:
		return true
	case x86.MWRFSBASE:
		return u.Variant.Records()
	case x86.MXBEGIN, x86.MXABORT: // in a transaction nothing could be seen; invalid ones are the processor's to refuse
		return !u.HasRTM()
	}
	if in.Has(x86.AttrGS) && in.NMem > 0 && in.Cat != x86.CatNOP && in.Cat != x86.CatWIDENOP && in.Mnem != x86.MLEA {
		return true
	}
	if fs, gs := loadsSegment(in); gs || fs && u.Variant.Records() { // gs has our base; records know that of fs
		return true
	}
	if u.CountsAccesses && in.AddrBits == 32 && in.Attr&(x86.AttrRep|x86.AttrRepne) != 0 {
		return true
	}
	switch in.Cat {
	case x86.CatCALL, x86.CatUNCONDBR, x86.CatRET, x86.CatCONDBR:
		return in.Mnem != x86.MXABORT && in.Mnem != x86.MXBEGIN && u.odd(in)
	}
	return u.Variant.Records() && u.trapToRecord(in)
}

// loadsSegment tells instructions that load fs or gs with a selector, and so the segment's base.
func loadsSegment(in *x86.Insn) (fs, gs bool) {
	if in.Enc != x86.EncLegacy {
		return false, false
	}
	switch reg := in.ModRM >> 3 & 7; {
	case in.Map == 0 && in.Opcode == 0x8e: // mov
		return reg == 4, reg == 5
	case in.Map == 1: // pop, lfs and lgs
		return in.Opcode == 0xa1 || in.Opcode == 0xb4, in.Opcode == 0xa9 || in.Opcode == 0xb5
	}
	return false, false
}

// odd tells far branches and branches with prefixes that change their meaning.
// An operand-size prefix makes a near branch cut its target to 16 bits on some
// processors and nothing on others (Intel and AMD differ): the processor is left to
// decide. With REX.W it says nothing, as in calls of __tls_get_addr.
func (u *Translator) odd(in *x86.Insn) bool {
	switch in.Opcode {
	case 0xe8, 0xe9, 0xeb, 0xc3, 0xc2:
		return in.Has(x86.AttrData16)
	case 0xff:
		r := in.ModRM >> 3 & 7
		return r != 2 && r != 4 || in.Has(x86.AttrData16)
	}
	return in.Cat != x86.CatCONDBR || in.Has(x86.AttrData16)
}

// trap writes a block of one instruction that the tracer executes.
func (u *Translator) trap(b *codecache.Block, app uint64, length uint8) {
	b.Term = codecache.TermTrap
	u.pos = append(u.posBuf[:0], codecache.Position{Len: length})
	u.dispatchTrap(b)
}

// dispatchTrap writes the dispatch that makes the tracer execute the block's last
// instruction.
//
// The refused alternative is an int3, shorter and not slower: while a thread
// blocks SIGTRAP, the kernel takes it as a reason to unblock the signal and to
// forget the application's handler.
func (u *Translator) dispatchTrap(b *codecache.Block) {
	n := u.cache.NewExit(codecache.Exit{Target: b.App, Region: u.ar, Variant: u.Variant, Fixed: true, RareExit: codecache.RareExit{Trap: b}})
	u.dispatch(uint32(n) + 1)
}

// trapToRecord tells instructions that the tracer executes so that they can be
// recorded.
func (u *Translator) trapToRecord(in *x86.Insn) bool {
	return in.Complex() && (u.NoState || !byCode(in))
}

// trapBlock writes a block whose one instruction the tracer executes.
//
// What is recorded of it is a mark with the block's number, made by the tracer afterwards;
// the block's facts are entered for that.
func (u *Translator) trapBlock(b *codecache.Block, in *x86.Insn) {
	b.Term = codecache.TermTrap
	u.pos[0].Exec = uint16(u.asm.Here() - b.Code)
	u.dispatchTrap(b)
	if !u.Variant.Records() {
		return
	}
	var want [1]Want
	ins := []x86.Insn{*in}
	image := u.target.Plan(u.Variant.Plan(), ins, want[:])
	if want[0].Flags == 0 {
		return
	}
	f := u.newFacts(b, ins, want[:], image)
	if len(in.Accesses(nil)) > 0 {
		f.Ins[0].Flags |= records.InsMemory
	}
	u.trapRegisters(f, want[0].Regs)
	b.Rec = codecache.Recording{ID: u.cache.Facts.Add(f)}
	u.sampled(b.Rec.ID, want[:])
}
