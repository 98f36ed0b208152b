/* Bit strings: offsets in registers reach memory on both sides of the operand. */
#include "common.h"
	.data
	.balign	64
	.skip	8192
m:	.quad	0x8000000000000001, 0x00000000ffff0000
	.skip	8192
	.text
_start:
	lea	rbx, m[rip]
	mov	eax, 0
	bt	[rbx], eax
	CHECKCC	1, c
	mov	eax, 63
	bt	[rbx], eax
	CHECKCC	2, c
	mov	rax, 64+16
	bt	[rbx], rax
	CHECKCC	3, c
	mov	eax, 64+15
	bt	[rbx], ax
	CHECKCC	4, nc
	mov	rax, -1
	bts	[rbx], rax
	CHECKCC	5, nc
	CHECKQ	6, [rbx-8], 0x8000000000000000
	mov	eax, -33
	bts	[rbx], eax
	CHECKCC	7, nc
	CHECKQ	8, [rbx-8], 0x8000000080000000
	mov	ax, -17
	bts	[rbx], ax
	CHECKCC	9, nc
	CHECK	10, "dword ptr [rbx-4]", 0x80008000
	mov	rax, -8000
	btc	[rbx], rax
	CHECK	12, "dword ptr [rbx-1000]", 1
	mov	rcx, 8191
	btc	[rbx], rcx
	CHECK	13, "byte ptr [rbx+1023]", 0x80
	lock btr [rbx], rcx
	CHECKCC	14, c
	CHECK	15, "byte ptr [rbx+1023]", 0
	lock bts [rbx], ecx
	mov	edx, 0x18001
	btr	[rbx], dx		/* sixteen bits: -32767 */
	btc	dword ptr [rbx], 5
	bts	qword ptr [rbx], 62
	btr	word ptr [rbx], 0
	bt	qword ptr [rbx], 127
	CHECKCC	16, c
	bt	dword ptr [rbx+8], 16
	CHECKCC	17, c
	mov	r9, -64
	mov	r12, rbx
	bt	[r12], r9
	CHECKCC	18, nc
	mov	r13, rbx
	mov	ebp, 3
	bts	[r13+rbp*8], r9
	bt	[r13+16], r13w
	bt	m[rip], rbp
	bt	rax, rcx
	bsf	rax, [rbx]
	bsr	rax, [rbx]
	popcnt	rax, [rbx]
	EXIT0
