# A program that makes a system call which only the tracer can make for it in the code
# cache, since its gs is another there, 400 times.
	.intel_syntax noprefix
	.text
	.globl _start
	.type _start, @function
_start:
	mov ebx, 400
again:
	mov eax, 158		# arch_prctl(ARCH_GET_GS, &gs)
	mov edi, 0x1004
	lea rsi, gs_base[rip]
	syscall
	dec ebx
	jnz again
	mov eax, 231
	xor edi, edi
	syscall
	.size _start, .-_start
	.bss
	.balign 8
gs_base: .skip 8
