/* Two functions that are entered with different stacks, a hundred times each: f by a jump with a stack pointer
   that leads nowhere, g by calls from two places. A window on Call f and Call g has to open each time, say who
   called g, and leave f alone. It exits with 3. */
	.intel_syntax noprefix
	.text
	.globl _start, f, g, first, second
	.type f, @function
f:	inc qword ptr counts[rip]
	mov rsp, rbx
	jmp rbp
	.size f, .-f
	.type g, @function
g:	inc qword ptr counts[rip+8]
	ret
	.size g, .-g
	.type _start, @function
_start:	mov r12d, 50
1:	mov rbx, rsp
	lea rbp, 2f[rip]
	mov esp, 16
	jmp f
2:	call g
first:	mov rbx, rsp
	lea rbp, 3f[rip]
	mov esp, 16
	jmp f
3:	call g
second:	dec r12d
	jnz 1b
	mov rax, counts[rip]
	cmp rax, 100
	jne 4f
	mov edi, 3
4:	mov eax, 60
	syscall
	.size _start, .-_start
	.bss
	.balign 8
counts:	.quad 0, 0
	.section .note.GNU-stack, "", @progbits
