# A 32-bit program, which exits with 7.
# build: -m32 -nostdlib -static
	.globl _start
_start:	movl $1, %eax
	movl $7, %ebx
	int $0x80
	.section .note.GNU-stack,"",@progbits
