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
	EXIT0
