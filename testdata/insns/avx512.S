/* needs: avx512f avx512bw avx512dq avx512vl avx512cd avx512vbmi avx512_vbmi2 */
/* AVX-512: masked operands over a page that is not there, compress and expand,
 * gather and scatter, broadcasts, registers 16 to 31, compressed displacements. */
#include "common.h"
	.data
	.balign	4096
page:	.set	n, 0
	.rept	1024
	.long	n*5+2
	.set	n, n+1
	.endr
idx:	.long	0, 5, -1, 2, 9, 3, 1, 7, 100, 3, 2, 1, 0, -8, -9, 4
idq:	.quad	1, -2, 3, 6, 7, 8, -9, 0
	.bss
	.balign	4096
out:	.skip	8192
	.text
_start:
	/* a page with nothing behind it */
	mov	eax, 9
	xor	edi, edi
	mov	esi, 8192
	mov	edx, 3
	mov	r10d, 0x22
	mov	r8, -1
	xor	r9d, r9d
	syscall
	mov	r15, rax
	lea	rdi, [rax+4096]
	mov	esi, 4096
	mov	eax, 11
	syscall
	lea	rdi, out[rip]
	lea	rbx, page[rip+512]
	lea	r14, [r15+4096-16]		/* four elements of 32 bits are there */
	mov	r13, rbx
	mov	ecx, 0x000f
	kmovw	k1, ecx
	mov	ecx, 0xa5a5
	kmovw	k2, ecx
	mov	rcx, 0xf0f00f0f12345678
	kmovq	k3, rcx
	kxorw	k4, k4, k4
	kmovq	[rdi], k3
	kmovw	k5, [rdi]
	kmovd	k5, [rdi]
	kmovb	[rdi+9], k5
	/* whole */
	vmovdqu64 zmm0, [rbx]
	vmovdqa32 zmm17, [rbx]
	vmovups	zmm31, [r13+64]
	vmovupd	ymm18, [rbx+32]
	vmovdqu8 xmm30, [rbx+5]
	vmovdqu16 ymm29, [rbx+7]
	vmovdqa64 [rdi+64], zmm17
	vmovups	[rdi+129], zmm31
	vmovdqu32 [rdi+200], ymm18
	vmovdqu8 [rdi+233], xmm30
	vmovntdq [rdi+256], zmm0
	vmovntdqa zmm1, [rbx]
	vmovss	xmm20, [rbx]
	vmovsd	xmm21, [rbx]
	vmovss	[rdi+320], xmm20
	vmovsd	[rdi+324], xmm21
	vmovd	xmm22, [rbx]
	vmovq	[rdi+332], xmm22
	vmovlps	xmm23, xmm22, [rbx]
	vmovhps	[rdi+340], xmm23
	/* under masks, into the missing page */
	vmovdqu32 zmm2{k1}{z}, [r14]
	vmovdqu32 zmm18{k1}, [r14]
	vmovdqu32 [r14]{k1}, zmm0
	vmovups	[r14]{k1}, zmm31
	vmovdqu64 [r14-16]{k1}, zmm31
	vpaddd	zmm3{k1}, zmm0, [r14]
	vaddps	zmm3{k1}{z}, zmm0, [r14]
	vmulpd	zmm3{k1}, zmm0, [r14-16]
	vmovdqu8 zmm4{k1}, [r14+12]
	vmovdqu16 [r14+8]{k1}, zmm4
	vmovdqu32 zmm5{k4}, [r14+4096]
	vmovdqu32 [r14+4096]{k4}, zmm5
	vpmovdb	[r14+12]{k1}, zmm0
	vpmovqd	[r14]{k1}, zmm0
	vpmovzxbd zmm5{k1}, [r14+12]
	vpmovsxwd zmm5{k1}{z}, [r14+8]
	vcvtps2pd zmm5{k1}, [r14]
	vcvtph2ps zmm5{k1}, [r14+8]
	vcmpps	k6{k1}, zmm0, [r14], 1
	vpcmpd	k6{k1}, zmm0, [r14], 1
	vptestmd k6{k1}, zmm0, [r14]
	/* under masks with holes */
	vmovdqu32 zmm6{k2}, [rbx+4]
	vmovdqu32 [rdi+512]{k2}, zmm6
	vmovapd	zmm6{k2}, [rbx]
	vmovdqu8 zmm16{k3}, [rbx+1]
	vmovdqu8 [rdi+577]{k3}, zmm16
	vmovdqu16 zmm16{k3}, [rbx+1]
	vmovdqu64 ymm19{k2}, [rbx+8]
	vmovdqu64 [rdi+641]{k2}, ymm19
	vmovss	xmm5{k2}{z}, [rbx]
	vmovsd	[rdi+680]{k2}, xmm5
	vmovss	xmm5{k4}, [r14+4096]
	vmovss	[r14+4096]{k4}, xmm5
	vaddss	xmm5{k2}, xmm5, [rbx]
	vpblendmd zmm6{k2}, zmm7, [rbx]
	vpsubb	zmm6{k3}, zmm7, [rbx]
	vpsllvd	zmm6{k2}, zmm7, [rbx]
	vfmadd231ps zmm6{k2}, zmm7, [rbx]
	vpternlogd zmm6{k2}, zmm7, [rbx], 0x96
	vcvtdq2ps zmm6{k2}, [rbx]
	vcvtdq2pd zmm6{k2}, [rbx]
	vsqrtpd	zmm6{k2}, [rbx]
	vrcp14ps zmm6{k2}, [rbx]
	vpabsd	zmm6{k2}, [rbx]
	vpmullq	zmm6{k2}, zmm7, [rbx]
	vgetexpps zmm6{k2}, [rbx]
	vpconflictd zmm6{k2}, [rbx]
	vpmovqw	[rdi+700]{k2}, zmm6
	vpmovusdw [rdi+720]{k2}, zmm6
	vcvtps2ph [rdi+760]{k2}, zmm6, 0
	vextracti32x4 [rdi+800]{k2}, zmm6, 2
	vextractf64x4 [rdi+832]{k2}, zmm6, 1
	/* broadcasts */
	vpaddd	zmm6, zmm7, dword ptr [rbx+4]{1to16}
	vpaddq	zmm6{k2}, zmm7, qword ptr [rbx+8]{1to8}
	vmulps	ymm6{k1}{z}, ymm7, dword ptr [rbx+12]{1to8}
	vbroadcastss zmm6, [rbx]
	vbroadcasti64x4 zmm6, [rbx]
	vbroadcasti32x4 zmm6{k2}, [rbx]
	vpbroadcastd zmm6{k2}{z}, [rbx]
	vpbroadcastb zmm6{k3}, [rbx]
	vpbroadcastq zmm25, [rbx+8]
	/* whole operands whatever the mask */
	vpermd	zmm6{k2}, zmm7, [rbx]
	vpermps	zmm6{k2}, zmm7, [rbx]
	vpshufd	zmm6{k2}, [rbx], 0x1b
	vshufi64x2 zmm6{k2}, zmm7, [rbx], 0x4e
	vinserti32x8 zmm6, zmm7, [rbx], 1
	vpermt2d zmm6{k2}, zmm7, [rbx]
	valignd	zmm6{k2}, zmm7, [rbx], 3
	vpermb	zmm6{k3}, zmm7, [rbx]
	/* compress, expand */
	vpexpandd zmm8{k2}{z}, [rbx]
	vpexpandd zmm8{k1}{z}, [r14]
	vpexpandq zmm24{k2}, [rbx]
	vexpandps ymm8{k2}, [rbx]
	vpexpandb zmm8{k3}, [rbx]
	vpexpandw zmm8{k3}, [rbx]
	vpcompressd [rdi+900]{k2}, zmm8
	vpcompressd [r14]{k1}, zmm8
	vpcompressq [rdi+964]{k2}, zmm24
	vcompresspd [rdi+1000]{k2}, ymm8
	vpcompressb [rdi+1100]{k3}, zmm8
	vpcompressw [rdi+1200]{k3}, zmm8
	vpcompressd [r14+4096]{k4}, zmm8
	vpexpandd zmm8{k4}, [r14+4096]
	/* gather, scatter */
	vmovdqu32 zmm9, idx[rip]
	vmovdqu32 zmm26, idq[rip]
	kmovw	k6, k2
	vpgatherdd zmm10{k6}, [rbx+zmm9*4]
	kortestw k6, k6
	CHECKCC	1, z
	kmovw	k6, k2
	vgatherdps ymm10{k6}, [rbx+ymm9*4+4]
	kmovw	k6, k2
	vpgatherdq zmm10{k6}, [rbx+ymm9*8]
	kmovw	k6, k2
	vpgatherqd ymm10{k6}, [rbx+zmm26*4]
	kmovw	k6, k2
	vpgatherqq zmm27{k6}, [rbx+zmm26*8]
	kmovw	k6, k2
	vgatherqpd xmm10{k6}, [r13+xmm26*8]
	kmovw	k6, k2
	vgatherdpd ymm10{k6}, [rbx+xmm9*1]
	kmovw	k6, k2
	vgatherqps xmm10{k6}, [rbx+ymm26*1]
	kmovw	k6, k4
	vpgatherdd zmm10{k6}, [r14+zmm9*4+4096]
	lea	rsi, out[rip+4096]
	kmovw	k6, k2
	vpscatterdd [rsi+zmm9*4]{k6}, zmm0
	kmovw	k6, k2
	vscatterdps [rsi+ymm9*4]{k6}, ymm27
	kmovw	k6, k2
	vpscatterdq [rsi+ymm9*8]{k6}, zmm0
	kmovw	k6, k2
	vpscatterqd [rsi+zmm26*4]{k6}, ymm0
	kmovw	k6, k2
	vpscatterqq [rsi+zmm26*8]{k6}, zmm0
	kmovw	k6, k2
	vscatterqpd [rsi+xmm26*8]{k6}, xmm0
	kmovw	k6, k4
	vpscatterdd [r14+zmm9*4+4096]{k6}, zmm0
	/* what was recorded must not have disturbed masks and registers */
	kmovw	eax, k2
	CHECK	2, eax, 0xa5a5
	kmovq	rax, k3
	CHECKQ	3, rax, 0xf0f00f0f12345678
	vmovdqu64 zmm1, [rbx]
	vpcmpeqd k6, zmm0, zmm1
	kortestw k6, k6
	CHECKCC	4, c
	vmovdqu64 zmm1, [rbx+64]
	vpcmpeqd k6, zmm31, zmm1
	kortestw k6, k6
	CHECKCC	5, c
	EXIT0
