/* Exchanges and locked arithmetic, successful and failed. */
#include "common.h"
	.data
	.balign	64
m:	.quad	5, 6, 7, 8
	.text
_start:
	lea	rdi, m[rip]
	mov	eax, 5
	mov	ecx, 50
	cmpxchg	[rdi], ecx
	CHECKCC	1, z
	CHECK	2, "dword ptr [rdi]", 50
	mov	eax, 5
	lock cmpxchg [rdi], ecx
	CHECKCC	3, nz
	CHECK	4, eax, 50
	mov	rax, 50
	mov	rbx, -1
	lock cmpxchg [rdi], rbx
	CHECKCC	5, z
	CHECKQ	6, [rdi], -1
	mov	al, 0x11
	mov	dl, 0x22
	cmpxchg	[rdi+1], dl
	CHECK	7, al, 0xff
	cmpxchg	[rdi+1], dl
	CHECK	8, "byte ptr [rdi+1]", 0x22
	mov	ax, [rdi+8]
	mov	dx, 0x3344
	lock cmpxchg [rdi+8], dx
	CHECK	9, "word ptr [rdi+8]", 0x3344
	mov	eax, 7
	xor	edx, edx
	mov	ebx, 0x70
	mov	ecx, 0x71
	lock cmpxchg8b [rdi+16]
	CHECKCC	10, z
	CHECKQ	11, [rdi+16], 0x7100000070
	lock cmpxchg8b [rdi+16]
	CHECKCC	12, nz
	CHECK	13, eax, 0x70
	mov	rax, [rdi+16]
	mov	rdx, [rdi+24]
	mov	rbx, 0x123
	mov	rcx, 0x456
	lock cmpxchg16b [rdi+16]
	CHECKCC	14, z
	CHECK	15, "qword ptr [rdi+24]", 0x456
	cmpxchg16b [rdi+16]
	CHECKCC	16, nz
	CHECK	17, rax, 0x123
	mov	eax, 3
	lock xadd [rdi+8], eax
	CHECK	18, eax, 0x3344
	xadd	[rdi+8], rax
	xadd	[rdi+8], al
	mov	rsi, 9
	xchg	[rdi], rsi
	xchg	rsi, [rdi]
	xchg	[rdi+3], si
	xchg	[rdi+3], ah
	lock inc dword ptr [rdi]
	lock dec qword ptr [rdi+8]
	lock add [rdi+8], rax
	lock sub dword ptr [rdi+8], 7
	lock and word ptr [rdi+16], 0xff
	lock or	byte ptr [rdi+16], 3
	lock xor [rdi+16], rcx
	lock neg dword ptr [rdi+20]
	lock not byte ptr [rdi+21]
	lock adc qword ptr [rdi], 1
	lock sbb [rdi], ecx
	add	[rdi], eax
	add	eax, [rdi]
	sub	byte ptr [rdi+31], 1
	not	qword ptr [rdi]
	neg	word ptr [rdi+2]
	inc	byte ptr [rdi]
	shl	dword ptr [rdi], 3
	ror	qword ptr [rdi+8], 9
	shr	byte ptr [rdi]
	sar	word ptr [rdi+6], cl
	rcl	dword ptr [rdi], cl
	rcr	qword ptr [rdi], 1
	shld	[rdi], rax, 7
	shrd	[rdi+8], edx, cl
	cmp	[rdi], rax
	test	[rdi], eax
	test	byte ptr [rdi], 1
	mul	qword ptr [rdi]
	imul	dword ptr [rdi]
	imul	rax, [rdi]
	imul	rax, [rdi], 55
	imul	ax, [rdi], 5
	mov	eax, 1000
	cdq
	mov	dword ptr [rdi], 7
	div	dword ptr [rdi]
	CHECK	19, eax, 142
	CHECK	20, edx, 6
	mov	ax, 100
	idiv	byte ptr [rdi]
	CHECK	21, ax, 0x020e
	adc	[rdi], rax
	sbb	rax, [rdi]
	EXIT0
