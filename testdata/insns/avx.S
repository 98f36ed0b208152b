/* needs: avx avx2 fma f16c bmi2 */
/* AVX and AVX2: moves, masked moves, gathers with partly active masks. */
#include "common.h"
	.data
	.balign	64
a:	.set	n, 0
	.rept	64
	.long	n*3+1
	.set	n, n+1
	.endr
idx:	.long	0, 5, -1, 2, 9, 3, 1, 7
idq:	.quad	1, -2, 3, 6
mk:	.long	-1, 0, 0x80000000, 0x7fffffff, 0, -1, -1, 0
mkq:	.quad	-1, 0x7fffffffffffffff, 0x8000000000000000, 0
	.bss
	.balign	64
out:	.skip	1024
	.text
_start:
	lea	rbx, a[rip+64]
	lea	rdi, out[rip]
	mov	r13, rdi
	vmovaps	ymm0, [rbx]
	vmovups	ymm1, [rbx+3]
	vmovdqa	ymm2, [rbx+32]
	vmovdqu	ymm3, [rbx+33]
	vmovapd	xmm4, [rbx+16]
	vmovupd	ymm5, [rbx+17]
	vlddqu	ymm6, [rbx+1]
	vmovss	xmm7, [rbx]
	vmovsd	xmm8, [rbx]
	vmovq	xmm9, qword ptr [rbx]
	vmovd	xmm10, dword ptr [rbx]
	vmovddup ymm11, [rbx]
	vmovlps	xmm12, xmm7, [rbx]
	vmovhpd	xmm13, xmm8, [rbx]
	vbroadcastss ymm14, [rbx+4]
	vbroadcastsd ymm15, [rbx+8]
	vbroadcastf128 ymm1, [rbx]
	vpbroadcastb ymm1, [rbx+1]
	vpbroadcastw xmm1, [rbx+2]
	vpbroadcastd ymm1, [rbx+4]
	vpbroadcastq ymm1, [rbx+8]
	vinsertf128 ymm2, ymm1, [rbx+16], 1
	vinserti128 ymm2, ymm1, [rbx+16], 1
	vextracti128 [rdi], ymm2, 1
	vextractf128 [rdi+16], ymm2, 1
	vmovaps	[rdi+32], ymm0
	vmovups	[r13+65], ymm14
	vmovdqa	[rdi+128], ymm15
	vmovdqu	[r13+161], ymm3
	vmovntdq [rdi+192], ymm4
	vmovss	[rdi+224], xmm7
	vmovsd	[rdi+228], xmm8
	vmovq	[rdi+236], xmm9
	vmovd	[rdi+244], xmm10
	vmovhps	[rdi+248], xmm12
	vpextrd	[rdi+256], xmm12, 1
	vpaddd	ymm0, ymm1, [rbx]
	vaddps	ymm0, ymm1, [rbx]
	vfmadd231ps ymm0, ymm1, [rbx]
	vfmadd132sd xmm0, xmm1, [rbx]
	vpermd	ymm0, ymm1, [rbx]
	vperm2i128 ymm0, ymm1, [rbx], 0x31
	vpermq	ymm0, [rbx], 0x1b
	vpblendvb ymm0, ymm1, [rbx], ymm2
	vpmovzxbd ymm0, [rbx]
	vpmovsxbq ymm0, [rbx]
	vcvtph2ps ymm0, [rbx]
	vcvtps2ph [rdi+264], ymm0, 0
	vcvtps2pd ymm0, [rbx]
	vtestps	ymm0, [rbx]
	vpsllvd	ymm0, ymm1, [rbx]
	vpslld	ymm0, ymm1, [rbx]
	vaddss	xmm0, xmm1, [rbx]
	vsqrtsd	xmm0, xmm1, [rbx]
	vldmxcsr mx[rip]
	vstmxcsr [rdi+280]
	/* masked moves */
	vmovdqu	ymm2, mk[rip]
	vmovdqu	ymm9, mk[rip]
	vpcmpeqd ymm3, ymm3, ymm3
	vpmaskmovd ymm4, ymm2, [rbx]
	vmovdqu	[rdi+320], ymm4
	CHECK	1, "dword ptr [rdi+320]", 49
	CHECK	2, "dword ptr [rdi+324]", 0
	CHECK	3, "dword ptr [rdi+328]", 55
	vmaskmovps ymm4, ymm9, [rbx+4]
	vpmaskmovd [rdi+352], ymm2, ymm3
	vmaskmovps [rdi+384], ymm9, ymm3
	vmaskmovps xmm4, xmm9, [rbx+4]
	vmovdqu	ymm2, mkq[rip]
	vmovdqu	ymm9, mkq[rip]
	vpmaskmovq ymm4, ymm2, [rbx]
	vmaskmovpd ymm12, ymm9, [rbx]
	vpmaskmovq [rdi+416], ymm2, ymm3
	vmaskmovpd [r13+448], ymm9, ymm12
	vmaskmovpd [r13+480], xmm9, xmm12
	CHECK	4, "qword ptr [rdi+424]", 0
	CHECK	5, "qword ptr [rdi+432]", -1
	/* nowhere, with nothing marked */
	vpxor	ymm9, ymm9, ymm9
	mov	esi, 0x1000
	vpmaskmovd ymm4, ymm9, [rsi]
	vmaskmovpd [rsi], ymm9, ymm3
	vpxor	xmm2, xmm2, xmm2
	vmovdqa	xmm3, xmm2
	vpgatherdd ymm4, [rsi+ymm2*4], ymm9
	/* gathers */
	vmovdqu	ymm1, idx[rip]
	vmovdqu	ymm9, idx[rip]
	vmovdqu	ymm2, mk[rip]
	vpxor	ymm3, ymm3, ymm3
	vpgatherdd ymm3, [rbx+ymm1*4], ymm2
	vmovdqu	[rdi+512], ymm3
	CHECK	6, "dword ptr [rdi+512]", 49
	CHECK	7, "dword ptr [rdi+520]", 46
	vptest	ymm2, ymm2
	CHECKCC	8, z
	vmovdqu	ymm12, mk[rip]
	vgatherdps ymm13, [rbx+ymm9*8], ymm12
	vmovdqu	ymm2, mk[rip]
	vpgatherdd xmm3, [rbx+xmm1*2], xmm2
	vmovdqu	ymm2, mkq[rip]
	vpgatherdq ymm3, [rbx+xmm1*8], ymm2
	vmovdqu	ymm2, mkq[rip]
	vgatherdpd xmm3, [rbx+xmm1*1], xmm2
	vmovdqu	ymm1, idq[rip]
	vmovdqu	ymm2, mkq[rip]
	vpgatherqq ymm3, [rbx+ymm1*8], ymm2
	vmovdqu	ymm2, mk[rip]
	vpgatherqd xmm3, [rbx+ymm1*4], xmm2
	vmovdqu	ymm2, mk[rip]
	vgatherqps xmm3, [rbx+xmm1*4], xmm2
	vmovdqu	ymm2, mkq[rip]
	vgatherqpd xmm3, [rbx+xmm1*4+8], xmm2
	vmovdqu	ymm2, mk[rip]
	vzeroupper
	EXIT0
	.data
mx:	.long	0x1f80
