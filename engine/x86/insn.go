package x86

// Reg is a general register by its number in encodings: 0 rax, 1 rcx, 2 rdx,
// 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi, 8 … 15.
type Reg int8

// The registers that translation has to name.
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

// Segments of a memory operand; others are flat in 64-bit mode.
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
type Mem struct {
	Disp                int64
	Size                uint32
	ElemSize, ElemCount uint16
	Base, Index         Reg
	Scale, Seg          uint8
	Read, Write         uint8
	Type, Hidden        uint8
}

// Kinds of an Op.
const (
	OpReg = 1 + iota
	OpMem
	OpImm
)

// Classes of a register operand.
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

// What an operand's Act says.
const (
	ActRead = 1 << iota
	ActWrite
	ActCond
)

// Op is one operand of any kind. The fields mirror struct a_op.
type Op struct {
	Kind, Class, ID, Act uint8
	Bits                 uint16
	_                    uint16
}

// Attributes of an Insn.
const (
	AttrLock = 1 << iota
	AttrRep
	AttrRepne
	AttrFS
	AttrGS
	AttrRIPRel
	AttrRel
)

// AllFlags is every arithmetic flag, as in FlagsRead and FlagsWrite: OF, SF,
// ZF, AF, PF, CF from bit 0.
const AllFlags = 0x3f

// Insn is one decoded instruction. The fields mirror struct a_insn.
type Insn struct {
	Addr                             uint64
	Imm                              int64 // a relative branch's is its absolute target
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
func (i *Insn) Next() uint64 { return i.Addr + uint64(i.Len) }

// Target is where a direct branch goes.
func (i *Insn) Target() uint64 { return uint64(i.Imm) }

// Mentions is the set of general registers that the instruction reads, writes
// or addresses with, explicitly or not.
func (i *Insn) Mentions() uint16 { return i.GPRRead | i.GPRWrite }

// Has tells whether all of the attributes are there.
func (i *Insn) Has(attr uint16) bool { return i.Attr&attr == attr }

// RIPRelative tells whether an operand is addressed relative to the
// instruction.
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
func (i *Insn) MemoryForm() bool { return i.ModRMOff > 0 && i.ModRM>>6 != 3 }

// HighByte tells whether an operand is ah, ch, dh or bh, which a REX prefix would
// turn into another register.
func (i *Insn) HighByte() bool {
	for _, o := range i.Ops[:i.NOps] {
		if o.Kind == OpReg && o.Class == ClassGPR8H {
			return true
		}
	}
	return false
}

// GPRBeside is the general register that a move between it and memory names.
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
func (i *Insn) VectorMove() bool {
	switch i.Mnem {
	case MMOVAPS, MMOVAPD, MMOVUPS, MMOVUPD, MMOVDQA, MMOVDQU, MMOVSS, MMOVQ, MMOVD, MLDDQU,
		MVMOVAPS, MVMOVAPD, MVMOVUPS, MVMOVUPD, MVMOVDQA, MVMOVDQU, MVLDDQU,
		MVMOVDQA32, MVMOVDQA64, MVMOVDQU8, MVMOVDQU16, MVMOVDQU32, MVMOVDQU64,
		MVMOVSS, MVMOVSD, MVMOVD, MVMOVQ, MMOVNTPS, MMOVNTPD, MMOVNTDQ, MVMOVNTPS, MVMOVNTPD, MVMOVNTDQ, MMOVNTDQA, MVMOVNTDQA:
		return true
	case MMOVSD:
		return i.Map != 0
	}
	return false
}
