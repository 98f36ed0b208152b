/* needs: sse4_2 ssse3 pclmulqdq aes popcnt */
/* SSE to SSE4.2: moves of every kind and arithmetic with memory operands. */
#include "common.h"
	.data
	.balign	64
a:	.long	0x3f800000, 0x40000000, 0x40400000, 0x40800000
b:	.double	1.5, 2.5
c:	.byte	0,0x80,0,0x80, 1,0x81,0xff,0x7f, 0,0,0,0x80, 0x80,0,0,0xff
s:	.ascii	"needle in a haystack, sixteen"
	.skip	64
	.balign	64
out:	.skip	1024
	.text
_start:
	lea	rbx, a[rip]
	lea	rdi, out[rip]
	lea	r12, out[rip]
	lea	r13, out[rip+512]
	movaps	xmm0, [rbx]
	movups	xmm1, [rbx+1]
	movapd	xmm2, [rbx+16]
	movupd	xmm3, [rbx+17]
	movdqa	xmm4, [rbx+32]
	movdqu	xmm5, [rbx+33]
	lddqu	xmm6, [rbx+35]
	movntdqa xmm7, [rbx]
	movss	xmm8, [rbx+4]
	movsd	xmm9, [rbx+8]
	movd	xmm10, dword ptr [rbx]
	movq	xmm11, qword ptr [rbx]
	.byte	0x66, 0x48, 0x0f, 0x6e, 0x23	/* movq xmm4, [rbx], the other encoding */
	movlps	xmm12, [rbx+8]
	movhps	xmm12, [rbx]
	movlpd	xmm13, [rbx+16]
	movhpd	xmm13, [rbx+24]
	movddup	xmm14, [rbx+16]
	movsldup xmm15, [rbx]
	movshdup xmm15, [rbx]
	movaps	[rdi], xmm0
	movups	[rdi+17], xmm1
	movapd	[rdi+48], xmm2
	movupd	[rdi+65], xmm3
	movdqa	[rdi+96], xmm4
	movdqu	[rdi+113], xmm5
	movntps	[rdi+144], xmm6
	movntpd	[rdi+160], xmm7
	movntdq	[rdi+176], xmm8
	movss	[rdi+192], xmm8
	movsd	[rdi+200], xmm9
	movd	[rdi+208], xmm10
	movq	[rdi+216], xmm11
	.byte	0x66, 0x48, 0x0f, 0x7e, 0x67, 0x10	/* movq [rdi+16], xmm4, the other encoding */
	movlps	[rdi+224], xmm12
	movhps	[rdi+232], xmm12
	movlpd	[rdi+240], xmm13
	movhpd	[rdi+248], xmm13
	movnti	[rdi+256], rbx
	movnti	[rdi+264], ebx
	CHECK	1, "dword ptr [rdi+192]", 0x40000000
	/* high registers with high bases */
	movaps	xmm15, [r12]
	movups	[r13], xmm15
	movdqu	xmm9, [r13+4]
	movss	[r12+4], xmm14
	/* arithmetic */
	addps	xmm0, [rbx]
	mulss	xmm0, [rbx+4]
	addpd	xmm2, [rbx+16]
	divsd	xmm2, [rbx+24]
	sqrtss	xmm1, [rbx]
	minps	xmm0, [rbx]
	cmpps	xmm0, [rbx], 2
	cmpsd	xmm2, [rbx+16], 1
	comiss	xmm8, [rbx+4]
	ucomisd	xmm9, [rbx+16]
	cvtsi2ss xmm0, dword ptr [rbx]
	cvtsi2sd xmm0, qword ptr [rbx]
	cvttss2si eax, [rbx+8]
	CHECK	2, eax, 3
	cvtsd2si rax, [rbx+24]
	cvtps2pd xmm0, [rbx]
	cvtpd2ps xmm0, [rbx+16]
	cvtdq2pd xmm0, [rbx]
	cvtss2sd xmm0, [rbx]
	cvtsd2ss xmm0, [rbx+16]
	andps	xmm0, [rbx]
	xorpd	xmm0, [rbx+16]
	shufps	xmm0, [rbx], 0x1b
	unpcklps xmm0, [rbx]
	haddps	xmm0, [rbx]
	paddd	xmm4, [rbx]
	pand	xmm4, [rbx+32]
	punpcklbw xmm4, [rbx]
	pshufd	xmm4, [rbx], 0x4e
	pshufb	xmm4, [rbx+32]
	psllw	xmm4, [rbx+32]
	pinsrb	xmm4, [rbx+5], 3
	pinsrw	xmm4, [rbx+6], 3
	pinsrd	xmm4, [rbx+8], 1
	pinsrq	xmm4, [rbx+8], 1
	insertps xmm4, [rbx], 0x10
	pextrb	[rdi+300], xmm4, 5
	pextrw	[rdi+302], xmm4, 5
	pextrd	[rdi+304], xmm4, 1
	pextrq	[rdi+312], xmm4, 1
	extractps [rdi+320], xmm4, 2
	pmovzxbw xmm5, [rbx]
	pmovsxbd xmm5, [rbx]
	pmovzxbq xmm5, [rbx]
	pmovsxwd xmm5, [rbx]
	pmovzxwq xmm5, [rbx]
	pmovsxdq xmm5, [rbx]
	ptest	xmm5, [rbx]
	movdqa	xmm0, c[rip]
	pblendvb xmm5, [rbx]
	blendvps xmm5, [rbx]
	roundps	xmm5, [rbx], 1
	roundsd	xmm5, [rbx+16], 1
	dpps	xmm5, [rbx], 0xf1
	mpsadbw	xmm5, [rbx], 2
	phminposuw xmm5, [rbx]
	pcmpgtq	xmm5, [rbx]
	palignr	xmm5, [rbx], 5
	pclmulqdq xmm5, [rbx], 1
	aesenc	xmm5, [rbx]
	aeskeygenassist xmm5, [rbx], 1
	crc32	eax, byte ptr [rbx]
	crc32	rax, qword ptr [rbx]
	popcnt	ecx, [rbx]
	/* strings: unaligned operands are fine, counts in eax, edx, ecx and flags out */
	movdqu	xmm1, s[rip]
	pcmpistri xmm1, s[rip+3], 0xc
	mov	eax, 6
	mov	edx, 16
	pcmpestri xmm1, s[rip+1], 0xc
	pcmpistrm xmm1, s[rip], 0x8
	pcmpestrm xmm1, s[rip], 0x8
	/* byte masks: nothing of what is not marked is touched */
	movdqa	xmm2, c[rip]
	movdqa	xmm3, a[rip]
	lea	rdi, out[rip+401]
	maskmovdqu xmm3, xmm2
	pxor	xmm9, xmm9
	movdqa	xmm12, xmm3
	lea	rdi, out[rip+600]
	maskmovdqu xmm12, xmm9
	movdqa	xmm9, xmm2
	lea	rdi, out[rip+421]
	maskmovdqu xmm12, xmm9
	CHECK	3, "byte ptr [rdi]", 0
	CHECK	4, "byte ptr [rdi+3]", 0x3f
	/* control */
	lea	rdi, out[rip]
	stmxcsr	[rdi]
	mov	eax, [rdi]
	and	eax, ~0x3f
	CHECK	5, eax, 0x1f80
	mov	dword ptr [rdi], 0x7f80
	ldmxcsr	[rdi]
	stmxcsr	[rdi+4]
	CHECK	6, "dword ptr [rdi+4]", 0x7f80
	fxsave	[rdi]
	fxrstor	[rdi]
	fxsave64 [rdi]
	fxrstor64 [rdi]
	stmxcsr	[rdi+512]
	CHECK	7, "dword ptr [rdi+512]", 0x7f80
	EXIT0
