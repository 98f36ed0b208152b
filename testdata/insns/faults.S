/* needs: avx2 */
/* Faults: the handler sees the instruction, the registers and the address. */
#include "common.h"
#include "signals.h"
	.data
	.balign	64
m:	.quad	1, 2, 3, 4, 5, 6, 7, 8
lanes:	.long	0, 0, -1, -1, 0, 0, 0, 0
	.text
_start:
	CATCH	11
	CATCH	8
	CATCH	4
	CATCH	7
	CATCH	5
	lea	rbx, m[rip]
	mov	r15d, 0x1000
	/* in the middle of a block, with everything alive */
	EXPECT	1
	mov	qword ptr wantflags[rip], 1
	mov	rax, 0x1111
	mov	rcx, 0x2222
	mov	rdx, 0x3333
	mov	r8, 0x4444
	mov	r12, 0x5555
	mov	[rbx], rax
	mov	r9, [rbx+8]
	stc
f1:	mov	rax, [r15+8]
	mov	rdx, [rbx]
	mov	[rbx+8], rdx
	hlt
	CAUGHT	1, 11
	CHECK	2, "qword ptr where[rip]", 0x1008
	CHECK	3, "qword ptr copy[rip+13*8]", 0x1111	/* rax */
	CHECK	4, "qword ptr copy[rip+14*8]", 0x2222	/* rcx */
	CHECK	5, "qword ptr copy[rip+12*8]", 0x3333	/* rdx */
	CHECK	6, "qword ptr copy[rip]", 0x4444	/* r8 */
	CHECK	7, "qword ptr copy[rip+4*8]", 0x5555	/* r12 */
	CHECK	8, "qword ptr copy[rip+7*8]", 0x1000	/* r15 */
	CHECK	9, [rbx+8], r9
	test	byte ptr flagsin[rip], 1
	CHECKCC	10, nz
	/* the first of a block, and a store, and one after a store */
	EXPECT	11
	jmp	1f
1:
f11:	mov	[r15], eax
	CAUGHT	11, 11
	EXPECT	12
	mov	qword ptr [rbx], 77
f12:	add	[r15], eax
	CAUGHT	12, 11
	CHECK	13, "qword ptr [rbx]", 77
	/* branches */
	EXPECT	14
	mov	ecx, 0x1234
	mov	edx, 0x4321
f14:	call	[r15]
	CAUGHT	14, 11
	CHECK	15, ecx, 0x1234
	EXPECT	16
f16:	jmp	[r15+8]
	CAUGHT	16, 11
	mov	r14, rsp
	/* a jump to nowhere arrives there */
	lea	rax, b18[rip]
	mov	resume[rip], rax
	mov	ecx, 0x1000
	mov	edx, 0x777
	jmp	rcx
	hlt
b18:	CHECK	18, "dword ptr at[rip]", 0x1000
	CHECK	19, "qword ptr where[rip]", 0x1000
	CHECK	20, "qword ptr copy[rip+14*8]", 0x1000
	CHECK	21, "qword ptr copy[rip+12*8]", 0x777
	lea	rax, b22[rip]
	mov	resume[rip], rax
	mov	r14, rsp
	mov	eax, 0x2000
	call	rax
	hlt
b22:	CHECK	22, "dword ptr at[rip]", 0x2000
	lea	rax, [r14-8]
	CHECK	23, rsp, rax
	mov	rsp, r14
	/* data is not code */
	lea	rax, b24[rip]
	mov	resume[rip], rax
	jmp	rbx
b24:	CHECK	24, at[rip], rbx
	EXPECT	26
	mov	rax, 0x8000000000000000
f26:	mov	al, [rax]
	CAUGHT	26, 11
	CHECK	27, "qword ptr where[rip]", 0
	/* arithmetic, invalid instructions, breakpoints */
	EXPECT	28
	xor	ecx, ecx
	mov	eax, 5
	cdq
f28:	div	ecx
	CAUGHT	28, 8
	lea	r11, f28[rip]
	CHECK	29, where[rip], r11
	EXPECT	30
	mov	eax, 9
f30:	ud2
	CAUGHT	30, 4
	CHECK	31, "dword ptr copy[rip+13*8]", 9
	EXPECT	32
f32:	.byte	0x0f, 0xff, 0xc0	/* ud0 */
	CAUGHT	32, 4
	EXPECT	33
f33:	.byte	0x06		/* no instruction in 64-bit mode */
	CAUGHT	33, 4
	EXPECT	34
	add	eax, 1
f34:	hlt
	CAUGHT	34, 11
	mov	qword ptr resume[rip], 0
	mov	ecx, 5
	add	eax, 1
	int3
f35:
b35:	CHECK	35, ecx, 5
	CHECK	36, "dword ptr signo[rip]", 5
	lea	r11, f35[rip]
	CHECK	37, at[rip], r11
	/* alignment, masked lanes */
	EXPECT	38
	add	eax, 1
f38:	movaps	xmm0, [rbx+1]
	CAUGHT	38, 11
	EXPECT	39
	vmovdqu	ymm1, lanes[rip]
	mov	ecx, 3
	vpmaskmovd ymm0, ymm1, [rbx]
f39:	vpmaskmovd [r15], ymm1, ymm0
	CAUGHT	39, 11
	CHECK	40, "qword ptr where[rip]", 0x1008
	CHECK	41, ecx, 3
	/* a repeated instruction that gets half way */
	mov	eax, 9
	xor	edi, edi
	mov	esi, 8192
	mov	edx, 3
	mov	r10d, 0x22
	mov	r8, -1
	xor	r9d, r9d
	syscall
	mov	r13, rax
	lea	rdi, [rax+4096]
	mov	esi, 4096
	mov	eax, 11
	syscall
	EXPECT	42
	lea	rdi, [r13+4096-24]
	mov	ecx, 10
	mov	eax, 0x41
	mov	edx, 0x99
f42:	rep stosq
	mov	edx, 0
	CAUGHT	42, 11
	CHECK	43, "qword ptr copy[rip+14*8]", 7	/* rcx */
	lea	r11, [r13+4096]
	CHECK	44, copy[rip+8*8], r11			/* rdi */
	CHECK	45, edx, 0x99
	/* pushes and pops that fault, on an alternate stack */
	sub	rsp, 24
	lea	rax, altstack[rip]
	mov	[rsp], rax
	mov	qword ptr [rsp+8], 0
	mov	qword ptr [rsp+16], 32768
	mov	rdi, rsp
	xor	esi, esi
	mov	eax, 131
	syscall
	CATCH	11, 0x0c000004
	mov	r14, rsp
	EXPECT	46
	mov	rsp, r13
	mov	eax, 6
f46:	push	rax
	mov	rsp, r14
	hlt
	CAUGHT	46, 11
	CHECK	47, rsp, r13
	EXPECT	48
	lea	rsp, [r13+4096]
f48:	pop	rax
	CAUGHT	48, 11
	lea	r11, [r13+4096]
	CHECK	49, rsp, r11
	CHECK	50, where[rip], r11
	EXPECT	51
	mov	rsp, r13
	mov	ecx, 0x61
f51:	call	handler
	CAUGHT	51, 11
	CHECK	52, rsp, r13
	EXPECT	53
	lea	rax, handler[rip]
	mov	ecx, 0x62
	mov	edx, 0x63
f53:	call	rax
	CAUGHT	53, 11
	CHECK	54, "dword ptr copy[rip+14*8]", 0x62
	CHECK	55, ecx, 0x62
	CHECK	56, edx, 0x63
	EXPECT	57
	lea	rsp, [r13+4096]
f57:	ret
	CAUGHT	57, 11
	CHECK	58, ecx, 0x62
	EXPECT	59
	mov	[r13], rax
	mov	rsp, r13
f59:	push	qword ptr [r13]
	CAUGHT	59, 11
	EXPECT	60
	lea	rsp, [r13+4088]
f60:	pop	qword ptr [r15]
	CAUGHT	60, 11
	lea	r11, [r13+4088]
	CHECK	61, rsp, r11
	mov	rsp, r14
	mov	qword ptr resume[rip], 0
	EXIT0
