/* Makes system calls at labels, callN, of which tests watch the addresses: calls that
 * return at once, that create a thread or a process, that block until another thread has
 * done something, and that a signal interrupts and the kernel makes again.
 * build: -nostdlib -static -no-pie
 */
	.intel_syntax noprefix
	.text
#include "../function.h"
	.macro probed n				/* a call with eax, edi and so on set */
	.globl call\n, after\n
call\n: syscall
after\n: nop
	.endm

	function thread
	mov eax, 35			/* nanosleep */
	lea rdi, pause[rip]
	xor esi, esi
	syscall
	mov eax, 234			/* tgkill: SIGURG for the first thread, which ignores it */
	mov edi, r13d
	mov esi, r13d
	mov edx, 23
	syscall
	mov eax, 1
	mov edi, pipe[rip+4]
	lea rsi, byte_[rip]
	mov edx, 1
	syscall
	mov eax, 60
	xor edi, edi
	syscall
	end thread

	function _start
	mov ebx, 5
1:	mov eax, 39			/* getpid */
	probed 1
	dec ebx
	jnz 1b
	mov r13d, eax
	mov eax, 22			/* pipe */
	lea rdi, pipe[rip]
	syscall
	mov eax, 56
	mov edi, 0x050f00
	lea rsi, stack_end[rip]
	xor edx, edx
	xor r10d, r10d
	xor r8d, r8d
	probed 2
	test eax, eax
	jz thread
	xor eax, eax			/* read: until the thread has written */
	mov edi, pipe[rip]
	lea rsi, byte_[rip]
	mov edx, 1
	probed 3
	cmp eax, 1
	jne bad
	mov eax, 57			/* fork */
	probed 4
	test eax, eax
	jz child
	mov edi, eax
	mov eax, 61			/* wait4 */
	lea rsi, byte_[rip]
	xor edx, edx
	xor r10d, r10d
	probed 5
	cmp dword ptr byte_[rip], 0x700
	jne bad
	mov eax, 231
	mov edi, 3
	probed 6
bad:	mov eax, 231
	mov edi, 99
	syscall
	end _start

	function child
	mov eax, 231
	mov edi, 7
	syscall
	end child

	.section .rodata
	.balign 8
pause:	.quad 0, 30000000
	.bss
	.balign 64
pipe:	.quad 0
byte_:	.quad 0
	.balign 64
	.skip 4096
stack_end: .skip 64
	.section .note.GNU-stack, "", @progbits
