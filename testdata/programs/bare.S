# No C library, no stack to speak of, no sections but code: writes and exits.
# build: -nostdlib -static
# expect stdout: ok
# expect exit: 42
	.globl _start
	.intel_syntax noprefix
_start:
	xor esp, esp			# the stack pointer is nothing special
	mov ebx, 3
1:	dec ebx
	jnz 1b
	mov eax, 1
	mov edi, 1
	lea rsi, msg[rip]
	mov edx, 3
	syscall
	mov eax, 60
	mov edi, 42
	syscall
msg:	.ascii "ok\n"
	.section .note.GNU-stack,"",@progbits
