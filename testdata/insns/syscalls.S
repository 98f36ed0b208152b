/* System calls: what they destroy and what they leave. */
#include "common.h"
	.data
msg:	.ascii	"hello\n"
ts:	.quad	0, 0
	.text
_start:
	.irp	reg, rbx,rbp,r8,r9,r10,r12,r13,r14,r15
	mov	\reg, 0x1234
	.endr
	mov	eax, 39			/* getpid */
	xor	edx, edx
	cmp	edx, 1			/* carry, sign, parity, auxiliary */
	syscall
next:	jae	bad
	lea	rdx, next[rip]
	CHECK	1, rcx, rdx
	and	r11d, 0x9d5
	CHECK	2, r11d, 0x95
	.irp	reg, rbx,rbp,r8,r9,r10,r12,r13,r14,r15
	cmp	\reg, 0x1234
	jne	bad
	.endr
	mov	eax, 1
	mov	edi, 1
	lea	rsi, msg[rip]
	mov	edx, 6
	syscall
	CHECK	3, eax, 6
	mov	rax, 0x7fffffff		/* no such call */
	syscall
	CHECK	4, rax, -38
	mov	rax, -1
	syscall
	CHECK	5, rax, -38
	mov	eax, 334		/* rseq: not here */
	lea	rdi, ts[rip]
	mov	esi, 32
	xor	edx, edx
	mov	r10d, 0x53053053
	xor	r8d, r8d
	syscall
	xor	eax, eax		/* natively it may be */
	/* memory that comes and goes */
	mov	eax, 9
	xor	edi, edi
	mov	esi, 4096
	mov	edx, 3
	mov	r10d, 0x22
	mov	r8, -1
	xor	r9d, r9d
	syscall
	mov	rbx, rax
	lea	rdx, 1f[rip]
	mov	qword ptr [rbx], 5
	mov	eax, 10			/* mprotect */
	mov	rdi, rbx
	mov	esi, 4096
	mov	edx, 1
	stc
	syscall
1:	CHECKCC	7, c
	CHECK	8, "qword ptr [rbx]", 5
	mov	eax, 25			/* mremap */
	mov	rdi, rbx
	mov	esi, 4096
	mov	edx, 8192
	mov	r10d, 1
	syscall
	mov	rdi, rax
	mov	eax, 11
	mov	esi, 8192
	syscall
	CHECK	9, eax, 0
	lea	rdx, 2f[rip]
	mov	eax, 12			/* brk */
	xor	edi, edi
	syscall
2:	CHECK	10, rcx, rdx
	mov	eax, 24
	syscall
	/* a call in a loop: the same site again and again */
	mov	ebx, 5
3:	mov	eax, 39
	syscall
	dec	ebx
	jnz	3b
	EXIT0
bad:	mov	edi, 99
	jmp	failed
