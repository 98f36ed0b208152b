/* The number 39 is getpid in the table of 64-bit calls, and mkdir in that of 32-bit ones, by
 * int 0x80; this fails, as there is no name at address 0.
 * build: -nostdlib -static -no-pie
 */
	.intel_syntax noprefix
	.text
	.globl _start
_start:
	mov eax, 39
	xor ebx, ebx
	int 0x80
	nop
	mov eax, 39
	syscall
	.globl after_getpid
after_getpid:
	nop
	mov eax, 231
	xor edi, edi
	syscall
	hlt
	.section .note.GNU-stack, "", @progbits
