/* x87: all operand sizes, the environment, the whole state. */
#include "common.h"
	.data
	.balign	64
f32:	.float	1.5, -2.25
f64:	.double	3.25, 0.125
i16:	.short	-7, 9
i32:	.long	100000, -5
i64:	.quad	1234567890123
bcd:	.skip	16
	.balign	64
out:	.skip	256
env:	.skip	128
	.text
_start:
	lea	rbx, f32[rip]
	lea	rdi, out[rip]
	fninit
	fld	dword ptr [rbx]
	fadd	dword ptr [rbx+4]
	fst	dword ptr [rdi]
	fstp	qword ptr [rdi+8]
	CHECK	1, "dword ptr [rdi]", 0xbf400000
	fld	qword ptr f64[rip]
	fmul	qword ptr f64[rip+8]
	fld	st
	fstp	tbyte ptr [rdi+16]
	fld	tbyte ptr [rdi+16]
	fcomip	st, st(1)
	CHECKCC	2, e
	fstp	dword ptr [rdi+32]
	fild	word ptr i16[rip]
	fiadd	word ptr i16[rip+2]
	fist	word ptr [rdi+36]
	fistp	dword ptr [rdi+40]
	CHECK	3, "dword ptr [rdi+40]", 2
	fild	dword ptr i32[rip]
	fidiv	dword ptr i32[rip+4]
	fistp	qword ptr [rdi+48]
	CHECK	4, "qword ptr [rdi+48]", -20000
	fild	qword ptr i64[rip]
	fld	st
	fbstp	tbyte ptr bcd[rip]
	fbld	tbyte ptr bcd[rip]
	fcompp
	fld1
	fldpi
	fisttp	word ptr [rdi+56]
	fldpi
	fisttp	dword ptr [rdi+58]
	fldpi
	fisttp	qword ptr [rdi+64]
	CHECK	5, "dword ptr [rdi+58]", 3
	fstp	st
	fnstcw	[rdi]
	fldcw	[rdi]
	fnstsw	[rdi+2]
	fnstsw	ax
	CHECK	6, "word ptr [rdi]", 0x37f
	fld1
	fldz
	fnstenv	[rdi+80]
	fldenv	[rdi+80]
	CHECK	7, "word ptr [rdi+88]", 0x1fff
	fnsave	env[rip]
	frstor	env[rip]
	fstp	dword ptr [rdi]
	fstp	dword ptr [rdi+4]
	CHECKQ	8, [rdi], 0x3f80000000000000
	data16 fnstenv [rdi+80]
	data16 fnsave env[rip]
	data16 frstor env[rip]
	fninit
	/* memory compares, and a stack top that has moved */
	fldpi
	fcom	dword ptr [rbx]
	fcomp	qword ptr f64[rip]
	fnstsw	ax
	sahf
	CHECKCC	9, b
	fld1
	fld	dword ptr [rbx]
	ficom	word ptr i16[rip]
	ficomp	dword ptr i32[rip]
	fsub	dword ptr [rbx]
	fsubr	qword ptr f64[rip]
	fdivr	dword ptr [rbx]
	fisub	word ptr i16[rip]
	fisubr	dword ptr i32[rip]
	fimul	word ptr i16[rip]
	fidivr	dword ptr i32[rip]
	fstp	qword ptr [rdi+8]
	emms
	/* MMX shares the registers */
	movq	mm0, qword ptr i64[rip]
	paddd	mm0, qword ptr f64[rip]
	movd	mm1, dword ptr i32[rip]
	punpckldq mm0, mm1
	movq	[rdi], mm0
	movd	[rdi+8], mm1
	movntq	[rdi+16], mm0
	pshufw	mm2, [rdi], 0x1b
	packsswb mm2, [rdi]
	movq	mm3, mm2
	pcmpeqd	mm4, mm4
	movq	[rdi+24], mm4
	lea	rsi, out[rip]
	mov	rdx, rdi
	lea	rdi, [rdi+40]
	mov	rax, 0x80008000ff007f80
	movq	mm5, rax
	maskmovq mm4, mm5
	mov	rdi, rdx
	cvtpi2ps xmm0, [rdi]
	cvtps2pi mm0, [rdi]
	cvttpd2pi mm0, [rdi+16]
	pinsrw	mm0, [rdi], 2
	emms
	EXIT0
