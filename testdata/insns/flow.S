/* Conditional branches, loops, setcc, cmov; flags that live across blocks. */
#include "common.h"
	.data
	.balign	16
m:	.quad	11, 22, 33, 44
bytes:	.skip	32
big:	.quad	-1, -1, -1, 5
	.quad	1, 0, 0, 7
	.text
_start:
	lea	rbx, m[rip]
	lea	rdi, bytes[rip]
	mov	ecx, 5
	xor	eax, eax
1:	add	eax, ecx
	loop	1b
	CHECK	1, eax, 15
	mov	ecx, 10
2:	dec	eax
	cmp	eax, 12
	loopne	2b
	CHECK	2, ecx, 7
	mov	ecx, 3
3:	cmp	eax, eax
	loope	3b
	CHECKCC	3, z
	CHECK	4, ecx, 0
	mov	rcx, 0x100000000
	jrcxz	bad
	jecxz	4f
bad:	mov	edi, 99
	jmp	failed
4:	xor	ecx, ecx
	jrcxz	5f
	jmp	bad
5:	mov	rcx, 0x200000002
	.byte	0x67			/* counts ecx */
6:	loop	7f
	jmp	bad
7:	CHECKQ	5, rcx, 1
	mov	ecx, 1
	loop	bad
	/* every condition, as jump, as setcc to register and memory, as cmov from memory */
	.irp	c, o,no,b,ae,e,ne,be,a,s,ns,p,np,l,ge,le,g
	mov	r8d, 0x7fffffff
	add	r8d, 2
	set\c	al
	set\c	[rdi]
	set\c	ah
	cmov\c	rdx, [rbx]
	cmov\c	esi, [rbx+8]
	cmov\c	cx, [rbx+16]
	j\c	8f
	cmp	al, 0
	jne	bad
	jmp	9f
8:	cmp	al, 1
	jne	bad
9:	xor	r8d, r8d
	cmov\c	r8, [rbx+24]
	j\c	1f
	test	r8, r8
	jnz	bad
	set\c	byte ptr [rdi+1]
1:	add	[rdi+2], al
	.endr
	/* a chain of additions with carry, over blocks */
	lea	rsi, big[rip]
	lea	rdx, 1f[rip]
	mov	rax, [rsi]
	add	rax, [rsi+32]
	mov	[rsi], rax
	jmp	rdx
1:	mov	rax, [rsi+8]
	lea	rdx, 3f[rip]
	adc	rax, [rsi+40]
	mov	[rsi+8], rax
	mov	ecx, 1
	jrcxz	4f
	mov	rax, [rsi+16]
	call	2f
	jmp	rdx
2:	adc	rax, [rsi+48]
	mov	[rsi+16], rax
	ret
3:	mov	rax, [rsi+24]
	adc	rax, [rsi+56]
	mov	[rsi+24], rax
4:	CHECK	6, "qword ptr [rsi+16]", 0
	CHECK	7, rax, 13
	/* a loop of adc: its block starts and ends with the carry live */
	xor	eax, eax
	mov	ecx, 4
	stc
1:	mov	rdx, [rbx+rcx*8-8]
	adc	rax, rdx
	dec	ecx
	jnz	1b
	CHECK	8, rax, 111
	/* shifts by a count of zero leave the flags */
	mov	edx, 5
	xor	ecx, ecx
	stc
	shl	edx, cl
	CHECKCC	9, c
	stc
	sar	dword ptr [rbx], cl
	jmp	1f
1:	CHECKCC	10, c
	stc
	rol	edx, cl
	CHECKCC	11, c
	cmp	edx, 5
	shld	edx, eax, cl
	CHECKCC	12, e
	stc
	.byte	0xc1, 0xe2, 0x20	/* shl edx, 32: a count of zero */
	CHECKCC	13, c
	/* inc and dec keep the carry */
	stc
	inc	edx
	dec	qword ptr [rbx]
	CHECKCC	14, c
	/* flags by lahf, sahf, cmc, and across a system call's own */
	mov	ah, 0xd7
	sahf
	lahf
	CHECK	15, ah, 0xd7
	stc
	cmc
	CHECKCC	16, nc
	/* a conditional branch to the next instruction and to itself backwards */
	mov	ecx, 3
1:	sub	ecx, 1
	jnz	1b
	jz	1f
1:	jnz	2f
2:	/* forward over long code, which needs 32-bit displacements */
	test	eax, eax
	jnz	1f
	.skip	300, 0xcc
1:	CHECK	17, ecx, 0
	/* loop to a distance that its translation cannot keep */
	mov	ecx, 20
	xor	eax, eax
1:	.rept	20
	inc	eax
	.endr
	loop	1b
	CHECK	18, eax, 400
	EXIT0
