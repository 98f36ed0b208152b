/* A hundred copies of a thousand bytes, without a C library: each is one instruction. */
	.globl	_start
_start:
	xor	%ebp, %ebp
	mov	$100, %ebx
	cld
	nop
	nop
again:
	lea	from(%rip), %rsi
	lea	to(%rip), %rdi
	mov	$1000, %ecx
	rep movsb
	dec	%ebx
	jnz	again
	mov	$60, %eax
	xor	%edi, %edi
	nop
	syscall

	.bss
from:	.skip	1000
to:	.skip	1000
