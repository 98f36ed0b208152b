/* The stack: push and pop of everything, operands addressed by rsp, frames, red zone. */
#include "common.h"
	.data
	.balign	16
cell:	.quad	0, 0, 0, 0
	.bss
	.balign	4096
area:	.skip	8192
top:
	.text
_start:
	mov	rbp, rsp
	lea	rsp, top[rip]
	lea	rbx, cell[rip]
	mov	rax, 0x1122334455667788
	push	rax
	push	-5
	push	0x12345678
	pushw	0x4321
	pop	word ptr [rbx]
	CHECK	1, "word ptr [rbx]", 0x4321
	CHECKQ	2, [rsp], 0x12345678
	CHECKQ	3, [rsp+8], -5
	CHECKQ	4, [rsp+16], 0x1122334455667788
	push	qword ptr [rsp+16]
	CHECKQ	5, [rsp], 0x1122334455667788
	pop	qword ptr [rsp]		/* the address is formed after the pop */
	CHECKQ	6, [rsp], 0x1122334455667788
	pop	qword ptr [rsp+8]
	CHECKQ	7, [rsp+8], 0x1122334455667788
	push	qword ptr [rsp]
	pop	qword ptr [rbx+8]
	CHECKQ	8, [rbx+8], -5
	push	rsp
	lea	rcx, [rsp+8]
	CHECK	9, [rsp], rcx
	pop	rsp
	CHECK	10, rsp, rcx
	push	rcx
	mov	r8, rsp
	pop	rcx
	push	r12
	push	r13
	push	ax
	pop	dx
	CHECK	11, dx, 0x7788
	pop	r13
	pop	r12
	push	fs
	pop	rcx
	push	gs
	pop	rcx
	/* frames */
	mov	rax, rsp
	enter	64, 0
	mov	qword ptr [rbp-8], 77
	lea	rcx, [rax-8]
	CHECK	12, rbp, rcx
	lea	rcx, [rbp-64]
	CHECK	13, rsp, rcx
	leave
	CHECK	14, rsp, rax
	lea	rbp, area[rip+2048]
	mov	qword ptr [rbp-8], 101
	mov	qword ptr [rbp-16], 102
	enter	16, 3
	CHECK	15, "qword ptr [rbp-8]", 101
	CHECK	16, "qword ptr [rbp-16]", 102
	lea	rcx, [rbp]
	CHECK	17, [rbp-24], rcx
	leave
	mov	rsp, rax
	/* flags */
	xor	ecx, ecx
	pushfq
	pop	rdx
	CHECK	18, dl, 0x46
	test	edx, 0x100
	CHECKCC	19, z
	push	0x8d7
	popfq
	CHECKFL	20, 0x8d5
	push	0x202
	popfq
	CHECKFL	21, 0
	stc
	pushfw
	pop	cx
	and	ecx, 0x8d5
	and	ecx, 1
	CHECK	22, ecx, 1
	/* red zone */
	mov	rax, 0x5a5a
	mov	[rsp-8], rax
	mov	[rsp-128], rax
	lea	rcx, [rax+1]
	mov	rdx, [rsp-8]
	CHECK	23, rdx, rax
	cmp	rax, rax
	jne	1f
	mov	rdx, [rsp-128]
1:	CHECK	24, rdx, rax
	/* rsp as a plain base with an index, and moved about */
	mov	ecx, 2
	mov	[rsp+rcx*8-64], rcx
	CHECK	25, "qword ptr [rsp-48]", 2
	sub	rsp, 48
	CHECK	26, "qword ptr [rsp]", 2
	add	rsp, 48
	and	rsp, -64
	mov	rax, rsp
	lea	rsp, [rsp+rcx*8]
	sub	rsp, 16
	CHECK	27, rsp, rax
	mov	rdx, rsp
	mov	rsp, rbx
	mov	[rsp], rbx
	mov	rax, [rsp]
	mov	rsp, rdx
	CHECK	28, rax, rbx
	xchg	rsp, rdx
	mov	rax, [rsp]
	xchg	rsp, rdx
	inc	rsp
	dec	rsp
	EXIT0
