/* Sleeps two seconds in one system call, without a C library.
 * build: -nostdlib -static -no-pie
 */
	.globl _start
_start:
	mov $35, %eax			/* nanosleep */
	lea pause_(%rip), %rdi
	xor %esi, %esi
	syscall
	.globl after_sleep
after_sleep:
	mov $231, %eax			/* exit_group */
	xor %edi, %edi
	syscall
	.section .rodata
	.balign 8
pause_:	.quad 2, 0
	.section .note.GNU-stack, "", @progbits
