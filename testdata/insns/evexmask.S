/* needs: avx512f avx512bw avx512dq avx512vl avx512cd avx512vbmi avx512_vbmi2 avx512_vnni avx512_bitalg avx512_vpopcntdq gfni avx512_bf16 */
/* Every kind of masked instruction with a memory operand, each with masks that
 * select single lanes, several, none. Nothing is checked here: what counts is
 * which bytes are touched. */
#include "common.h"
	.data
	.balign	64
m:	.skip	256, 3
	.balign	64
kinds:	.quad	0, 1, 2, 0x80, 0x8000, 0x10, 0x80000000, 0x8000000000000000, 0xa4, 0x5a00, 0x1234567812345600, -1
out:	.skip	256
	.text
.macro TRY	insn:vararg
	xor	ecx, ecx
7773:	kmovq	k1, [rdi+rcx*8]
	\insn
	\insn
	\insn
	inc	ecx
	cmp	ecx, 12
	jb	7773b
.endm
_start:
	lea	rdi, kinds[rip]
	lea	rbx, m[rip]
	vpxord	zmm1, zmm1, zmm1
	vpxord	zmm2, zmm2, zmm2
	.irp	op, vpaddd, vpandd, vpmaxsd, vpmulld, vpminud, vpsubd, vaddps, vmulps, vandps, vminps, vscalefps, vpsllvd, vpsrlvd, vpsravd, vprolvd, vprorvd, vpblendmd, vblendmps, vfmadd213ps, vfmaddsub132ps, vpdpbusd, vpdpwssd, vdpbf16ps, vpunpckldq, vpunpckhdq, vunpcklps, vpermt2d, vpermi2ps, vpermilps, vpackssdw, vpackusdw, vpshldvd, vpshrdvd, vpmulld, vcvtne2ps2bf16
	TRY	\op zmm1{k1}, zmm2, [rbx]
	TRY	\op ymm1{k1}, ymm2, [rbx]
	TRY	\op xmm1{k1}{z}, xmm2, [rbx]
	TRY	\op zmm1{k1}, zmm2, dword ptr [rbx]{1to16}
	TRY	\op xmm1{k1}, xmm2, dword ptr [rbx]{1to4}
	.endr
	.irp	op, vpaddq, vpxorq, vpmullq, vpmuludq, vpmuldq, vpmaxsq, vaddpd, vdivpd, vpsllvq, vpsravq, vpblendmq, vfmadd231pd, vpunpcklqdq, vunpckhpd, vpermt2q, vpermi2pd, vpermilpd, vpmultishiftqb, vpshldvq
	TRY	\op zmm1{k1}, zmm2, [rbx]
	TRY	\op xmm1{k1}, xmm2, [rbx]
	TRY	\op zmm1{k1}, zmm2, qword ptr [rbx]{1to8}
	TRY	\op ymm1{k1}{z}, ymm2, qword ptr [rbx]{1to4}
	TRY	\op xmm1{k1}{z}, xmm2, qword ptr [rbx]{1to2}
	.endr
	.irp	op, vpaddb, vpsubw, vpavgb, vpmullw, vpmulhw, vpmulhrsw, vpmaxub, vpminsw, vpaddusw, vpsllvw, vpsravw, vpblendmb, vpblendmw, vpmaddwd, vpmaddubsw, vpacksswb, vpackuswb, vpunpcklbw, vpunpckhwd, vpshufb, vpermb, vpermw, vpermt2b, vpermi2w, vpshldvw, vgf2p8mulb
	TRY	\op zmm1{k1}, zmm2, [rbx]
	TRY	\op ymm1{k1}, ymm2, [rbx]
	TRY	\op xmm1{k1}{z}, xmm2, [rbx]
	.endr
	.irp	op, vpabsd, vplzcntd, vpconflictd, vpopcntd, vcvtdq2ps, vcvtps2dq, vcvttps2udq, vsqrtps, vrcp14ps, vrsqrt14ps, vgetexpps, vmovaps, vmovups, vmovdqa32, vmovdqu32, vmovshdup, vmovsldup
	TRY	\op zmm1{k1}, [rbx]
	TRY	\op xmm1{k1}, [rbx]
	.endr
	.irp	op, vpabsd, vplzcntd, vpconflictd, vpopcntd, vcvtdq2ps, vsqrtps
	TRY	\op zmm1{k1}, dword ptr [rbx]{1to16}
	.endr
	.irp	op, vpabsq, vplzcntq, vpconflictq, vpopcntq, vcvtqq2pd, vsqrtpd, vrcp14pd, vmovapd, vmovdqu64, vmovddup
	TRY	\op zmm1{k1}, [rbx]
	TRY	\op ymm1{k1}, [rbx]
	TRY	\op xmm1{k1}, [rbx]
	.endr
	.irp	op, vpabsb, vpabsw, vpopcntb, vpopcntw, vmovdqu8, vmovdqu16
	TRY	\op zmm1{k1}, [rbx]
	TRY	\op ymm1{k1}, [rbx]
	TRY	\op xmm1{k1}, [rbx]
	.endr
	TRY	vpermd zmm1{k1}, zmm2, [rbx]
	TRY	vpermps ymm1{k1}, ymm2, dword ptr [rbx]{1to8}
	/* conversions whose memory is smaller or larger than the register */
	.irp	op, vcvtps2pd, vcvtdq2pd, vcvtudq2pd, vcvtps2qq, vcvtph2ps, vpmovzxbw, vpmovsxbd, vpmovzxbq, vpmovsxwd, vpmovzxwq, vpmovsxdq
	TRY	\op zmm1{k1}, [rbx]
	TRY	\op xmm1{k1}{z}, [rbx]
	.endr
	.irp	op, vcvtpd2ps, vcvtpd2dq, vcvtqq2ps, vcvttpd2udq
	TRY	\op ymm1{k1}, zmmword ptr [rbx]
	TRY	\op xmm1{k1}, xmmword ptr [rbx]
	TRY	\op ymm1{k1}, qword ptr [rbx]{1to8}
	.endr
	TRY	vcvtps2pd zmm1{k1}, dword ptr [rbx]{1to8}
	TRY	vcvtdq2pd xmm1{k1}, dword ptr [rbx]{1to2}
	/* shifts: by an immediate each lane counts, by a register's count all is read */
	.irp	op, vpslld, vpsrad, vpsrlq, vpsraq, vpsllw, vpsraw, vprold, vprorq
	TRY	\op zmm1{k1}, [rbx], 3
	TRY	\op xmm1{k1}, [rbx], 3
	.endr
	.irp	op, vpslld, vpsrad, vpsrlq, vpsraq, vpsllw, vpsraw
	TRY	\op zmm1{k1}, zmm2, [rbx]
	.endr
	TRY	vpslld	zmm1{k1}, dword ptr [rbx]{1to16}, 3
	/* with immediates */
	TRY	vpternlogd zmm1{k1}, zmm2, [rbx], 0x96
	TRY	vpternlogq zmm1{k1}, zmm2, qword ptr [rbx]{1to8}, 0x96
	TRY	vrndscaleps zmm1{k1}, [rbx], 1
	TRY	vreducepd zmm1{k1}, [rbx], 1
	TRY	vgetmantps zmm1{k1}, [rbx], 1
	TRY	vrangeps zmm1{k1}, zmm2, [rbx], 1
	TRY	vfixupimmpd zmm1{k1}, zmm2, [rbx], 1
	TRY	vpshufd	zmm1{k1}, [rbx], 1
	TRY	vpshuflw zmm1{k1}, [rbx], 1
	TRY	vshufps	zmm1{k1}, zmm2, [rbx], 1
	TRY	vshuff64x2 zmm1{k1}, zmm2, [rbx], 1
	TRY	vpermq	zmm1{k1}, [rbx], 1
	TRY	vpermilps zmm1{k1}, [rbx], 1
	TRY	valignq	zmm1{k1}, zmm2, [rbx], 1
	TRY	vpalignr zmm1{k1}, zmm2, [rbx], 1
	TRY	vdbpsadbw zmm1{k1}, zmm2, [rbx], 1
	TRY	vpshldd	zmm1{k1}, zmm2, [rbx], 1
	TRY	vgf2p8affineqb zmm1{k1}, zmm2, [rbx], 1
	TRY	vinserti32x4 zmm1{k1}, zmm2, [rbx], 1
	TRY	vinsertf64x4 zmm1{k1}, zmm2, [rbx], 1
	/* compares and tests into masks */
	TRY	vpcmpd	k2{k1}, zmm2, [rbx], 1
	TRY	vpcmpub	k2{k1}, zmm2, [rbx], 1
	TRY	vpcmpuw	k2{k1}, xmm2, [rbx], 1
	TRY	vcmppd	k2{k1}, zmm2, [rbx], 1
	TRY	vcmpps	k2{k1}, zmm2, dword ptr [rbx]{1to16}, 1
	TRY	vptestmd k2{k1}, zmm2, [rbx]
	TRY	vptestnmq k2{k1}, zmm2, [rbx]
	TRY	vptestmb k2{k1}, zmm2, [rbx]
	TRY	vfpclassps k2{k1}, zmmword ptr [rbx], 1
	TRY	vpshufbitqmb k2{k1}, zmm2, [rbx]
	TRY	vpcmpeqd k2{k1}, zmm2, [rbx]
	/* scalars */
	.irp	op, vaddss, vmaxss, vfmadd213ss, vsqrtss, vscalefss, vrcp14ss, vgetexpss
	TRY	\op xmm1{k1}, xmm2, [rbx]
	.endr
	TRY	vaddsd	xmm1{k1}, xmm2, [rbx]
	TRY	vcvtss2sd xmm1{k1}, xmm2, dword ptr [rbx]
	TRY	vcvtsd2ss xmm1{k1}, xmm2, qword ptr [rbx]
	TRY	vcmpss	k2{k1}, xmm2, [rbx], 1
	TRY	vfpclasssd k2{k1}, qword ptr [rbx], 1
	TRY	vrndscaless xmm1{k1}, xmm2, [rbx], 1
	TRY	vmovss	xmm1{k1}, [rbx]
	TRY	vmovsd	[rbx]{k1}, xmm1
	/* broadcasts */
	.irp	op, vpbroadcastb, vpbroadcastw, vpbroadcastd, vpbroadcastq, vbroadcastss, vbroadcastsd, vbroadcastf32x2, vbroadcasti32x4, vbroadcastf64x2, vbroadcasti32x8, vbroadcasti64x4
	TRY	\op zmm1{k1}, [rbx]
	.endr
	TRY	vpbroadcastd xmm1{k1}, [rbx]
	TRY	vpbroadcastb ymm1{k1}{z}, [rbx]
	/* stores */
	.irp	op, vmovaps, vmovupd, vmovdqa64, vmovdqu8, vmovdqu16, vmovdqu32
	TRY	\op [rbx]{k1}, zmm1
	TRY	\op [rbx]{k1}, xmm1
	.endr
	.irp	op, vpmovdb, vpmovqd, vpmovwb, vpmovusqb, vpmovsdw, vpmovqw
	TRY	\op [rbx]{k1}, zmm1
	TRY	\op [rbx]{k1}, xmm1
	.endr
	TRY	vcvtps2ph [rbx]{k1}, zmm1, 0
	TRY	vcvtps2ph [rbx]{k1}, xmm1, 0
	TRY	vextracti32x4 [rbx]{k1}, zmm1, 1
	TRY	vextractf64x2 [rbx]{k1}, zmm1, 1
	/* packed */
	.irp	op, vpexpandd, vpexpandq, vexpandps, vexpandpd, vpexpandb, vpexpandw
	TRY	\op zmm1{k1}, [rbx]
	TRY	\op xmm1{k1}{z}, [rbx]
	.endr
	.irp	op, vpcompressd, vpcompressq, vcompressps, vcompresspd, vpcompressb, vpcompressw
	TRY	\op [rbx]{k1}, zmm1
	TRY	\op [rbx]{k1}, xmm1
	.endr
	EXIT0
