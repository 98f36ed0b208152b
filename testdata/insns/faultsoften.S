/* Branches that fault after their block's record is complete, again and again, while records are taken. */
#include "common.h"
#include "signals.h"
	.equ	ROUNDS, 60
	.data
	.balign	64
m:	.quad	1, 2, 3, 4
	.text
_start:
	lea	rax, altstack[rip]
	sub	rsp, 24
	mov	[rsp], rax
	mov	qword ptr [rsp+8], 0
	mov	qword ptr [rsp+16], 32768
	mov	rdi, rsp
	xor	esi, esi
	mov	eax, 131	/* sigaltstack */
	syscall
	add	rsp, 24
	CATCH	11, 0x0c000004	/* on that stack */
	lea	rbx, m[rip]
	mov	r15d, 0x1000
	mov	r14, rsp
	mov	r13d, ROUNDS
	xor	r12d, r12d
round:	/* the target cannot be loaded */
	EXPECT	1
	mov	rax, [rbx]
	mov	[rbx+8], rax
f1:	jmp	[r15]
	CAUGHT	1, 11
	EXPECT	2
	add	qword ptr [rbx+16], 1
f2:	call	[r15+8]
	CAUGHT	2, 11
	/* the return address cannot be stored, or loaded */
	EXPECT	3
	mov	rax, [rbx+16]
	mov	rsp, r15
f3:	call	round
	CAUGHT	3, 11
	EXPECT	4
	mov	[rbx+24], rax
f4:	ret
	CAUGHT	4, 11
	/* behind branches that a block goes on along, taken and not */
	EXPECT	5
	mov	rax, [rbx+8]
	test	r13d, 1
	jz	1f
	mov	rcx, [rbx]
1:	test	r13d, 2
	jz	b5
	add	rcx, [rbx+16]
f5:	ret
b5:	mov	rsp, r14
	inc	r12d
	dec	r13d
	jnz	round
	CHECK	6, r12d, ROUNDS
	/* four a round, and every second round the fifth */
	CHECK	7, "qword ptr seen[rip]", 4*ROUNDS+ROUNDS/2
	EXIT0
