/* Calls, returns and indirect branches in all their forms. */
#include "common.h"
	.data
	.balign	8
ptr:	.quad	0
table:	.quad	0, 0, 0, 0
rcx2:	.quad	0
	.bss
	.balign 16
	.skip	4096
top:
	.text
f_add:	add	rax, 3
	ret
f_imm:	mov	rax, [rsp+8]
	add	rax, [rsp+16]
	ret	16
f_where: mov	rax, [rsp]
	ret
f_rep:	add	rax, 1
	rep ret
fact:	cmp	rdi, 1
	ja	1f
	mov	eax, 1
	ret
1:	push	rdi
	dec	rdi
	call	fact
	pop	rdi
	imul	rax, rdi
	ret
.macro POINT cell, target	/* nobody relocates a program without a C library */
	lea	rax, \target[rip]
	mov	\cell[rip], rax
.endm
_start:
	lea	rsp, top[rip]
	POINT	ptr, f_add
	POINT	table, c0
	POINT	table+8, c1
	POINT	table+16, c2
	POINT	table+24, c3
	POINT	rcx2, there
	mov	eax, 1
	call	f_add
	CHECK	1, rax, 4
	lea	rcx, f_add[rip]
	call	rcx
	CHECK	2, rax, 7
	lea	r12, f_add[rip]
	call	r12
	call	ptr[rip]
	CHECK	3, rax, 13
	lea	rbx, ptr[rip]
	call	[rbx]
	mov	r13, rbx
	call	[r13]
	mov	ecx, 1
	call	[rbx+rcx*8-8]
	CHECK	4, rax, 22
	push	rbx
	lea	rdx, f_add[rip]
	push	rdx
	call	[rsp]
	call	[rsp+rcx*4-4]
	CHECK	5, rax, 28
	pop	rdx
	pop	rbx
	mov	r14, rsp
	push	20
	push	22
	call	f_imm
	CHECK	6, rax, 42
	CHECK	7, rsp, r14
	call	f_where
after:	lea	rcx, after[rip]
	CHECK	8, rax, rcx
	call	f_rep
	call	1f			/* the return address as data */
1:	pop	rcx
	lea	rdx, 1b[rip]
	CHECK	9, rcx, rdx
	mov	edi, 10
	call	fact
	CHECK	10, rax, 3628800
	/* a jump table */
	xor	r15d, r15d
	xor	ebp, ebp
	lea	rbx, table[rip]
again:	jmp	[rbx+rbp*8]
c0:	add	r15d, 1
	jmp	next
c1:	add	r15d, 10
	jmp	next
c2:	add	r15d, 100
	jmp	next
c3:	add	r15d, 1000
next:	inc	ebp
	cmp	ebp, 4
	jb	again
	CHECK	11, r15d, 1111
	/* returns as jumps, and to the middle of instructions' blocks */
	lea	rcx, 2f[rip]
	push	rcx
	ret
	hlt
2:	lea	rdx, 3f[rip]
	jmp	rdx
	hlt
3:	lea	rcx, 4f[rip]
	lea	rdx, 4f[rip]
	jmp	rcx			/* registers that look-ups use keep their values */
	hlt
4:	CHECK	12, rcx, rdx
	mov	rdx, 0x123456789
	lea	rax, 5f[rip]
	stc
	jmp	rax
5:	CHECKCC	13, c
	CHECKQ	14, rdx, 0x123456789
	/* flags across call and ret */
	stc
	call	6f
	CHECKCC	15, nc
	jmp	7f
6:	CHECKCC	16, c
	clc
	ret
7:	notrack	jmp rcx2[rip]
	hlt
there:	/* call with the target below the pushed slot */
	lea	rcx, f_add[rip]
	mov	[rsp-8], rcx
	mov	eax, 5
	call	[rsp-8]
	CHECK	17, eax, 8
	/* a loop of calls through one site to two targets */
	mov	ebp, 6
	mov	eax, 0
9:	lea	rcx, f_add[rip]
	lea	rdx, f_rep[rip]
	test	ebp, 1
	cmovz	rcx, rdx
	call	rcx
	dec	ebp
	jnz	9b
	CHECK	18, eax, 12
	EXIT0
