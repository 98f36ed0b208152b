/* needs: avx2 avx512f; links: low */
/* Operands relative to RIP that are far from the program: memory close to two
 * gigabytes behind the code, where a copy of the code elsewhere cannot reach it. */
#include "common.h"
	.equ	DIST, 0x78000000
	.text
	.balign	4096
base:
_start:
	mov	eax, 9			/* map there what the operands name */
	lea	rdi, base[rip+DIST]
	mov	esi, 0x10000
	mov	edx, 3
	mov	r10d, 0x100022
	mov	r8, -1
	xor	r9d, r9d
	and	rdi, -4096
	syscall
	test	rax, rax
	CHECKCC	1, ns
	lea	rbx, base[rip+DIST]
	mov	rax, 0x1122334455667788
	stc
	mov	base[rip+DIST], rax
	CHECKCC	2, c
	CHECK	3, [rbx], rax
	mov	rcx, base[rip+DIST]
	mov	dl, base[rip+DIST+7]
	CHECK	4, dl, 0x11
	mov	r9w, base[rip+DIST+1]
	add	dword ptr base[rip+DIST], 0x1000
	adc	qword ptr base[rip+DIST+8], 7
	lock inc qword ptr base[rip+DIST+8]
	mov	dword ptr base[rip+DIST+16], 0x12345678
	mov	byte ptr base[rip+DIST+20], 1
	cmp	byte ptr base[rip+DIST+20], 1
	CHECKCC	5, e
	imul	eax, base[rip+DIST+16], 100
	shl	qword ptr base[rip+DIST], 3
	movups	xmm1, base[rip+DIST+1]
	movups	base[rip+DIST+33], xmm9
	pshufd	xmm2, base[rip+DIST], 0x1b
	vmovdqu	ymm3, base[rip+DIST+3]
	vpaddd	ymm13, ymm3, base[rip+DIST+3]
	vpblendvb ymm3, ymm3, base[rip+DIST+3], ymm2
	vmovdqu64 zmm20, base[rip+DIST+64]
	vpaddd	zmm20, zmm21, dword ptr base[rip+DIST+64]{1to16}
	vpternlogd zmm20, zmm21, base[rip+DIST+64], 3
	fld	qword ptr base[rip+DIST]
	fstp	tbyte ptr base[rip+DIST+128]
	mov	r10, rsp
	push	base[rip+DIST]
	pop	base[rip+DIST+8]
	CHECK	6, rsp, r10
	xchg	base[rip+DIST], rax
	mov	eax, 1
	mov	edx, 2
	mov	rbx, 3
	mov	rcx, 4
	cmpxchg16b base[rip+DIST-0x100+0x100]
	setz	base[rip+DIST+24]
	cmovz	rsi, base[rip+DIST]
	prefetcht0 base[rip+DIST]
	nop	dword ptr base[rip+DIST]
	crc32	rax, qword ptr base[rip+DIST]
	/* code there as well: jumps and calls over the distance */
	lea	rdi, base[rip+DIST+0x1000]
	mov	byte ptr [rdi], 0xc3
	lea	rax, 1f[rip]
	mov	base[rip+DIST+40], rax
	jmp	base[rip+DIST+40]
	hlt
1:	lea	rax, 2f[rip]
	mov	base[rip+DIST+40], rax
	call	base[rip+DIST+40]
	jmp	3f
2:	ret
3:	EXIT0
