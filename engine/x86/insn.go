package x86

// Reg is a general register by its number in encodings: 0 rax, 1 rcx, 2 rdx,
// 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi, 8 … 15.
// Zydis's own numbers, which are one for each width, stay in decode.c.
type Reg int8

// The registers that translation has to name.
// Their order is the encodings' and must stay.
const (
	RAX Reg = iota
	RCX
	RDX
	RBX
	RSP
	RBP
	RSI
	RDI
	R8
	R9
	R10
	R11
	R12
	R13
	R14
	R15
	RIP         // only as the base of an operand
	NoReg   Reg = -1
	NumRegs     = 16
)

// Segments of a memory operand whose bases a program can have set.
// Others are flat in 64-bit mode: ds, es, ss and cs have base 0.
const (
	SegNone = iota
	SegFS
	SegGS
)

// Types of a Mem.
const (
	MemPlain   = iota // an access
	MemAddress        // only an address is formed (lea)
	MemVector         // gather or scatter: Index is a vector register
)

// Mem is one memory operand as decoded. The fields mirror struct a_mem.
//
// Disp, Base, Index and Scale are those of the encoding: the address is their sum, with
// Base RIP counted from the next instruction. ElemSize and ElemCount are of vector
// operands. Hidden ones are implied by the opcode: the stack of a push, the pointers of
// string instructions.
type Mem struct {
	Disp                int64  // displacement
	Size                uint32 // bytes accessed
	ElemSize, ElemCount uint16 // of a vector operand, in bytes and elements
	Base, Index         Reg    // NoReg: none
	Scale, Seg          uint8  // 1, 2, 4 or 8; a Seg… constant
	Read, Write         uint8  // 1: it does, maybe conditionally
	Type, Hidden        uint8  // a Mem… constant; 1: implied by the opcode
}

// Kinds of an Op.
const (
	OpReg = 1 + iota
	OpMem
	OpImm
)

// Classes of a register operand. They mirror enum a_cls.
const (
	ClassGPR8  = 1 + iota
	ClassGPR8H // ah, ch, dh, bh; Id is that of rax, rcx, rdx, rbx
	ClassGPR16
	ClassGPR32
	ClassGPR64
	ClassX87
	ClassMMX
	ClassXMM
	ClassYMM
	ClassZMM
	ClassMask
	ClassSeg
	ClassOther
)

// ActCond: the write may not happen, as by cmov or under a mask.
// What an operand's Act says.
const (
	ActRead = 1 << iota
	ActWrite
	ActCond
)

// Op is one operand of any kind. The fields mirror struct a_op.
//
// ID is the register's number within its class, Act bits of Act…, Bits the width. An Op of
// memory stands for the next of Mems, in the same order.
type Op struct {
	Kind, Class, ID, Act uint8  // Op…, Class…, the register's number, Act…
	Bits                 uint16 // width
	_                    uint16
}

// AttrRep also stands for repe. The prefixes count only where they mean something:
// a mandatory f3 of an SSE opcode is part of that opcode.
// Attributes of an Insn.
const (
	AttrLock = 1 << iota
	AttrRep
	AttrRepne
	AttrFS
	AttrGS
	AttrRIPRel
	AttrRel
	attrSigned // the immediate is sign-extended; what Decoder has to know
	AttrData16 // the operand size is said to be 16 bits
)

// AllFlags is every arithmetic flag, as in FlagsRead and FlagsWrite: OF, SF,
// ZF, AF, PF, CF from bit 0.
const AllFlags = 0x3f

// Insn is one decoded instruction. The fields mirror struct a_insn.
//
// It has 184 bytes, and is made in arrays of a basic block. Offsets are from the
// instruction's first byte; 0 stands for "has none" where the field cannot be at 0.
// GPRRead and GPRWrite have a bit a register; in GPRPartial are those of which the old
// value survives in part, and which therefore must not be taken for overwritten.
type Insn struct {
	Addr                             uint64 // of its first byte
	Imm                              int64  // a relative branch's is its absolute target
	Mnem, ISA                        uint16
	GPRRead, GPRWrite, GPRPartial    uint16
	Attr                             uint16
	FlagsRead, FlagsWrite, flagsMust uint8
	Len, Cat, Ext, Enc, Map, Opcode  uint8
	ModRMOff, ModRM, SIBOff          uint8
	DispOff, DispSize                uint8
	ImmOff, ImmSize                  uint8
	AddrBits, OpBits, NMem, NOps     uint8
	MaskReg, MaskMode, VLBytes, Rex  uint8
	PrefixEnd, MentionsRSP, Imm2     uint8
	Bcast                            uint8 // how many elements a memory operand is broadcast to; 0 it is not
	Mems                             [4]Mem
	Ops                              [4]Op
}

// Next is the address of the instruction after this one.
// It is also what RIP-relative operands and relative branches count from.
func (i *Insn) Next() uint64 { return i.Addr + uint64(i.Len) }

// Target is where a direct branch goes.
// It is meaningless for others: Imm is then a constant.
func (i *Insn) Target() uint64 { return uint64(i.Imm) }

// Mentions is the set of general registers that the instruction reads, writes
// or addresses with, explicitly or not.
// A register outside of it may hold something of the translator's across the
// instruction.
func (i *Insn) Mentions() uint16 { return i.GPRRead | i.GPRWrite }

// Has tells whether all of the attributes are there.
func (i *Insn) Has(attr uint16) bool { return i.Attr&attr == attr }

// RIPRelative tells whether an operand is addressed relative to the
// instruction.
// Such an instruction cannot be copied elsewhere as it is.
func (i *Insn) RIPRelative() bool { return i.Attr&AttrRIPRel != 0 }

// FlagsAlways is the set of flags that the instruction overwrites whatever its
// operands: a shift by a count that may be zero, or a repeated compare, may
// leave them all. A flag that is called undefined afterwards is not in it: in
// many cases processors leave it as it was (bt does), and programs see that.
func (i *Insn) FlagsAlways() uint8 {
	if i.Attr&(AttrRep|AttrRepne) != 0 {
		return 0
	}
	switch i.Opcode {
	case 0xd2, 0xd3, 0xc0, 0xc1, 0xa5, 0xad, 0xa4, 0xac:
		if i.FlagsWrite != 0 {
			return 0
		}
	}
	return i.flagsMust
}

// TailOff is where the bytes behind the memory operand begin: constants.
// Only for instructions with a memory form.
func (i *Insn) TailOff() int {
	switch {
	case i.DispSize > 0:
		return int(i.DispOff + i.DispSize)
	case i.SIBOff > 0:
		return int(i.SIBOff) + 1
	}
	return int(i.ModRMOff) + 1
}

// MemoryForm tells whether the instruction has a ModRM byte that names memory.
// Implied operands (push, string instructions) have none.
func (i *Insn) MemoryForm() bool { return i.ModRMOff > 0 && i.ModRM>>6 != 3 }

// HighByte tells whether an operand is ah, ch, dh or bh, which a REX prefix would
// turn into another register.
// Scratch registers r8 to r15 need that prefix, so that such an instruction
// restricts the choice.
func (i *Insn) HighByte() bool {
	for _, o := range i.Ops[:i.NOps] {
		if o.Kind == OpReg && o.Class == ClassGPR8H {
			return true
		}
	}
	return false
}

// GPRBeside is the general register that a move between it and memory names.
// ok is false for another register, or an immediate.
func (i *Insn) GPRBeside(store bool) (Op, bool) {
	k := 0
	if store {
		k = 1
	}
	op := i.Ops[k]
	ok := op.Kind == OpReg && op.Class >= ClassGPR8 && op.Class <= ClassGPR64
	return op, ok
}

// VectorMove tells moves of a whole vector register to or from memory, whose
// operand has the register's low bytes as they are.
// Their value can be taken from the register instead of from memory a second time.
// Conversions, broadcasts and half-register moves are not among them: register and
// memory then differ.
func (i *Insn) VectorMove() bool {
	switch i.Mnem {
	case MMOVAPS, MMOVAPD, MMOVUPS, MMOVUPD, MMOVDQA, MMOVDQU, MMOVSS, MMOVQ, MMOVD, MLDDQU,
		MVMOVAPS, MVMOVAPD, MVMOVUPS, MVMOVUPD, MVMOVDQA, MVMOVDQU, MVLDDQU,
		MVMOVDQA32, MVMOVDQA64, MVMOVDQU8, MVMOVDQU16, MVMOVDQU32, MVMOVDQU64,
		MVMOVSS, MVMOVSD, MVMOVSH, MVMOVD, MVMOVQ, MVMOVW, MMOVNTPS, MMOVNTPD, MMOVNTDQ, MVMOVNTPS, MVMOVNTPD, MVMOVNTDQ, MMOVNTDQA, MVMOVNTDQA:
		return true
	case MMOVSD:
		return i.Map != 0
	}
	return false
}
