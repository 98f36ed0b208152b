package x86

import (
	"strconv"
	"strings"
)

// FormName is the instruction's form: its class, then each operand that an
// assembler would be told, by kind and width, joined by underscores, as in
// MOV_GPRv_MEMv. It is made in the manner of XED's iforms, which Zydis does not
// have, and agrees with them for most general-purpose instructions.
//
//	form     = ["REP_" | "REPE_" | "REPNE_"] class ["_LOCK"] {"_" operand}
//	register = GPR8 | GPRv | GPR16 | GPR32 | GPR64 | MMX | XMM | YMM | ZMM | MASK
//	           | X87 | ST0 | SEG | CR | DR | BND | TMM
//	fixed    = AL | CL | DX | OrAX | FS | GS (part of the opcode; OrAX: rax, eax or ax)
//	memory   = AGEN | "MEM" [width]
//	constant = ONE | "IMM" width | "RELBR" width
//	width    = b 1 byte, w 2, d 4, q 8, t 10, dq 16, qq 32, zd 64,
//	           v operand size, z operand size but at most 4
//
// v and z stand for the operand size in legacy code without vector operands: one
// form then is the 16-, 32- and 64-bit instruction. Everywhere else widths are
// stated. Memory of another size has no width.
//
// Unlike XED's, a form never ends in its opcode (ADD_GPRv_GPRv, where XED
// has two, _01 and _03, that do the same), and vector registers and memory
// have no element type.
func (i *Insn) FormName() string {
	// Names are made at each call. Who asks for many instructions keeps them by what
	// tells instructions apart.
	class := strings.ToUpper(i.ClassName())
	f := former{Insn: i, class: class, visible: i.visible(class)}
	f.scales = f.scalable()
	var b strings.Builder
	b.WriteString(f.repeat())
	b.WriteString(class)
	if i.Attr&AttrLock != 0 {
		b.WriteString("_LOCK")
	}
	for k := range f.visible {
		b.WriteByte('_')
		b.WriteString(f.operand(k))
	}
	if f.fifth() {
		b.WriteString("_IMMb")
	}
	return b.String()
}

// former is one FormName in the making.
type former struct {
	*Insn
	class   string
	visible int
	scales  bool // widths are relative to the operand size
	mems    int  // memory operands so far
	imms    int  // constants so far
}

// visible is how many of the leading Ops an assembler would be told. Zydis
// knows, but an Insn does not carry it, so it is worked out: hidden operands
// follow the visible ones, and are mostly memory marked so or registers of no
// class of ours (flags, rip, MXCSR). hiddenFrom has the exceptions.
func (i *Insn) visible(class string) int {
	n, mems := 0, 0
	for ; n < int(i.NOps); n++ {
		op := &i.Ops[n]
		if op.Kind == OpMem {
			if mems < len(i.Mems) && i.Mems[mems].Hidden != 0 {
				break
			}
			mems++
		}
		if op.Kind == OpReg && op.Class == ClassOther && !namesOther(class) {
			break
		}
		// What x87 instructions load into or store from is always ST0.
		if op.Kind == OpReg && op.Class == ClassX87 && n > 0 && i.Ops[n-1].Kind == OpMem {
			break
		}
	}
	if class == "IMUL" && i.Map == 0 && (i.Opcode == 0xf6 || i.Opcode == 0xf7) {
		return 1 // the one-operand form; the others hide nothing but flags
	}
	return min(n, hiddenFrom(class))
}

// namesOther tells classes whose operands are registers of ClassOther: bounds,
// tiles, control and debug registers. No other class names such a register.
func namesOther(class string) bool {
	return class == "MOV" || strings.HasPrefix(class, "BND") || strings.HasPrefix(class, "TILE") || strings.HasPrefix(class, "TDP")
}

// hiddenFrom is the operand from which on those of a class are hidden, for the
// classes with hidden registers of a visible kind. The list was found by
// decoding every opcode and comparing with Zydis's own marks.
func hiddenFrom(class string) int {
	switch class {
	case "CBW", "CDQ", "CDQE", "CPUID", "CQO", "CWD", "CWDE", "ENCLS", "ENCLU", "ENCLV", "GETSEC", "LAHF", "SAHF",
		"F2XM1", "FABS", "FCHS", "FCOMPP", "FCOS", "FLD1", "FLDL2E", "FLDL2T", "FLDLG2", "FLDLN2", "FLDPI", "FLDZ",
		"FPATAN", "FPREM", "FPREM1", "FPTAN", "FRNDINT", "FSCALE", "FSIN", "FSINCOS", "FSQRT", "FTST", "FUCOMPP",
		"FXAM", "FXTRACT", "FYL2X", "FYL2XP1",
		"LODSB", "LODSD", "LODSQ", "LODSW", "OUTSB", "OUTSD", "OUTSW", "SCASB", "SCASD", "SCASQ", "SCASW",
		"MONITOR", "MONITORX", "MONTMUL", "MWAIT", "MWAITX", "PCONFIG", "POPF", "POPFQ", "PUSHF", "PUSHFQ",
		"RDMSR", "RDPMC", "RDPRU", "RDTSC", "RDTSCP", "SEAMCALL", "SEAMOPS", "TDCALL", "VMFUNC", "WRMSR",
		"XCRYPT_CBC", "XCRYPT_CFB", "XCRYPT_CTR", "XCRYPT_ECB", "XCRYPT_OFB", "XGETBV", "XSETBV", "XSHA1", "XSHA256", "XSTORE":
		return 0
	case "AESDECWIDE128KL", "AESDECWIDE256KL", "AESENCWIDE128KL", "AESENCWIDE256KL", "CMPXCHG16B", "CMPXCHG8B",
		"DIV", "IDIV", "MUL", "FCOM", "FCOMP", "FLD", "FST", "FSTP", "FSTPNCE", "FUCOM", "FXCH", "HRESET",
		"JECXZ", "JRCXZ", "LOOP", "LOOPE", "LOOPNE", "POP", "PUSH", "TPAUSE", "UMWAIT", "XABORT",
		"XRSTOR", "XRSTOR64", "XRSTORS", "XRSTORS64", "XSAVE", "XSAVE64", "XSAVEC", "XSAVEC64", "XSAVEOPT", "XSAVEOPT64",
		"XSAVES", "XSAVES64":
		return 1
	case "BLENDVPD", "BLENDVPS", "CMPXCHG", "ENCODEKEY128", "ENCODEKEY256", "ENTER", "LFS", "LGS", "LSS", "LOADIWKEY",
		"PBLENDVB", "SHA256RNDS2":
		return 2
	case "MULX", "PCMPESTRI", "PCMPESTRM", "PCMPISTRI", "PCMPISTRM", "VPCMPESTRI", "VPCMPESTRM", "VPCMPISTRI", "VPCMPISTRM":
		return 3
	}
	return len(Insn{}.Ops)
}

// fifth tells whether a fifth operand was cut off, for which an Insn has no
// room. Where there are five, the last is a constant of a byte.
// Such are EVEX instructions with mask, two sources and a constant, and XOP's
// permutations.
func (f *former) fifth() bool {
	return f.visible == len(f.Ops) && f.imms == 0 && f.ImmSize > 0 &&
		(f.Enc == EncEVEX || strings.HasPrefix(f.class, "VPERMIL2"))
}

// scalable tells whether v and z mean something. A vector operand fixes what
// the instruction works on; VEX-coded general-purpose ones (BMI) have one form
// for each width in XED, too.
func (f *former) scalable() bool {
	if f.Enc != EncLegacy || f.OpBits < 16 {
		return false
	}
	// Visible ones only: maskmov's hidden pointer and cmpxchg16b's hidden registers
	// say nothing about what the widths relate to.
	for _, op := range f.Ops[:f.visible] {
		if op.Kind == OpReg && op.Class >= ClassX87 && op.Class <= ClassMask {
			return false
		}
	}
	return f.Map != 0 || f.Opcode < 0xd8 || f.Opcode > 0xdf // x87 with memory only
}

// repeat is the prefix of a string instruction that is repeated; XED has a class
// of its own for each.
func (f *former) repeat() string {
	// Prefixes that mean something else (bnd, a mandatory f3) are not among these
	// attributes.
	switch {
	case f.Attr&AttrRepne != 0:
		return "REPNE_"
	case f.Attr&AttrRep == 0:
		return ""
	case strings.HasPrefix(f.class, "CMPS"), strings.HasPrefix(f.class, "SCAS"):
		return "REPE_"
	}
	return "REP_"
}

// operand is the name of the k-th operand; they are asked for in order.
//
// Constants have no kind of their own beyond the width: what they mean is in the class.
func (f *former) operand(k int) string {
	op := &f.Ops[k]
	switch op.Kind {
	case OpReg:
		return f.register(op, k)
	case OpMem:
		m := &f.Mems[f.mems]
		f.mems++
		if m.Type == MemAddress {
			return "AGEN"
		}
		return "MEM" + f.width(int(m.Size))
	}
	f.imms++
	return f.constant()
}

// register names a register operand.
func (f *former) register(op *Op, k int) string {
	switch op.Class {
	case ClassX87:
		return f.stack(k)
	case ClassMMX, ClassXMM, ClassYMM, ClassZMM, ClassMask:
		return [...]string{"MMX", "XMM", "YMM", "ZMM", "MASK"}[op.Class-ClassMMX]
	case ClassSeg:
		if f.ModRMOff == 0 && int(op.ID) < 6 {
			return [...]string{"ES", "CS", "SS", "DS", "FS", "GS"}[op.ID]
		}
		return "SEG"
	case ClassOther:
		return f.other()
	}
	if name := fixedName(op); name != "" && f.fixed(k) {
		return name
	}
	// Compared with what the instruction works on: the source of movzx is narrower,
	// and that is what makes it another form.
	if f.scales && op.Bits == uint16(f.OpBits) {
		return "GPRv"
	}
	return "GPR" + strconv.Itoa(int(op.Bits))
}

// other names a register that is neither general nor vector.
func (f *former) other() string {
	switch {
	case f.class == "MOV" && f.Opcode&1 == 0: // 0f 20 and 0f 22
		return "CR"
	case f.class == "MOV":
		return "DR"
	case strings.HasPrefix(f.class, "BND"):
		return "BND"
	}
	return "TMM"
}

// stack names an x87 operand. Of two the opcode says which is the top: the
// last where the result goes down into the stack, else the first.
// Register forms have an opcode for each direction, so that the opcode is enough.
func (f *former) stack(k int) string {
	if f.visible < 2 {
		return "X87"
	}
	top := 0
	if f.Opcode == 0xdc || f.Opcode == 0xde {
		top = 1
	}
	if k == top {
		return "ST0"
	}
	return "X87"
}

// fixed tells operands that are part of the opcode rather than encoded in it:
// add al, 1 has a form of its own for al.
//
// The opcode maps of the Intel SDM (volume 2, appendix A) have such operands in lower case or
// as register names.
func (f *former) fixed(k int) bool {
	if f.Enc != EncLegacy {
		return false
	}
	last := k == f.visible-1 && k > 0
	switch {
	case f.Map == 0 && (f.Opcode == 0xd2 || f.Opcode == 0xd3), f.Map == 1 && (f.Opcode == 0xa5 || f.Opcode == 0xad):
		return last // shifts by cl
	case f.Map == 0 && f.Opcode >= 0xd8 && f.Opcode <= 0xdf:
		return true // fnstsw stores into ax alone
	case f.ModRMOff != 0:
		return false
	case f.Map == 0 && f.Opcode&0xf8 == 0x90:
		return last // xchg with rax
	}
	// The opcode's low bits name the register.
	inOpcode := f.Map == 0 && (f.Opcode&0xf0 == 0x50 || f.Opcode&0xf0 == 0xb0) || f.Map == 1 && f.Opcode&0xf8 == 0xc8
	return !inOpcode
}

// fixedName names a fixed register as XED does; the wider ones of rax share a
// name as they do an opcode.
// Other registers never are part of an opcode that has another form beside it.
func fixedName(op *Op) string {
	switch {
	case op.Class == ClassGPR8 && op.ID == uint8(RAX):
		return "AL"
	case op.Class == ClassGPR8 && op.ID == uint8(RCX):
		return "CL"
	case op.Class == ClassGPR16 && op.ID == uint8(RDX):
		return "DX"
	case op.Class >= ClassGPR16 && op.Class <= ClassGPR64 && op.ID == uint8(RAX):
		return "OrAX"
	}
	return ""
}

// constant names an immediate or relative operand.
// The operand size decides between IMMz and a fixed width, as in the manuals'
// opcode maps.
func (f *former) constant() string {
	switch {
	case f.imms > 1:
		return "IMMb" // enter, extrq, insertq
	case f.ImmSize == 0:
		return "ONE" // shl x, 1
	case f.Attr&AttrRel != 0:
		return "RELBR" + plainWidth(int(f.ImmSize))
	case f.scales && f.Map == 0 && f.Opcode&0xf8 == 0xb8:
		return "IMMv" // the only instruction with eight bytes of it
	case f.scales && f.ImmSize > 1 && int(f.ImmSize) == min(int(f.OpBits)/8, 4):
		return "IMMz"
	}
	return "IMM" + plainWidth(int(f.ImmSize))
}

// width names a size in bytes: v where it is the operand size.
func (f *former) width(size int) string {
	if f.scales && size > 1 && size*8 == int(f.OpBits) {
		return "v"
	}
	return plainWidth(size)
}

// plainWidth names a size in bytes; empty for sizes that only state-saving
// instructions have.
// They are XED's letters.
func plainWidth(size int) string {
	switch size {
	case 1:
		return "b"
	case 2:
		return "w"
	case 4:
		return "d"
	case 8:
		return "q"
	case 10:
		return "t"
	case 16:
		return "dq"
	case 32:
		return "qq"
	case 64:
		return "zd"
	}
	return ""
}
