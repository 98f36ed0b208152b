/* The compact form in which decoded instructions cross from Zydis to Go.
 * engine/x86/insn.go mirrors these structures; a test compares their sizes. */
#ifndef ALLERIA_DECODE_H
#define ALLERIA_DECODE_H

#include <stddef.h>
#include <stdint.h>

#define A_MEMS 4
#define A_OPS 4

struct a_mem {
	int64_t disp;
	uint32_t size;      /* bytes */
	uint16_t elem_size; /* bytes */
	uint16_t elem_count;
	int8_t base, index; /* 0..15 general, 16 rip, -1 none; index of a VSIB: vector register */
	uint8_t scale;      /* 0 none */
	uint8_t seg;        /* 0 flat, 1 fs, 2 gs */
	uint8_t read, write;
	uint8_t type;   /* 0 memory, 1 address only, 2 vector index */
	uint8_t hidden; /* implicit operand */
};

struct a_op {
	uint8_t kind; /* 1 register, 2 memory, 3 immediate */
	uint8_t cls;  /* register class: enum a_cls */
	uint8_t id;   /* number within the class */
	uint8_t act;  /* bit 0 read, bit 1 write, bit 2 conditional */
	uint16_t bits;
	uint16_t pad;
};

enum a_cls { A_GPR8 = 1, A_GPR8H, A_GPR16, A_GPR32, A_GPR64, A_X87, A_MMX, A_XMM, A_YMM, A_ZMM, A_MASK, A_SEG, A_OTHER };

struct a_insn {
	uint64_t addr;
	int64_t imm;    /* first immediate, sign-extended; a relative one is the absolute target */
	uint16_t mnem;
	uint16_t isa;
	uint16_t gpr_read, gpr_write, gpr_partial; /* bit per general register; partial: bits of the old value survive */
	uint16_t attr;
	uint8_t flags_read, flags_write, flags_must; /* bit per OF SF ZF AF PF CF */
	uint8_t len, cat, ext, enc, map, opcode;
	uint8_t modrm_off, modrm, sib_off, disp_off, disp_size, imm_off, imm_size;
	uint8_t addr_bits, op_bits, nmem, nops;
	uint8_t mask_reg, mask_mode, vl_bytes, rex;
	uint8_t prefix_end; /* offset of the REX prefix, if there is one */
	uint8_t mentions_rsp, imm2;
	uint8_t bcast; /* how many elements a memory operand is broadcast to; 0 it is not */
	struct a_mem mem[A_MEMS];
	struct a_op op[A_OPS];
};

/* Attributes. */
#define A_LOCK 1
#define A_REP 2
#define A_REPNE 4
#define A_SEG_FS 8
#define A_SEG_GS 16
#define A_RIPREL 32
#define A_REL 64
#define A_SIGNED 128 /* the immediate is sign-extended */
#define A_DATA16 256 /* the operand size is said to be 16 bits */

/* a_decode decodes up to max instructions that follow each other from buf, at
 * address addr, and stops after one that ends a basic block. It returns how
 * many were decoded; *why tells what stopped it. */
enum a_why { A_MAX, A_END_OF_BLOCK, A_OUT_OF_BYTES, A_UNDECODABLE };
int a_decode(const uint8_t *buf, size_t len, uint64_t addr, int max, struct a_insn *out, int *why);
void a_sizes(size_t *insn, size_t *mem, size_t *op);

#endif
