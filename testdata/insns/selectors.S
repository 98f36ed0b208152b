/* links: low */
/* fs and gs by selectors: segments of the program's own, loaded in every way, and what goes by their bases. */
#include "common.h"
	.data
	.balign	64
a:	.quad	0x1111, 0x2222, 0x3333, 0x4444, 0,0,0,0
desc:	.long	1, a, 0xffff, 0x41	/* entry 1, base, limit, 32-bit and usable */
fptr:	.long	8
	.word	0x0f
sel:	.word	0x0f
old:	.quad	0
	.text
_start:
	mov	edi, 1			/* modify_ldt */
	lea	rsi, desc[rip]
	mov	edx, 16
	mov	eax, 154
	syscall
	CHECK	1, eax, 0
	mov	eax, 0x0f
	mov	gs, eax
	mov	rax, gs:[8]
	CHECK	2, eax, 0x2222
	mov	ecx, 16
	add	gs:[rcx], rax
	mov	eax, gs
	CHECK	3, eax, 0x0f
	mov	eax, 39			/* getpid */
	syscall
	mov	rax, gs:[16]
	CHECK	4, eax, 0x5555
	mov	fs, sel[rip]
	mov	rax, fs:[8]
	CHECK	5, eax, 0x2222
	mov	ecx, 16
	mov	fs:[rcx+8], rax
	lea	rsi, a[rip]
	mov	edi, 0x1002		/* ARCH_SET_FS takes the selector away */
	add	rsi, 8
	mov	eax, 158
	syscall
	mov	rax, fs:[0]
	CHECK	6, eax, 0x2222
	push	0x0f
	pop	fs
	mov	rax, fs:[0]
	CHECK	7, eax, 0x1111
	push	0
	pop	gs
	push	0x0f
	pop	gs
	mov	rax, gs:[0]
	CHECK	8, eax, 0x1111
	xor	ecx, ecx
	mov	fs, ecx
	mov	gs, ecx
	lfs	edx, fptr[rip]
	CHECK	9, rdx, 8
	mov	rax, fs:[rdx]
	CHECK	10, eax, 0x2222
	lgs	ebx, fptr[rip]
	mov	rax, gs:[rbx+8]
	CHECK	11, eax, 0x5555
	mov	eax, 0x2b
	mov	ds, eax
	mov	es, eax
	mov	rax, a[rip]
	CHECK	12, eax, 0x1111
	EXIT0
