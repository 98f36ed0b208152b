/* All sixteen registers in one block, blocks longer than a translation's, flags
 * that live through them, absolute addresses of 64 bits. */
#include "common.h"
	.bss
	.balign	4096
buf:	.skip	4096
end:
save:	.quad	0
	.text
_start:
	mov	save[rip], rsp
	.set	r, 0
	.irp	reg, rax,rcx,rdx,rbx,rsp,rbp,rsi,rdi,r8,r9,r10,r11,r12,r13,r14,r15
	lea	\reg, buf[rip+r*64]
	.set	r, r+1
	.endr
	stc
	.irp	reg, rax,rcx,rdx,rbx,rsp,rbp,rsi,rdi,r8,r9,r10,r11,r12,r13,r14,r15
	mov	[\reg], \reg
	mov	[\reg+8], rax
	.endr
	adc	qword ptr [rax+16], 0
	lea	rbx, [rbx+rcx]
	sub	rbx, rcx
	.irp	reg, rax,rcx,rdx,rbx,rsp,rbp,rsi,rdi,r8,r9,r10,r11,r12,r13,r14,r15
	add	[\reg+24], \reg
	adc	\reg, [\reg+32]
	.endr
	mov	rsp, save[rip]
	CHECK	1, "qword ptr [rax+16]", 1
	lea	rdx, buf[rip]
	CHECK	2, rax, rdx
	CHECK	3, [rax], rdx
	CHECK	4, [rdx+15*64], r15
	/* three hundred instructions without a branch, the carry alive throughout */
	stc
	mov	ecx, 0
	.rept	60
	mov	r8, [rax+40]
	lea	r8, [r8+1]
	mov	[rax+40], r8
	adc	ecx, 0
	mov	[r15+48], rcx
	.endr
	CHECK	5, "qword ptr [rax+40]", 60
	CHECK	6, ecx, 1
	/* moves from and to absolute addresses */
	mov	rbx, rsp
	EXIT0
