/* needs: rtm sse2 */
/* Hints, fences, long nops, transactions that never start, and the like. */
#include "common.h"
	.data
	.balign	64
m:	.quad	1, 2, 3, 4, 5, 6, 7, 8
	.text
_start:
	lea	rbx, m[rip]
	mov	r15d, 0x1000		/* nowhere */
	prefetcht0 [rbx]
	prefetcht1 [r15]
	prefetcht2 [rbx+8]
	prefetchnta [r15]
	prefetchw [rbx]
	nop
	nop	word ptr [r15+r15*2]
	nop	dword ptr [r15+0x1000]
	nop	dword ptr cs:[r15+r15+0x100]
	.byte	0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0, 0, 0, 0
	.byte	0x0f, 0x18, 0x38	/* a hint that is reserved */
	.byte	0x0f, 0x19, 0x38
	.byte	0xf3, 0x90
	endbr64
	rdsspq	rax
	lfence
	mfence
	sfence
	clflush	[rbx]
	xor	ecx, ecx
	xor	eax, eax
	cpuid
	mov	r14, rbx
	lea	rbx, m[rip]
	xor	ecx, ecx
	xgetbv
	/* transactions */
	mov	eax, 5
	xbegin	1f
	hlt
1:	CHECK	1, eax, 0
	stc
	xtest
	CHECKCC	2, z
	CHECKFL	3, 0x40
	xabort	3
	.byte	0xf2			/* xacquire, xrelease */
	lock add dword ptr [rbx], 1
	.byte	0xf3
	mov	dword ptr [rbx], 7
	/* flags and directions */
	std
	pushfq
	pop	rax
	cld
	test	eax, 0x400
	CHECKCC	4, nz
	cmc
	clc
	stc
	lahf
	/* AH forms, sign extensions, leas */
	mov	eax, 0x80
	cbw
	cwde
	cdqe
	CHECK	5, rax, -128
	cqo
	cdq
	cwd
	CHECK	6, edx, -1
	lea	rax, [rbx+rbx*2+5]
	lea	eax, [ebx]
	lea	ax, [rbx]
	lea	r12, [r13*8]
	bswap	rax
	xchg	ax, ax
	xchg	eax, eax
	xchg	r8, rax
	mov	rax, fs
	mov	ax, ds
	mov	word ptr [rbx], gs
	mov	eax, gs
	lar	eax, eax
	lsl	ecx, eax
	verr	word ptr [rbx]
	pause
	EXIT0
