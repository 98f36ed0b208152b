/* needs: avx avx2 bmi2 avx512f avx512vl */
/* Operands relative to RIP in every encoding, with and without immediates. */
#include "common.h"
	.data
	.balign	64
v:	.quad	0x0101010101010101, 2, 3, 4, 5, 6, 7, 8
w:	.quad	0, 0, 0, 0, 0, 0, 0, 0, 0
p:	.quad	0
	.text
f:	ret
_start:
	mov	rax, v[rip]
	mov	r9, v[rip+8]
	mov	ecx, v[rip+16]
	mov	r10b, v[rip]
	mov	w[rip], al
	mov	w[rip+2], r9w
	mov	w[rip+8], r9
	mov	byte ptr w[rip], 5
	mov	word ptr w[rip], 0x1234
	mov	dword ptr w[rip+4], 0x12345678
	mov	qword ptr w[rip+8], -9
	cmp	byte ptr w[rip+8], 0xf7
	CHECKCC	1, e
	add	dword ptr w[rip], 1
	add	dword ptr w[rip], 0x11111
	add	qword ptr w[rip], 0x11111
	add	word ptr w[rip], 0x1111
	lock add qword ptr w[rip], 1
	test	byte ptr v[rip], 1
	test	dword ptr v[rip], 0x1000000
	CHECKCC	2, nz
	imul	eax, v[rip+8], 100
	imul	r11, v[rip+8], 100000
	CHECK	3, eax, 200
	shl	dword ptr w[rip], 3
	shld	w[rip], rax, 5
	bt	dword ptr v[rip], 8
	CHECKCC	4, c
	movzx	r12d, byte ptr v[rip+3]
	movsxd	r13, dword ptr v[rip]
	cmovz	r14, v[rip]
	setc	w[rip]
	push	v[rip]
	pop	w[rip]
	xchg	w[rip], r15
	cmpxchg	w[rip], r15
	lea	rax, f[rip]
	mov	p[rip], rax
	call	p[rip]
	lea	rax, 1f[rip]
	mov	p[rip], rax
	jmp	p[rip]
	hlt
1:	movaps	xmm0, v[rip]
	movups	xmm9, v[rip+1]
	movaps	w[rip], xmm9
	movq	xmm1, v[rip]
	movsd	xmm1, v[rip]
	pshufd	xmm10, v[rip], 0x1b
	pinsrq	xmm1, v[rip], 1
	pextrd	w[rip], xmm1, 1
	pinsrw	xmm11, v[rip], 1
	cvtsi2sd xmm1, qword ptr v[rip]
	palignr	xmm1, v[rip+16], 3
	pshufb	xmm1, v[rip]
	crc32	r8, qword ptr v[rip]
	fld	qword ptr v[rip]
	fstp	tbyte ptr w[rip]
	prefetcht0 v[rip]
	nop	dword ptr v[rip]
	vmovaps	ymm0, v[rip]
	vmovups	ymm9, v[rip+1]
	vmovups	w[rip], ymm9
	vpaddd	ymm10, ymm9, v[rip]
	vpshufd	ymm10, v[rip], 0x4e
	vpermq	ymm12, v[rip], 0x4e
	vpblendvb ymm10, ymm9, v[rip], ymm12
	vinserti128 ymm10, ymm9, v[rip], 1
	vextracti128 w[rip], ymm10, 1
	vbroadcastss ymm13, v[rip]
	vpermd	ymm13, ymm13, v[rip]
	rorx	rax, v[rip], 7
	shlx	r8, v[rip], rax
	bzhi	r8, v[rip], rax
	vpextrd	w[rip], xmm10, 1
	vmovdqu64 zmm0, v[rip]
	vmovdqu64 zmm17, v[rip]
	vmovdqu64 w[rip], zmm17
	vpaddd	zmm20, zmm17, v[rip]
	vpaddd	zmm20, zmm17, dword ptr v[rip]{1to16}
	vpternlogd zmm20, zmm17, v[rip], 0x96
	vpshufd	ymm21, v[rip], 0x4e
	mov	eax, 0x55
	kmovw	k1, eax
	vmovdqu32 zmm22{k1}, v[rip]
	vmovdqu32 w[rip]{k1}, zmm22
	vpcmpd	k2, zmm20, v[rip], 1
	kmovw	k3, v[rip]
	kmovw	w[rip], k3
	vmovd	xmm23, v[rip]
	/* REX bits that an operand relative to RIP ignores */
	.byte	0x4b, 0x8b, 0x05		/* rex.wxb mov rax, [rip+...] */
	.long	v - . - 4
	CHECKQ	5, rax, 0x0101010101010101
	.byte	0x43, 0x80, 0x3d		/* rex.xb cmp byte [rip+...], 1 */
	.long	v - . - 5
	.byte	1
	CHECKCC	6, e
	.byte	0x67				/* 32-bit address size: only low addresses survive */
	lea	rax, v[rip]
	lea	rcx, v[rip]
	mov	ecx, ecx
	CHECK	7, rax, rcx
	cmp	qword ptr v[rip], 0x01010101
	mov	rdx, 3
	/* instructions that name many registers */
	cmpxchg16b w[rip+16]
	mulx	rax, rbx, v[rip]
	EXIT0
