/* needs: bmi1 bmi2 abm adx movbe */
/* BMI, ADX, movbe with memory operands. */
#include "common.h"
	.data
	.balign	16
m:	.quad	0x00ff00ff00f0f0f0, 0x123456789abcdef0
	.text
_start:
	lea	rbx, m[rip]
	mov	ecx, 0x0804
	andn	rax, rcx, [rbx]
	bextr	eax, [rbx], ecx
	CHECK	1, eax, 0x0f
	blsi	rax, [rbx]
	blsmsk	rax, [rbx]
	blsr	r9, [rbx]
	bzhi	rax, [rbx], rcx
	pdep	rax, rcx, [rbx]
	pext	r12, rcx, [rbx+8]
	mulx	rax, rdx, [rbx]
	rorx	rax, [rbx], 12
	sarx	rax, [rbx], rcx
	shlx	r10, [rbx], rcx
	shrx	eax, [rbx+8], ecx
	tzcnt	rax, [rbx]
	CHECK	2, rax, 4
	lzcnt	rax, [rbx]
	tzcnt	ax, [rbx]
	adcx	rax, [rbx]
	adox	rax, [rbx+8]
	movbe	rax, [rbx+8]
	CHECKQ	3, rax, 0xf0debc9a78563412
	movbe	[rbx], eax
	movbe	[rbx+4], ax
	movbe	cx, [rbx]
	bswap	rax
	/* both carries alive over a block's end */
	xor	eax, eax
	stc
	adcx	rax, [rbx]
	jmp	1f
1:	adox	rax, [rbx+8]
	adcx	rax, rax
	EXIT0
