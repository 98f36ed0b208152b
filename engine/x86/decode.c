/* From Zydis's decoded instructions to the compact ones of decode.h. One call from Go
 * decodes a whole basic block: crossing from Go into C costs as much as decoding an
 * instruction does. Nothing here keeps state or allocates. */
#include "decode.h"
#include <string.h>
#include <Zydis/Zydis.h>

/* The number of a general register of any width, as encodings have it (rax 0, rcx 1 …);
 * 16 for the instruction pointer, -1 for everything else. */
static int gpr(ZydisRegister r) {
	if (r == ZYDIS_REGISTER_RIP || r == ZYDIS_REGISTER_EIP) return 16;
	r = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
	if (r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15) return r - ZYDIS_REGISTER_RAX;
	return -1;
}

/* Class and number of a register. ah, ch, dh and bh get a class of their own, because a
 * REX prefix would turn their numbers into those of spl, bpl, sil and dil. */
static void classify(ZydisRegister r, struct a_op *o) {
	static const struct { ZydisRegisterClass zc; uint8_t cls; } map[] = {
		{ZYDIS_REGCLASS_GPR8, A_GPR8}, {ZYDIS_REGCLASS_GPR16, A_GPR16}, {ZYDIS_REGCLASS_GPR32, A_GPR32},
		{ZYDIS_REGCLASS_GPR64, A_GPR64}, {ZYDIS_REGCLASS_X87, A_X87}, {ZYDIS_REGCLASS_MMX, A_MMX},
		{ZYDIS_REGCLASS_XMM, A_XMM}, {ZYDIS_REGCLASS_YMM, A_YMM}, {ZYDIS_REGCLASS_ZMM, A_ZMM},
		{ZYDIS_REGCLASS_MASK, A_MASK}, {ZYDIS_REGCLASS_SEGMENT, A_SEG},
	};
	ZydisRegisterClass c = ZydisRegisterGetClass(r);
	o->cls = A_OTHER;
	for (size_t i = 0; i < sizeof map / sizeof map[0]; i++)
		if (map[i].zc == c) o->cls = map[i].cls;
	int id = ZydisRegisterGetId(r);
	if (o->cls == A_GPR8) {
		int g = gpr(r);
		if (r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH) o->cls = A_GPR8H;
		id = g;
	}
	o->id = id < 0 ? 255 : (uint8_t)id;
}

/* Adds a general register to the sets of what is read and written. A write of 32 or 64
 * bits replaces all of the register, one of 8 or 16 only a part; a conditional one may
 * leave it as it was. */
static void note_gpr(struct a_insn *o, ZydisRegister r, int read, int write, int cond) {
	int g = gpr(r);
	if (g < 0 || g > 15) return;
	if (g == 4) o->mentions_rsp = 1;
	ZydisRegisterClass c = ZydisRegisterGetClass(r);
	if (read) o->gpr_read |= 1u << g;
	if (write) {
		o->gpr_write |= 1u << g;
		if (cond || c == ZYDIS_REGCLASS_GPR8 || c == ZYDIS_REGCLASS_GPR16) o->gpr_partial |= 1u << g;
	}
}

/* The six arithmetic flags, packed. DF, IF, TF and the rest are nothing that liveness
 * asks for: no instruction of the translator changes them. */
static uint8_t flagbits(uint32_t f) {
	uint8_t b = 0;
	if (f & ZYDIS_CPUFLAG_OF) b |= 1;
	if (f & ZYDIS_CPUFLAG_SF) b |= 2;
	if (f & ZYDIS_CPUFLAG_ZF) b |= 4;
	if (f & ZYDIS_CPUFLAG_AF) b |= 8;
	if (f & ZYDIS_CPUFLAG_PF) b |= 16;
	if (f & ZYDIS_CPUFLAG_CF) b |= 32;
	return b;
}

/* Whether an operand is a displacement without a base, whatever the bit says that extends base registers: for 32-bit
 * addresses Zydis takes r13 for its base then. */
static int baseless(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *p) {
	return p->encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM && in->attributes & ZYDIS_ATTRIB_HAS_SIB && in->raw.modrm.mod == 0 &&
		in->raw.sib.base == 5;
}

/* A memory operand. The registers of its address count as read, also where only the
 * address is formed. More than A_MEMS operands no instruction has. */
static void memop(struct a_insn *o, const ZydisDecodedInstruction *in, const ZydisDecodedOperand *p) {
	ZydisRegister base = p->mem.base;
	if (o->nmem == A_MEMS) return;
	struct a_mem *m = &o->mem[o->nmem++];
	m->disp = p->mem.disp.has_displacement ? p->mem.disp.value : 0;
	m->size = p->size / 8;
	m->elem_size = p->element_size / 8;
	m->elem_count = p->element_count;
	if (baseless(in, p)) {
		base = ZYDIS_REGISTER_NONE;
		m->disp = in->raw.disp.value;
	}
	m->base = (int8_t)gpr(base);
	m->scale = p->mem.scale;
	m->index = -1;
	if (p->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
		m->index = (int8_t)ZydisRegisterGetId(p->mem.index);
		m->type = 2;
	} else if (p->mem.index != ZYDIS_REGISTER_NONE) {
		m->index = (int8_t)gpr(p->mem.index);
	}
	if (p->mem.type == ZYDIS_MEMOP_TYPE_AGEN || p->mem.type == ZYDIS_MEMOP_TYPE_MIB) m->type = 1;
	m->seg = p->mem.segment == ZYDIS_REGISTER_FS ? 1 : p->mem.segment == ZYDIS_REGISTER_GS ? 2 : 0;
	m->read = (p->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
	m->write = (p->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
	m->hidden = p->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
	note_gpr(o, base, 1, 0, 0);
	if (p->mem.type != ZYDIS_MEMOP_TYPE_VSIB) note_gpr(o, p->mem.index, 1, 0, 0);
}

/* All operands, hidden ones too: the sets of registers are over all, while only the
 * first A_OPS are kept by themselves. */
static void operands(struct a_insn *o, const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops) {
	for (int i = 0; i < in->operand_count; i++) {
		const ZydisDecodedOperand *p = &ops[i];
		int rd = (p->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
		int wr = (p->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
		int cond = (p->actions & ZYDIS_OPERAND_ACTION_CONDWRITE) != 0;
		struct a_op scratch, *q = o->nops < A_OPS ? &o->op[o->nops++] : &scratch;
		memset(q, 0, sizeof *q);
		q->act = rd | wr << 1 | cond << 2;
		q->bits = p->size;
		switch (p->type) {
		case ZYDIS_OPERAND_TYPE_REGISTER:
			q->kind = 1;
			classify(p->reg.value, q);
			note_gpr(o, p->reg.value, rd, wr, cond);
			break;
		case ZYDIS_OPERAND_TYPE_MEMORY:
			q->kind = 2;
			memop(o, in, p);
			break;
		case ZYDIS_OPERAND_TYPE_IMMEDIATE:
			q->kind = 3;
			break;
		default:
			q->kind = 4;
		}
	}
}

/* String instructions move their pointers; Zydis does not say so of those that
 * compare. A repeated one may leave them. */
static void pointers(struct a_insn *o, const ZydisDecodedInstruction *in) {
	if (in->meta.category != ZYDIS_CATEGORY_STRINGOP) return;
	for (int i = 0; i < o->nmem; i++) {
		int g = o->mem[i].base;
		if (g != 6 && g != 7) continue;
		o->gpr_write |= 1u << g;
		if (o->attr & (A_REP | A_REPNE)) o->gpr_partial |= 1u << g;
	}
}

/* How many elements of the result a broadcast operand fills. */
static uint8_t broadcast(ZydisBroadcastMode m) {
	switch (m) {
	case ZYDIS_BROADCAST_MODE_1_TO_2: return 2;
	case ZYDIS_BROADCAST_MODE_1_TO_4: case ZYDIS_BROADCAST_MODE_2_TO_4: return 4;
	case ZYDIS_BROADCAST_MODE_1_TO_8: case ZYDIS_BROADCAST_MODE_2_TO_8: case ZYDIS_BROADCAST_MODE_4_TO_8: return 8;
	case ZYDIS_BROADCAST_MODE_1_TO_16: case ZYDIS_BROADCAST_MODE_2_TO_16: case ZYDIS_BROADCAST_MODE_4_TO_16:
	case ZYDIS_BROADCAST_MODE_8_TO_16: return 16;
	case ZYDIS_BROADCAST_MODE_1_TO_32: return 32;
	case ZYDIS_BROADCAST_MODE_1_TO_64: return 64;
	default: return 0;
	}
}

/* Fills o in; 1 if the instruction ends a basic block: everything after which another
 * than the next instruction may be executed, and what traps for certain. */
static int fill(struct a_insn *o, const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops, uint64_t addr) {
	memset(o, 0, sizeof *o);
	o->addr = addr;
	o->len = in->length;
	o->mnem = in->mnemonic;
	o->isa = in->meta.isa_set;
	o->cat = in->meta.category;
	if (in->mnemonic == ZYDIS_MNEMONIC_XEND) o->cat = ZYDIS_CATEGORY_SYSTEM; /* a conditional branch to Zydis; it leads nowhere */
	o->ext = in->meta.isa_ext;
	o->enc = in->encoding;
	o->map = in->opcode_map;
	o->opcode = in->opcode;
	o->addr_bits = in->address_width;
	o->op_bits = in->operand_width;
	if (in->attributes & ZYDIS_ATTRIB_HAS_LOCK) o->attr |= A_LOCK;
	if (in->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE)) o->attr |= A_REP;
	if (in->attributes & ZYDIS_ATTRIB_HAS_REPNE) o->attr |= A_REPNE;
	if (in->attributes & ZYDIS_ATTRIB_HAS_SEGMENT_FS) o->attr |= A_SEG_FS;
	if (in->attributes & ZYDIS_ATTRIB_HAS_SEGMENT_GS) o->attr |= A_SEG_GS;
	if (in->attributes & ZYDIS_ATTRIB_IS_RELATIVE) o->attr |= A_REL;
	if (in->raw.imm[0].is_signed) o->attr |= A_SIGNED;
	if (in->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE && !in->raw.rex.W) o->attr |= A_DATA16;
	if (in->attributes & ZYDIS_ATTRIB_HAS_MODRM) {
		o->modrm_off = in->raw.modrm.offset;
		o->modrm = in->raw.modrm.mod << 6 | in->raw.modrm.reg << 3 | in->raw.modrm.rm;
		/* Moves of control and debug registers take no notice of mod: they have no displacement. */
		if (in->raw.modrm.mod == 0 && in->raw.modrm.rm == 5 && in->raw.disp.size == 32) o->attr |= A_RIPREL;
	}
	if (in->attributes & ZYDIS_ATTRIB_HAS_SIB) o->sib_off = in->raw.sib.offset;
	o->disp_off = in->raw.disp.offset;
	o->disp_size = in->raw.disp.size / 8;
	o->imm_off = in->raw.imm[0].offset;
	o->imm_size = in->raw.imm[0].size / 8;
	o->imm = in->raw.imm[0].value.s;
	if (in->raw.imm[0].is_relative) o->imm += (int64_t)(addr + in->length);
	if (in->attributes & ZYDIS_ATTRIB_HAS_REX)
		o->rex = 0x40 | in->raw.rex.W << 3 | in->raw.rex.R << 2 | in->raw.rex.X << 1 | in->raw.rex.B;
	o->prefix_end = o->rex ? in->raw.rex.offset : 0;
	o->imm2 = (uint8_t)in->raw.imm[1].value.u;
	o->mask_mode = in->avx.mask.mode;
	o->mask_reg = in->avx.mask.reg == ZYDIS_REGISTER_NONE ? 0 : (uint8_t)ZydisRegisterGetId(in->avx.mask.reg);
	o->bcast = broadcast(in->avx.broadcast.mode);
	o->vl_bytes = (uint8_t)(in->avx.vector_length / 8);
	if (in->cpu_flags) {
		o->flags_read = flagbits(in->cpu_flags->tested);
		uint8_t undefined = flagbits(in->cpu_flags->undefined);
		o->flags_must = flagbits(in->cpu_flags->modified | in->cpu_flags->set_0 | in->cpu_flags->set_1);
		o->flags_write = o->flags_must | undefined;
		if (in->meta.category == ZYDIS_CATEGORY_LOGICAL) /* all processors clear AF */
			o->flags_must |= undefined;
	}
	if (in->mnemonic == ZYDIS_MNEMONIC_SYSCALL) { /* it leaves them in r11 and comes back with them */
		o->flags_read = 0x3f;
		o->flags_must = o->flags_write = 0;
	}
	operands(o, in, ops);
	pointers(o, in);
	switch (o->cat) {
	case ZYDIS_CATEGORY_COND_BR: case ZYDIS_CATEGORY_UNCOND_BR: case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET: case ZYDIS_CATEGORY_SYSCALL: case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_INTERRUPT:
		return 1;
	default:
		break;
	}
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_UD0: case ZYDIS_MNEMONIC_UD1: case ZYDIS_MNEMONIC_UD2: case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_XBEGIN: case ZYDIS_MNEMONIC_XABORT:
		return 1;
	default:
		return 0;
	}
}

/* Instructions of Knights Corner alone. Zydis takes some of them also where its mode for that processor is off; no other
 * processor knows them. */
static int foreign(const ZydisDecodedInstruction *in) {
	switch (in->meta.isa_ext) {
	case ZYDIS_ISA_EXT_KNC: case ZYDIS_ISA_EXT_KNCE: case ZYDIS_ISA_EXT_KNCV:
		return 1;
	default:
		return in->encoding == ZYDIS_INSTRUCTION_ENCODING_MVEX;
	}
}

/* See decode.h. The decoder is set up at each call, which costs little beside a block. */
int a_decode(const uint8_t *buf, size_t len, uint64_t addr, int max, struct a_insn *out, int *why) {
	ZydisDecoder dec;
	ZydisDecodedInstruction in;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecoderInit(&dec, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	/* Processors of today: tzcnt and lzcnt are themselves, cet forms as on Intel's. */
	int n = 0;
	size_t off = 0;
	while (n < max) {
		ZydisDecoderContext ctx;
		ZyanStatus st = ZydisDecoderDecodeInstruction(&dec, &ctx, buf + off, len - off, &in);
		if (ZYAN_SUCCESS(st)) st = ZydisDecoderDecodeOperands(&dec, &ctx, &in, ops, in.operand_count);
		if (ZYAN_SUCCESS(st) && foreign(&in)) st = ZYDIS_STATUS_DECODING_ERROR;
		if (!ZYAN_SUCCESS(st)) {
			*why = st == ZYDIS_STATUS_NO_MORE_DATA ? A_OUT_OF_BYTES : A_UNDECODABLE;
			return n;
		}
		int end = fill(&out[n], &in, ops, addr + off);
		off += in.length;
		n++;
		if (end) {
			*why = A_END_OF_BLOCK;
			return n;
		}
	}
	*why = A_MAX;
	return n;
}

/* For the test that compares these structures with Go's. */
void a_sizes(size_t *insn, size_t *mem, size_t *op) {
	*insn = sizeof(struct a_insn);
	*mem = sizeof(struct a_mem);
	*op = sizeof(struct a_op);
}
