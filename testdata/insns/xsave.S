/* needs: xsave xsavec xsaveopt avx */
/* The XSAVE family, with all components and with some. */
#include "common.h"
	.bss
	.balign	4096
area:	.skip	16384
	.text
_start:
	lea	rdi, area[rip]
	fninit
	vpcmpeqd ymm1, ymm1, ymm1
	vpcmpeqd ymm13, ymm13, ymm13
	mov	eax, 7
	xor	edx, edx
	xsave	[rdi]
	test	dword ptr [rdi+512], 4
	CHECKCC	1, nz
	CHECKQ	2, "[rdi+160+16]", -1
	vzeroall
	mov	eax, 6
	xrstor	[rdi]
	vmovdqu	[rdi+8192], ymm1
	CHECKQ	3, "[rdi+8192+24]", -1
	vzeroupper
	mov	eax, 7
	xsave64	[rdi]
	test	dword ptr [rdi+512], 4
	CHECKCC	4, z
	mov	eax, -1
	mov	edx, -1
	xsavec	[rdi]
	xrstor	[rdi]
	xsavec64 [rdi]
	xrstor64 [rdi]
	vpcmpeqd ymm14, ymm14, ymm14
	mov	eax, 4
	xor	edx, edx
	xsavec	[rdi]
	mov	eax, 7
	mov	qword ptr [rdi+520], 0
	xsaveopt [rdi]
	xsaveopt64 [rdi]
	mov	eax, 2
	xsave	[rdi+1024]
	fxsave	[rdi+2048]
	fxrstor	[rdi+2048]
	fxsave64 [rdi+2048]
	fxrstor64 [rdi+2048]
	xor	ecx, ecx
	xgetbv
	# live flags, all kinds of operands, rax and rdx as they were
	vpcmpeqd ymm3, ymm3, ymm3
	mov	eax, 0xe6
	xor	edx, edx
	mov	ecx, 4096
	xor	r12d, r12d
	cmp	r12, 1
	xsavec	[rdi+rcx*2]
	CHECKCC	5, b
	CHECKCC	6, s
	CHECKQ	7, rax, 0xe6
	CHECKQ	8, rdx, 0
	vzeroall
	stc
	xrstor	[rdi+rcx*2]
	CHECKCC	9, b
	vmovdqu	[rdi], ymm3
	CHECKQ	10, "[rdi+24]", -1
	add	r12, 0x7fffffff
	xsavec	area[rip]
	xrstor	area[rip]
	lea	r11, [rdi-0x7ffffe00]
	xsavec	[r11+0x7ffffe00]
	# a save in the standard format over a compacted area, which leaves XCOMP_BV
	xsave	[rdi]
	mov	eax, 4
	xsave	[rdi]
	mov	qword ptr [rdi+520], 0
	xrstor	[rdi]
	EXIT0
