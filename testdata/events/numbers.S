/* The process's third thread executes another program, and so does the thread that
 * this has left in that one: threads 1 to 3, then 3 to 5, then 3 and 6. Each but the
 * first two works in a function of its own. Each waits for the end of the one that it
 * has begun, as the end of a pipe that only that one can write to, so that what each
 * executes is always the same and nobody is ended before its time. The second, which
 * never ends by itself, writes to the pipe instead.
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

	.macro begin to flags		/* a thread with a stack of its own */
	mov eax, 22			/* pipe */
	lea rdi, pipe[rip]
	syscall
	mov eax, 56
	mov edi, \flags
	lea rsi, stack_\to[rip]
	xor edx, edx
	xor r10d, r10d
	xor r8d, r8d
	syscall
	test eax, eax
	jz \to
	.endm

	.macro await			/* a byte, or the end of all that could write one */
	xor eax, eax
	mov edi, pipe[rip]
	lea rsi, byte_[rip]
	mov edx, 1
	syscall
	.endm

	.macro call_worker to		/* its files are its own, and so is the pipe's end */
	begin \to 0x050b00
	mov eax, 3			/* close */
	mov edi, pipe[rip+4]
	syscall
	await
	.endm

	.macro worker name n
	function \name
	mov ecx, \n
	call work
	mov eax, 60
	xor edi, edi
	syscall
	end \name
	.endm

	worker fourth 40
	worker fifth 50
	worker sixth 60

	function second
	mov eax, 1			/* write */
	mov edi, pipe[rip+4]
	lea rsi, byte_[rip]
	mov edx, 1
	syscall
wait:	mov eax, 34			/* pause */
	syscall
	jmp wait
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
	begin second 0x050f00
	await
	begin third 0x050f00
	jmp wait
	end _start

	function again
	mov ecx, 300
	call work
	cmp qword ptr [rsp], 2
	jne thrice
	call_worker fourth
	call_worker fifth
	lea rsi, args2[rip]
	jmp execute
thrice:	call_worker sixth
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
