/* needs: avx512f avx512bw avx512vl avx512_fp16 */
/* evexmask.S's half-precision instructions. */
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
	.irp	op, vaddph, vmulph
	TRY	\op zmm1{k1}, zmm2, [rbx]
	TRY	\op ymm1{k1}, ymm2, [rbx]
	TRY	\op xmm1{k1}{z}, xmm2, [rbx]
	.endr
	.irp	op, vcvtph2dq, vcvtph2pd
	TRY	\op zmm1{k1}, [rbx]
	TRY	\op xmm1{k1}{z}, [rbx]
	.endr
	TRY	vmovsh	xmm1{k1}, [rbx]
	TRY	vmovsh	xmm1, [rbx+2]
	TRY	vmovsh	[rbx+64]{k1}, xmm1
	TRY	vmovsh	[rbx+66], xmm1
	TRY	vmovw	xmm1, [rbx+4]
	TRY	vmovw	[rbx+68], xmm1
	EXIT0
