/* 32-bit code, and the way there and back: run32 leads to it by a far return, and it comes back by a far jump. */
#include "check.h"

/* low is memory in the first 2 GiB: the code, a stack, and the way back. */
struct low {
	unsigned char code[4096], stack[16384]; /* frames of two signals have 3.3 KiB each where there are vectors of 512 bits, and a timer's may come late */
	uint64_t saved; /* 64-bit code's stack pointer */
};

extern char code32[], end32[], short32[], long32[], fault32[], ud32[], call32[], back32[], jumps32[];
__asm__(".section .rodata; .globl code32, end32, short32, long32, fault32, ud32, call32, back32, jumps32\n"
	".code32\ncode32:\n"
	"short32: mov $5, %eax; inc %eax; add $2, %eax; jmp back32\n"
	"long32: xor %eax, %eax; mov $150000, %ecx; 1: inc %eax; inc %eax; dec %ecx; jnz 1b; jmp back32\n"
	"fault32: mov $9, %eax; ud32: ud2; jmp back32\n"
	"call32: mov $20, %eax; int $0x80; jmp back32\n"
	"back32: pop %edx; .byte 0xea; jumps32: .long 0; .short 0x33\n" /* ljmp $0x33, what low32 has put there */
	".code64\nend32: .text");

uint64_t lead32(uint64_t code, uint64_t stack, uint64_t *saved);
__asm__(".text; .globl lead32, back64\nlead32:\n"
	"push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; mov %rsp, (%rdx)\n"
	"mov %rsi, %rsp; push $0; movl %edx, (%rsp); push $0x23; push %rdi; lretq\n"
	"back64: mov (%rdx), %rsp; mov %eax, %eax; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret");
extern char back64[];

/* low32 is such memory. */
static struct low *low32(void) {
	struct low *l = mmap(0, sizeof *l, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	CHECK(l != MAP_FAILED);
	memcpy(l->code, code32, end32 - code32);
	unsigned char *way = l->code + 2048; /* 64-bit code: jmp back64 */
	memcpy(way, "\xff\x25\0\0\0\0", 6);
	memcpy(way + 6, &(uint64_t){(uint64_t)back64}, 8);
	memcpy(l->code + (jumps32 - code32), &(uint32_t){(uint32_t)(uint64_t)way}, 4);
	return l;
}

/* run32 executes one of the pieces, and has its eax. */
static uint64_t run32(struct low *l, const char *what) {
	return lead32((uint64_t)l->code + (what - code32), (uint64_t)(l->stack + sizeof l->stack), &l->saved);
}

/* fault_at is where fault32 faults. */
__attribute__((unused)) static uint64_t fault_at(struct low *l) { return (uint64_t)l->code + (ud32 - code32); }
