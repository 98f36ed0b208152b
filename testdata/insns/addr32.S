/* needs: avx2 */
/* The address-size prefix: effective addresses and counts of 32 bits. */
#include "common.h"
	.text
_start:
	mov	eax, 9			/* mmap below 4 GiB */
	mov	edi, 0x7fff0000
	mov	esi, 0x20000		/* across the 2 GiB border */
	mov	edx, 3
	mov	r10d, 0x100022
	mov	r8, -1
	xor	r9d, r9d
	syscall
	CHECK	1, eax, 0x7fff0000
	mov	ebx, 0x7fff8000
	mov	rax, 0xdead00000000
	or	rbx, rax
	mov	dword ptr [ebx], 0x1234
	mov	ecx, [ebx]
	CHECK	2, ecx, 0x1234
	mov	rcx, -16
	mov	[ebx+ecx], rax
	mov	rdx, [ebx+ecx*1]
	CHECK	3, rdx, rax
	mov	edx, 0x80000000
	mov	[edx], ebx
	mov	[edx-8], rbx
	mov	ecx, 4
	mov	[edx+ecx*8+8], ecx
	add	[edx], ecx
	movsxd	rcx, ecx
	neg	rcx
	mov	eax, [edx+ecx*2]
	movups	xmm0, [ebx]
	movups	[edx], xmm0
	mov	r12, rbx
	mov	r13, rbx
	mov	[r12d], r13
	mov	[r13d+8], r12
	push	qword ptr [r12d]
	pop	qword ptr [ebx+16]
	lea	rax, [ebx+8]
	CHECK	4, rax, 0x7fff8008
	/* wrapping round 4 GiB */
	mov	ebp, 0xffffff00
	mov	eax, [ebp+0x7fff8100]
	mov	ecx, 0xc0000000
	mov	esi, 0xbfff8000
	mov	eax, [ecx+esi]
	CHECK	5, eax, "dword ptr [r12d]"
	/* strings */
	mov	rax, 0x1100000000
	mov	esi, 0x7fff8000
	or	rsi, rax
	mov	edi, 0x80000100
	or	rdi, rax
	mov	ecx, 5
	or	rcx, rax
	.byte	0x67
	rep movsb
	CHECKQ	6, rdi, 0x80000105
	CHECK	7, rcx, 0
	mov	rcx, rax		/* ecx is 0 */
	.byte	0x67
	rep stosb
	.byte	0x67
	lodsd
	.byte	0x67
	movsq
	mov	ecx, 3
	.byte	0x67
	repne scasb
	mov	ebx, 0x7fff8000
	.byte	0x67
	xlatb
	mov	eax, -100
	bts	[ebx], eax
	movsxd	rax, eax
	bts	[ebx], rax
	vpxor	xmm1, xmm1, xmm1
	vpcmpeqd xmm2, xmm2, xmm2
	vpgatherdd xmm3, [ebx+xmm1*4], xmm2
	mov	edi, 0x80000200
	.byte	0x67
	maskmovdqu xmm0, xmm0
	call	1f
	jmp	2f
1:	ret
2:	lea	rax, 3f[rip]
	mov	[ebx], rax
	mov	r14, rbx
	jmp	[r14d]
	hlt
3:	lea	rax, 1b[rip]
	mov	[ebx], rax
	call	[ebx]
	EXIT0
