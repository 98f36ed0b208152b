/* Four threads, one after the other, each with work of a known size: thread n adds
 * to a word 1000 (n - 1) times, by a function that it calls 10 (n - 1) times with 100
 * turns each: 3 instructions with 1 load and 1 store a turn. The first thread waits for each to end. It writes nothing.
 * build: -nostdlib -static -no-pie
 */
	.intel_syntax noprefix
	.text
#include "../function.h"

	function work
	mov ecx, 100
turn:	add qword ptr sum[rip], 1
	dec ecx
	jnz turn
	ret
	end work

	function thread
	lea r12d, [r12+r12*4]
	add r12d, r12d
1:	call work
	dec r12d
	jnz 1b
	mov eax, 60
	xor edi, edi
	syscall
	end thread

	function _start
	mov r12d, 1
start:	mov dword ptr tid[rip], 1
	mov eax, 56			/* clone: a thread, tid cleared at its end */
	mov edi, 0x250f00
	lea rsi, stack_end[rip]
	xor edx, edx
	lea r10, tid[rip]
	xor r8d, r8d
	syscall
	test eax, eax
	jz thread
join:	mov edx, tid[rip]
	test edx, edx
	jz joined
	mov eax, 202			/* futex */
	lea rdi, tid[rip]
	xor esi, esi
	xor r10d, r10d
	syscall
	jmp join
joined:	mov eax, 35			/* nanosleep: the tracer hears of an end when others run already */
	lea rdi, pause[rip]
	xor esi, esi
	syscall
	inc r12d
	cmp r12d, 4
	jne start
	mov eax, 231
	xor edi, edi
	syscall
	end _start

	.section .rodata
	.balign 8
pause:	.quad 0, 50000000

	.bss
	.balign 64
sum:	.quad 0
tid:	.long 0
	.balign 64
	.skip 8192
stack_end: .skip 64
