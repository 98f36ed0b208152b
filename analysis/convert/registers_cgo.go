package convert

/*
#cgo LDFLAGS: -lZydis
#include <Zydis/Zydis.h>

// The numbers that Pin gives to registers, as ChampSim's tracer writes them and its branch
// detection compares with: 6 stack pointer, 25 flags, 26 instruction pointer. Above 26 any
// number will do, since only equality counts.
static unsigned char alleria_register(ZydisRegister r) {
	static const unsigned char gpr[16] = {10, 9, 8, 7, 6, 5, 4, 3, 11, 12, 13, 14, 15, 16, 17, 18};
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
	if (whole == ZYDIS_REGISTER_NONE)
		whole = r;
	ZyanI8 id = ZydisRegisterGetId(whole);
	switch (ZydisRegisterGetClass(whole)) {
	case ZYDIS_REGCLASS_GPR64:
		// Zydis numbers as encodings do: rax rcx rdx rbx rsp rbp rsi rdi.
		return id >= 0 && id < 16 ? gpr[id] : 0;
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
		return id >= 0 ? 64 + id : 0;
	case ZYDIS_REGCLASS_MMX:
	case ZYDIS_REGCLASS_X87:
		return id >= 0 ? 96 + id : 0;
	case ZYDIS_REGCLASS_MASK:
		return id >= 0 ? 112 + id : 0;
	case ZYDIS_REGCLASS_FLAGS:
		return 25;
	case ZYDIS_REGCLASS_IP:
		return 26;
	default:
		return 0;
	}
}

// alleria_add adds a register to a list without zeros, unless it is there or the list is full.
static void alleria_add(unsigned char *list, int n, ZydisRegister r) {
	unsigned char id = alleria_register(r);
	if (r == ZYDIS_REGISTER_NONE || id == 0)
		return;
	for (int i = 0; i < n; i++) {
		if (list[i] == id)
			return;
		if (list[i] == 0) {
			list[i] = id;
			return;
		}
	}
}

// alleria_kind tells how an instruction branches: the kinds of Go's insKind.
static int alleria_kind(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *ops) {
	int direct = insn->operand_count_visible > 0 && ops[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return 1;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return direct ? 2 : 3;
	case ZYDIS_CATEGORY_CALL:
		return direct ? 4 : 5;
	case ZYDIS_CATEGORY_RET:
		return 6;
	default:
		return 0;
	}
}

// alleria_registers lists what an instruction reads and writes, hidden operands and those of
// addresses included. Which flags it touches is in the operand of the flags register.
static int alleria_registers(const void *code, size_t len, unsigned char *in, int n_in, unsigned char *out, int n_out, int *kind) {
	ZydisDecoder d;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	if (ZYAN_FAILED(ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    ZYAN_FAILED(ZydisDecoderDecodeFull(&d, code, len, &insn, ops)))
		return 0;
	*kind = alleria_kind(&insn, ops);
	for (int i = 0; i < insn.operand_count; i++) {
		const ZydisDecodedOperand *o = &ops[i];
		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			alleria_add(in, n_in, o->mem.base);
			alleria_add(in, n_in, o->mem.index);
		}
		if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			alleria_add(in, n_in, o->reg.value);
		if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			alleria_add(out, n_out, o->reg.value);
	}
	return 1;
}
*/
import "C"

import "unsafe"

// insKind is how an instruction branches.
type insKind uint8

// Kinds of instructions, as alleria_kind numbers them.
const (
	kindPlain insKind = iota
	kindConditional
	kindJump
	kindIndirectJump
	kindCall
	kindIndirectCall
	kindReturn
)

// registersOf returns how an instruction branches, and puts the registers that it reads and
// writes into in and out, as many as there is room for, by Pin's numbers and padded with
// zeros.
func registersOf(code []byte, in, out []byte) insKind {
	var kind C.int
	if len(code) > 0 {
		C.alleria_registers(unsafe.Pointer(&code[0]), C.size_t(len(code)),
			(*C.uchar)(&in[0]), C.int(len(in)), (*C.uchar)(&out[0]), C.int(len(out)), &kind)
	}
	return insKind(kind)
}
