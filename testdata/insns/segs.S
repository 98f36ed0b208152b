/* needs: fsgsbase */
/* fs and gs: by system call and by instruction, as operands of everything. */
#include "common.h"
	.data
	.balign	64
a:	.quad	0x1111, 0x2222, 0x3333, 0x4444, 0,0,0,0
b:	.quad	0x5555, 0x6666, 0x7777, 0x8888, 0,0,0,0
t:	.quad	0, 0
old:	.quad	0
	.text
target:	mov	r14d, 7
	ret
_start:
	mov	edi, 0x1002	/* ARCH_SET_FS */
	lea	rsi, a[rip]
	mov	eax, 158
	syscall
	CHECK	1, eax, 0
	test	r11d, 0x100
	CHECKCC	2, z
	mov	rax, fs:[0]
	CHECK	3, eax, 0x1111
	mov	ecx, 8
	mov	rbx, fs:[rcx]
	CHECK	4, ebx, 0x2222
	mov	fs:[rcx*2], rbx
	CHECK	5, "qword ptr a[rip+16]", 0x2222
	add	dword ptr fs:[8], 1
	inc	byte ptr fs:[rcx+8]
	push	qword ptr fs:[24]
	pop	qword ptr fs:[32]
	movups	xmm0, fs:[0]
	movups	fs:[40], xmm0
	lock xadd fs:[40], eax
	mov	rdx, -8
	mov	rax, fs:[rdx+16]
	CHECK	6, eax, 0x2223
	xor	eax, eax
	lea	rsi, fs:[rax+4]		/* no access, no segment */
	CHECK	7, rsi, 4
	rdfsbase rbx
	lea	rcx, a[rip]
	CHECK	8, rbx, rcx
	lea	rcx, b[rip]
	wrfsbase rcx
	mov	rax, fs:[8]
	CHECK	9, eax, 0x6666
	mov	edi, 0x1003	/* ARCH_GET_FS */
	lea	rsi, old[rip]
	mov	eax, 158
	syscall
	mov	rax, old[rip]
	lea	rcx, b[rip]
	CHECK	10, rax, rcx
	/* a string instruction's source has a segment, its destination none */
	xor	esi, esi
	lea	rdi, a[rip]
	mov	ecx, 3
	.byte	0x64
	rep movsq
	.byte	0x64
	lodsb
	CHECK	11, "qword ptr a[rip+8]", 0x6666
	lea	rax, target[rip]
	mov	t[rip], rax
	lea	rcx, t[rip]
	wrfsbase rcx
	call	fs:[0]
	xor	eax, eax
	call	fs:[rax]
	CHECK	12, r14d, 7
	/* gs */
	lea	rsi, a[rip]
	mov	edi, 0x1001	/* ARCH_SET_GS */
	mov	eax, 158
	syscall
	CHECK	13, eax, 0
	mov	rax, gs:[8]
	CHECK	14, eax, 0x6666
	mov	ecx, 16
	mov	gs:[rcx], rax
	add	gs:[rcx+8], rax
	push	qword ptr gs:[8]
	pop	qword ptr gs:[32]
	CHECK	15, "qword ptr a[rip+32]", 0x6666
	rdgsbase rbx
	lea	rdx, a[rip]
	CHECK	16, rbx, rdx
	lea	rdx, b[rip]
	wrgsbase rdx
	mov	rax, gs:[0]
	CHECK	17, eax, 0x5555
	lea	rax, target[rip]
	mov	b[rip], rax
	xor	r14d, r14d
	call	gs:[0]
	CHECK	18, r14d, 7
	lea	rax, 1f[rip]
	mov	b[rip], rax
	jmp	gs:[0]
	hlt
1:	mov	edi, 0x1004	/* ARCH_GET_GS */
	lea	rsi, old[rip]
	mov	eax, 158
	syscall
	mov	rax, old[rip]
	lea	rdx, b[rip]
	CHECK	19, rax, rdx
	xor	esi, esi
	.byte	0x65
	lodsq
	mov	ecx, 3
	.byte	0x65
	rep lodsd
	lea	rdi, a[rip]
	mov	ecx, 3
	.byte	0x65
	rep movsb
	movups	xmm0, gs:[16]
	cmovz	rax, gs:[8]
	stc
	mov	rax, gs:[16]
	adc	rax, gs:[24]
	wrfsbase rdi
	EXIT0
