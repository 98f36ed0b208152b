/* values: vary; the old way to ask for the time, which the kernel emulates. */
#include "common.h"
	.data
tv:	.quad	0, 0
	.text
_start:
	mov	rbx, 0x123
	lea	rdi, tv[rip]
	xor	esi, esi
	mov	rax, 0xffffffffff600000
	call	rax
	CHECK	1, rax, 0
	cmp	qword ptr tv[rip], 0
	CHECKCC	2, nz
	CHECK	3, rbx, 0x123
	mov	ebx, 3
	mov	r12, 0xffffffffff600400
1:	xor	edi, edi
	call	r12			/* time */
	dec	ebx
	jnz	1b
	EXIT0
