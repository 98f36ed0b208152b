/* Calls opens once and counts three times in each of 20 turns, with a fault, which
 * the tracer has a part in, between any two of them. It writes nothing.
 * build: -nostdlib -static -no-pie
 */
	.intel_syntax noprefix
	.text
#include "../function.h"
	.macro faults
	lea rax, 9f[rip]
	mov resume[rip], rax
	ud2
9:	nop
	.endm

	function opens
	nop
	ret
	end opens

	function counts
	nop
	nop
	ret
	end counts

	function handler
	mov rax, resume[rip]
	mov [rdx+168], rax
	ret
	end handler

	function restorer
	mov eax, 15
	syscall
	end restorer

	function _start
	mov eax, 13
	mov edi, 4
	lea rsi, action[rip]
	xor edx, edx
	mov r10d, 8
	syscall
	mov r15d, 20
1:	call opens
	faults
	call counts
	faults
	call counts
	call counts
	faults
	dec r15d
	jnz 1b
	mov eax, 231
	xor edi, edi
	syscall
	end _start

	.data
	.balign 64
resume:	.quad 0
action:	.quad handler, 0x04000004, restorer, 0
