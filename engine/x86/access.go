package x86

import (
	"strings"

	"alleria/internal/records"
)

// MaskKind tells where the lanes of a masked access are said.
type MaskKind uint8

// The kinds of masks. Vector masks are the sign bits of elements as wide as the lanes,
// opmasks have a bit a lane.
const (
	MaskNone   MaskKind = iota
	MaskK               // an opmask register: bit i for lane i
	MaskSigns           // the sign bits of a vector register's elements of Size bytes
	MaskBytes           // the sign bits of an SSE register's bytes
	MaskBytesM          // the sign bits of an MMX register's bytes
)

// Operand is one access that an instruction makes, as Accesses derives it.
// Base, Index, Scale and Disp say the address as before the instruction, with
// what a push moves rsp by in Disp; the address of a RIP-relative one is Disp
// alone.
//
// It is more than records.Access, which is what goes into a block's facts: to get there the
// recorder has to know which registers to save, and that is what is here.
type Operand struct {
	records.Access // Kind, Store, Seg, Lanes, Scale (gather), IndexSize, AddrBits, Size are set
	Base, Index    Reg
	IndexScale     uint8
	Disp           int64
	AL             bool // the zero-extended al is added (xlat)
	Mask           MaskKind
	MaskReg        uint8
	MaskWide       bool  // MaskSigns: a 256-bit register
	AnyOf          uint8 // MaskK: the one lane is accessed if any of so many low bits is set
	VIndex         uint8 // gather: the vector register of indices
	IndexBytes     uint8 // gather: how many bytes of it hold indices
	BitReg         Reg   // AccessBits: the register that holds the bit offset
	EVEX           bool
}

// Complex tells instructions whose accesses cannot be told from registers
// before and after: a tracer executes them itself to record them.
// What they write depends on which parts of the state are in their initial
// configuration (XINUSE), which nothing but executing them tells.
func (i *Insn) Complex() bool {
	switch i.Mnem {
	case MXSAVE, MXSAVE64, MXSAVEC, MXSAVEC64, MXSAVEOPT, MXSAVEOPT64, MXRSTOR, MXRSTOR64:
		return true
	}
	return false
}

// Compacting is which format an instruction with processor state in memory takes its area for.
type Compacting uint8

// The standard format, the compacted one, and whichever the area's header is of.
const (
	Never Compacting = iota
	Always
	AsHeaderSays
)

// Compacts tells the format of a Complex instruction. A save takes no notice of the format that
// its area had.
func (i *Insn) Compacts() Compacting {
	switch i.Mnem {
	case MXSAVEC, MXSAVEC64:
		return Always
	case MXRSTOR, MXRSTOR64:
		return AsHeaderSays
	}
	return Never
}

// Layout is XCOMP_BV as it counts for a Complex instruction, where that word of the header is xcomp.
func (i *Insn) Layout(xcomp uint64) uint64 {
	if i.Compacts() == Never {
		return 0
	}
	return xcomp
}

// Accesses appends the instruction's accesses to out in the order in which
// they happen, as PROFILE counts them: nothing for prefetches, long nops and
// address computations, a load and a store for a read-modify-write.
//
// The same list serves for recording, for counting and for the oracle. The stack accesses
// of push, call, pop, ret, enter and leave are in it; those of the kernel's are not.
func (i *Insn) Accesses(out []Operand) []Operand {
	if i.NMem == 0 || i.noAccess() {
		return out
	}
	switch i.Mnem {
	case MENTER:
		return i.enter(out)
	case MXLAT:
		o := i.plain(&i.Mems[0], false)
		o.AL = true
		return append(out, o)
	case MMOVSB, MMOVSW, MMOVSQ, MLODSB, MLODSW, MLODSD, MLODSQ, MSTOSB, MSTOSW, MSTOSD, MSTOSQ,
		MSCASB, MSCASW, MSCASD, MSCASQ, MCMPSB, MCMPSW, MCMPSQ:
		return i.str(out)
	// Two instructions share each of these names: the string ones are of the
	// one-byte map.
	case MMOVSD, MCMPSD:
		if i.Enc == EncLegacy && i.Map == 0 {
			return i.str(out)
		}
	}
	for j := range i.Mems[:i.NMem] {
		if m := &i.Mems[j]; m.Read != 0 && m.Type != MemAddress {
			out = append(out, i.access(m, false))
		}
	}
	for j := range i.Mems[:i.NMem] {
		if m := &i.Mems[j]; m.Write != 0 && m.Type != MemAddress {
			out = append(out, i.access(m, true))
		}
	}
	return out
}

// noAccess tells instructions with a memory operand that they don't access.
func (i *Insn) noAccess() bool {
	switch i.Cat {
	case CatNOP, CatWIDENOP, CatPREFETCH, CatPREFETCHWT1:
		return true
	case CatMPX: // no kernel of today enables it: all of it does nothing
		return true
	}
	switch i.Mnem {
	case MLEA, MNOP, MCLFLUSH, MCLFLUSHOPT, MCLWB, MCLDEMOTE, MUMONITOR, MMONITOR, MINVLPG:
		return true
	}
	return i.Cat == CatSYSCALL
}

// Privileged tells instructions that a program may not execute, or only with rights that hardly any has (to ports): they fault before they look at their operand.
func (i *Insn) Privileged() bool {
	switch i.Cat {
	case CatVTX, CatIOSTRING:
		return true
	}
	switch i.Mnem {
	case MLGDT, MLIDT, MLLDT, MLTR, MLMSW, MINVPCID, MXRSTORS:
		return true
	}
	return false
}

// plain is one access of m's size at m's address.
//
// Where a push moves rsp before it writes, the displacement is corrected here: registers
// are those from before the instruction everywhere.
func (i *Insn) plain(m *Mem, store bool) Operand {
	o := Operand{Base: m.Base, Index: m.Index, IndexScale: m.Scale, Disp: m.Disp}
	o.Store, o.Seg, o.Size, o.AddrBits = store, m.Seg, m.Size, 64
	o.BitReg = NoReg
	o.EVEX = i.Enc == EncEVEX
	if i.AddrBits == 32 {
		o.AddrBits = 32
	}
	// RIP is that of the next instruction.
	if m.Base == RIP {
		o.Base, o.Index = NoReg, NoReg
		o.Disp += int64(i.Next())
	}
	if m.Index == NoReg || m.Type == MemVector {
		o.Index, o.IndexScale = NoReg, 0
	}
	if m.Hidden != 0 && m.Base == RSP { // push, call, pop, ret
		o.AddrBits = 64
		if store {
			o.Disp = -int64(m.Size)
		}
	}
	if store && m.Hidden == 0 && m.Base == RSP && i.Mnem == MPOP {
		o.Disp += int64(m.Size) // the address is formed after the pop
	}
	return o
}

// access is the access of one operand, with lanes where it is masked.
func (i *Insn) access(m *Mem, store bool) Operand {
	o := i.plain(m, store)
	switch i.Mnem {
	case MBT, MBTS, MBTR, MBTC:
		// With a constant the offset is taken modulo the operand's size: an
		// ordinary access.
		if i.Ops[1].Kind == OpReg {
			o.Kind, o.BitReg = records.AccessBits, Reg(i.Ops[1].ID)
		}
		return o
	case MMASKMOVDQU, MVMASKMOVDQU:
		return i.lanes(o, 1, 16, MaskBytes, i.maskOp())
	case MMASKMOVQ:
		return i.lanes(o, 1, 8, MaskBytesM, i.maskOp())
	case MVMASKMOVPS, MVMASKMOVPD, MVPMASKMOVD, MVPMASKMOVQ:
		o = i.lanes(o, m.ElemSize, m.ElemCount, MaskSigns, i.Ops[1].ID)
		o.MaskWide = m.Size == 32
		return o
	}
	switch {
	case m.Type == MemVector:
		return i.gather(o, m)
	case i.Enc == EncEVEX && i.MaskReg != 0:
		return i.masked(o, m)
	}
	return o
}

// maskOp is the vector register that holds the mask of a maskmov: the second
// visible register operand.
// The first is the data; the pointer, rdi, is hidden.
func (i *Insn) maskOp() uint8 {
	n := 0
	for _, o := range i.Ops[:i.NOps] {
		if o.Kind == OpReg && (o.Class == ClassXMM || o.Class == ClassMMX) {
			if n++; n == 2 {
				return o.ID
			}
		}
	}
	return 0
}

// lanes makes the access one of count elements of that size, under a mask in reg.
func (i *Insn) lanes(o Operand, size, count uint16, kind MaskKind, reg uint8) Operand {
	o.Kind, o.Size, o.Lanes = records.AccessMasked, uint32(size), uint8(count)
	o.Mask, o.MaskReg = kind, reg
	return o
}

// masked is the access of an EVEX instruction under an opmask.
//
// Faults on inactive lanes are suppressed (Intel SDM volume 1, section 15.6.4), and what
// is suppressed is no access.
func (i *Insn) masked(o Operand, m *Mem) Operand {
	// EXPAND and COMPRESS touch as many elements as the mask has bits, side by
	// side.
	name := i.CategoryName()
	if name == "EXPAND" || name == "COMPRESS" {
		o = i.lanes(o, m.ElemSize, m.ElemCount, MaskK, i.MaskReg)
		o.Kind = records.AccessPacked
		return o
	}
	if i.wholeOperand() || m.ElemSize == 0 {
		return o
	}
	if i.Bcast != 0 { // read once for all the elements that want it
		o = i.lanes(o, uint16(m.Size), 1, MaskK, i.MaskReg)
		o.AnyOf = i.Bcast
		return o
	}
	return i.lanes(o, m.ElemSize, m.ElemCount, MaskK, i.MaskReg)
}

// wholeOperand tells masked instructions whose mask lanes are not those of
// their memory operand, or whose result lanes depend on others: it is read as a
// whole. Manuals say it of an instruction by its exception type, such as E4NF.
func (i *Insn) wholeOperand() bool {
	c := strings.ToUpper(i.ClassName())
	switch c {
	case "VPSLLW", "VPSLLD", "VPSLLQ", "VPSRLW", "VPSRLD", "VPSRLQ", "VPSRAW", "VPSRAD", "VPSRAQ":
		return i.ImmSize == 0 // the operand is the count
	case "VPSHUFBITQMB":
		return false
	}
	for _, p := range []string{"VINSERT", "VPERM", "VSHUF", "VPSHUF", "VUNPCK", "VPUNPCK", "VPALIGNR", "VALIGN", "VDBPSADBW",
		"VPMULTISHIFT", "VMOVDDUP", "VMOVSHDUP", "VMOVSLDUP", "VPMADDWD", "VPMADDUBSW", "VPACK", "VPCONFLICT", "VGF2P8AFFINE",
		"VCVTNE2PS"} {
		if strings.HasPrefix(c, p) {
			return true
		}
	}
	return false
}

// gather is the access of a gather or scatter instruction.
// The index's width is in the mnemonic's last letters but one: VPGATHERQD has
// indices of eight bytes and elements of four.
// Masks of AVX2 gathers are vectors whose register is an operand of its own.
func (i *Insn) gather(o Operand, m *Mem) Operand {
	o.Kind, o.Scale, o.VIndex = records.AccessGather, m.Scale, uint8(m.Index)
	o.IndexSize = 4
	if c := strings.ToUpper(i.ClassName()); strings.HasSuffix(c, "QD") || strings.HasSuffix(c, "QQ") ||
		strings.HasSuffix(c, "QPS") || strings.HasSuffix(c, "QPD") {
		o.IndexSize = 8
	}
	wide := uint32(o.IndexSize)
	if m.Size > wide {
		wide = m.Size
	}
	// The wider of element and index fills the vector: the other's register is used
	// in part.
	o.Lanes = uint8(uint32(i.VLBytes) / wide)
	o.IndexBytes = o.Lanes * o.IndexSize
	o.Mask, o.MaskReg = MaskK, i.MaskReg
	if i.Enc == EncVEX {
		o.Mask, o.MaskReg = MaskSigns, i.Ops[2].ID
		o.MaskWide = o.Lanes*uint8(m.Size) == 32
	}
	return o
}

// str is the accesses of a string instruction: reads before writes.
// Without a prefix it is an ordinary access.
func (i *Insn) str(out []Operand) []Operand {
	kind := records.AccessPlain
	if i.Attr&(AttrRep|AttrRepne) != 0 {
		kind = records.AccessString
	}
	for _, store := range []bool{false, true} {
		for _, base := range []Reg{RSI, RDI} {
			for j := range i.Mems[:i.NMem] {
				m := &i.Mems[j]
				if m.Base != base || (m.Write != 0) != store {
					continue
				}
				o := i.plain(m, store)
				o.Kind = kind
				out = append(out, o)
			}
		}
	}
	return out
}

// enter is the accesses of enter: the frame pointer's push, the copies of outer
// frame pointers, the new one's push.
// Levels above 31 do not exist: the processor takes them modulo 32.
func (i *Insn) enter(out []Operand) []Operand {
	at := func(base Reg, disp int64, store bool) Operand {
		o := Operand{Base: base, Index: NoReg, Disp: disp}
		o.Store, o.Size, o.AddrBits, o.BitReg = store, 8, 64, NoReg
		return o
	}
	out = append(out, at(RSP, -8, true))
	level := int64(i.Imm2) & 31
	for k := int64(1); k < level; k++ {
		out = append(out, at(RBP, -8*k, false), at(RSP, -8-8*k, true))
	}
	if level > 0 {
		out = append(out, at(RSP, -8-8*level, true))
	}
	return out
}

// Address is the operand's address with the given registers, by number, and
// the bases of fs and gs; for gathers and masked operands the base of the lanes.
// In the processor's order: sum, cut to the address size, then the segment's base.
func (o *Operand) Address(regs *[NumRegs]uint64, fs, gs uint64) uint64 {
	a := uint64(o.Disp)
	if o.Base != NoReg {
		a += regs[o.Base]
	}
	if o.Index != NoReg {
		a += regs[o.Index] * uint64(o.IndexScale)
	}
	if o.AL {
		a += regs[RAX] & 0xff
	}
	if o.AddrBits == 32 {
		a = uint64(uint32(a))
	}
	switch o.Seg {
	case records.SegFS:
		a += fs
	case records.SegGS:
		a += gs
	}
	return a
}
