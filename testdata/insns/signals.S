/* ends: signal 15 */
/* Signals that the program sends itself. */
#include "common.h"
#include "signals.h"
	.data
mask:	.quad	0x200		/* SIGUSR1 */
zero:	.quad	0
	.text
_start:
	CATCH	10
	CATCH	12
	mov	eax, 39
	syscall
	mov	ebp, eax
	/* each goes to its handler before the next instruction */
	mov	ebx, 5
1:	mov	edi, ebp
	mov	esi, 10
	mov	eax, 62			/* kill */
	mov	r12d, 0x1212
	mov	qword ptr wantflags[rip], 1
	stc
	syscall
2:	CHECKCC	1, c
	CHECK	2, eax, 0
	CHECK	3, r12d, 0x1212
	lea	rdx, 2b[rip]
	CHECK	4, rcx, rdx
	CHECK	5, at[rip], rdx
	test	r11d, 0x100
	CHECKCC	6, z
	mov	eax, flagsin[rip]
	and	eax, 0x101
	CHECK	7, eax, 1
	dec	ebx
	jnz	1b
	CHECK	8, "dword ptr seen[rip]", 5
	/* blocked, then pending, then let in */
	mov	eax, 14			/* rt_sigprocmask: block */
	xor	edi, edi
	lea	rsi, mask[rip]
	xor	edx, edx
	mov	r10d, 8
	syscall
	mov	edi, ebp
	mov	esi, 10
	mov	eax, 62
	syscall
	CHECK	9, "dword ptr seen[rip]", 5
	mov	eax, 14
	mov	edi, 1
	lea	rsi, mask[rip]
	xor	edx, edx
	mov	r10d, 8
	syscall
	CHECK	10, "dword ptr seen[rip]", 6
	/* ignored */
	sub	rsp, 40
	mov	qword ptr [rsp], 1
	mov	qword ptr [rsp+8], 0x04000000
	mov	edi, 12
	mov	rsi, rsp
	xor	edx, edx
	mov	r10d, 8
	mov	eax, 13
	syscall
	add	rsp, 40
	mov	edi, ebp
	mov	esi, 12
	mov	eax, 62
	syscall
	mov	edi, ebp
	mov	esi, 17			/* SIGCHLD: nobody minds */
	mov	eax, 62
	syscall
	CHECK	11, "dword ptr seen[rip]", 6
	/* two at once: the second handler is entered from the first one's start */
	CATCH	12
	mov	eax, 14
	xor	edi, edi
	mov	qword ptr mask[rip], 0xa00
	lea	rsi, mask[rip]
	xor	edx, edx
	mov	r10d, 8
	syscall
	mov	edi, ebp
	mov	esi, 10
	mov	eax, 62
	syscall
	mov	edi, ebp
	mov	esi, 12
	mov	eax, 62
	syscall
	mov	eax, 14
	mov	edi, 1
	lea	rsi, mask[rip]
	xor	edx, edx
	mov	r10d, 8
	syscall
	CHECK	12, "dword ptr seen[rip]", 8
	/* the handler sends the program elsewhere */
	lea	rax, 3f[rip]
	mov	resume[rip], rax
	mov	edi, ebp
	mov	esi, 10
	mov	eax, 62
	syscall
	hlt
3:	CHECK	13, "dword ptr seen[rip]", 9
	/* the end by a signal that nobody handles */
	mov	edi, ebp
	mov	esi, 15
	mov	eax, 62
	syscall
	hlt
