/* The process's third thread executes another program, and so does the thread that
 * this has left in that one: threads 1 to 3, then 3 to 5, then 3 and 6. Each but the
 * first two works in a function of its own. They tell each other by a pipe that they
 * are done, so that what each executes is always the same.
 * build: -nostdlib -static -no-pie
 */
	.intel_syntax noprefix
	.text
#include "../function.h"

	function work			/* 3 + 2 ecx instructions */
	push rcx
1:	dec ecx
	jnz 1b
	pop rcx
	ret
	end work

	.macro begin to			/* a thread with a stack of its own */
	mov eax, 56
	mov edi, 0x050f00
	lea rsi, stack_\to[rip]
	xor edx, edx
	xor r10d, r10d
	xor r8d, r8d
	syscall
	test eax, eax
	jz \to
	.endm

	.macro read			/* waits for a thread to be done */
	xor eax, eax
	mov edi, pipe[rip]
	lea rsi, byte_[rip]
	mov edx, 1
	syscall
	.endm

	.macro done
	mov eax, 1
	mov edi, pipe[rip+4]
	lea rsi, byte_[rip]
	mov edx, 1
	syscall
	.endm

	.macro worker name n
	function \name
	mov ecx, \n
	call work
	done
	mov eax, 60
	xor edi, edi
	syscall
	end \name
	.endm

	worker fourth 40
	worker fifth 50
	worker sixth 60

	function second
	mov eax, 34			/* pause */
	syscall
	jmp second
	end second

	function third
	mov ecx, 30
	call work
	lea rsi, args1[rip]
	jmp execute
	end third

	function execute
	mov eax, 59
	lea rdi, self[rip]
	xor edx, edx
	syscall
	hlt
	end execute

	function _start
	cmp qword ptr [rsp], 1
	jne again
	begin second
	begin third
	jmp second
	end _start

	function again
	mov ecx, 300
	call work
	mov eax, 22			/* pipe */
	lea rdi, pipe[rip]
	syscall
	cmp qword ptr [rsp], 2
	jne thrice
	begin fourth
	read
	begin fifth
	read
	lea rsi, args2[rip]
	jmp execute
thrice:	begin sixth
	read
	mov eax, 231
	xor edi, edi
	syscall
	end again

	.section .rodata
self:	.asciz "/proc/self/exe"
more:	.asciz "more"
	.data
	.balign 8
args1:	.quad self, more, 0
args2:	.quad self, more, more, 0
	.bss
	.balign 64
pipe:	.quad 0
byte_:	.quad 0
	.irp name, second, third, fourth, fifth, sixth
	.balign 64
	.skip 4096
stack_\name: .skip 64
	.endr
	.section .note.GNU-stack, "", @progbits
