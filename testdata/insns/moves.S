/* Moves of all widths, sign and zero extension, high bytes, exchanges. */
#include "common.h"
	.data
	.balign	16
v:	.quad	0x8877665544332211, 0x00ffeeddccbbaa99
w:	.skip	64
	.text
_start:
	lea	rbx, v[rip]
	lea	rdi, w[rip]
	mov	rax, [rbx]
	CHECKQ	1, rax, 0x8877665544332211
	mov	[rdi], al
	mov	[rdi+1], ah
	mov	[rdi+2], ax
	mov	[rdi+4], eax
	mov	[rdi+8], rax
	CHECKQ	2, [rdi], 0x4433221122112211
	CHECKQ	3, [rdi+8], 0x8877665544332211
	mov	ah, [rbx+3]
	mov	bh, bh
	CHECKQ	4, rax, 0x8877665544334411
	mov	ch, [rbx+7]
	mov	dh, ch
	movzx	eax, ch
	CHECK	5, eax, 0x88
	mov	[rdi+16], dh
	movsx	eax, byte ptr [rdi+16]
	CHECK	6, eax, 0xffffff88
	movsx	rax, word ptr [rbx+6]
	CHECKQ	7, rax, 0xffffffffffff8877
	movsxd	rax, dword ptr [rbx+4]
	CHECKQ	8, rax, 0xffffffff88776655
	movzx	ax, byte ptr [rbx+7]
	movsx	cx, byte ptr [rbx+7]
	mov	[rdi+18], ax
	mov	[rdi+20], cx
	CHECK	9, "dword ptr [rdi+18]", 0xff880088
	mov	eax, [rbx]
	CHECKQ	10, rax, 0x44332211
	mov	byte ptr [rdi], 0x7f
	mov	word ptr [rdi+2], 0x1234
	mov	dword ptr [rdi+4], -2
	mov	qword ptr [rdi+8], -3
	CHECKQ	11, [rdi], 0xfffffffe1234227f
	CHECKQ	12, [rdi+8], -3
	mov	r8, 5
	mov	r12, rdi
	mov	r13, rdi
	mov	rbp, rdi
	mov	[r12], r8
	mov	[r13], r8b
	mov	[rbp], r8w
	mov	[r12+r8*8], r8
	mov	[r13+r8*4+4], r8d
	mov	[rbp+r8*1+1], r8b
	mov	[rbp+r8*2-100+100], r8b
	EXIT0
