/* Has one of everything that a row of the window language's tables is about, in
 * known numbers: leaf is entered 8 times (5 by calls in a loop, then once by a tail
 * call, through a register and by its second name), recurse 4 deep, inner 3 times;
 * there are 2 getuid and 1 sched_yield, 2 SIGSEGV and 1 SIGILL. It writes nothing.
 * build: -nostdlib -static -no-pie
 */
	.intel_syntax noprefix
	.text
#include "../function.h"

	function leaf
	.globl leaf_alias
	.set leaf_alias, leaf
	.type leaf_alias, @function
	mov rax, counter[rip]
	add rax, 1
	mov counter[rip], rax
	ret
	end leaf

	function recurse
	dec edi
	js 1f
	call recurse
1:	nop
	ret
	end recurse

	function inner
	push rbx
	mov ebx, 7
	pop rbx
	ret
	end inner

	function outer
	call inner
	nop
	call inner
	call inner
	nop
	jmp leaf
	end outer

	.type vary.cold, @function
vary.cold:
	mov rcx, counter[rip]
	jmp vary.warm
	end vary.cold

	function vary
	test r14d, 1
	jnz vary.cold
	.type vary.warm, @notype
vary.warm:
	inc r14d
	ret
	end vary

	function vary.constprop.0
	add r14d, 2
	ret
	end vary.constprop.0

	function vary.part.1
	mov rcx, counter[rip]
	ret
	end vary.part.1

	function vary.isra.2
	xor ecx, ecx
	ret
	end vary.isra.2

	/* ns::Class::method(int) */
	function _ZN2ns5Class6methodEi
	mov eax, edi
	imul eax, eax, 3
	ret
	end _ZN2ns5Class6methodEi

	/* Its first instruction is the head of a loop: one call, three turns. */
	function spin
	sub r13d, 1
	mov rax, counter[rip]
	test r13d, r13d
	jg spin
	ret
	end spin

	/* Begins with a repeated string instruction. */
	function fill
	rep stosb
	nop
	ret
	end fill

	/* Accesses of every shape. */
	function values
	lea rsi, buffer[rip]
	mov rax, [rsi]
	mov [rsi+8], rax
	add qword ptr [rsi+16], 5
	mov ecx, 3
	lock xadd [rsi+24], rcx
	cmpxchg [rsi+32], rcx
	push qword ptr [rsi+40]
	pop qword ptr [rsi+48]
	movups xmm1, [rsi+64]
	movups [rsi+80], xmm1
	movss xmm2, dword ptr [rsi+4]
	mulsd xmm1, qword ptr [rsi+72]
	fld qword ptr [rsi+64]
	fadd dword ptr [rsi+4]
	fstp qword ptr [rsi+96]
	bt dword ptr [rsi], 3
	prefetcht0 [rsi]
	lea rdi, [rsi+128]
	mov ecx, 12
	rep movsw
	lea rsi, buffer[rip]
	xor ecx, ecx
	rep lodsb
	cmovz rdx, [rsi]
	setz byte ptr [rsi+112]
	movzx eax, byte ptr [rsi+113]
	xchg [rsi+104], rdx
	jmp 1f
	nop
1:	jz 2f
	nop
2:	jnz 3f
	nop
3:	lea rax, 4f[rip]
	jmp rax
4:	ret
	end values

.Lnowhere:				/* code in no function */
	mov rdx, counter[rip]
	nop
	ret

	function handler
	mov rax, resume[rip]
	mov [rdx+168], rax
	ret
	end handler

	function restorer
	mov eax, 15
	syscall
	end restorer

	.macro faults instruction:vararg
	lea rax, 9f[rip]
	mov resume[rip], rax
	\instruction
9:	nop
	.endm

	function _start
	.irp sig, 4, 11
	mov eax, 13
	mov edi, \sig
	lea rsi, action[rip]
	xor edx, edx
	mov r10d, 8
	syscall
	.endr
	mov r15d, 5
1:	call leaf
	dec r15d
	jnz 1b
	mov edi, 3
	call recurse
	call outer
	lea rax, leaf[rip]
	call rax
	call leaf_alias
	mov eax, 102			/* getuid */
	syscall
	nop
	call vary
	call vary
	call vary.constprop.0
	call vary.part.1
	call vary.isra.2
	mov edi, 14
	call _ZN2ns5Class6methodEi
	faults mov rax, [0x1000]
	mov r13d, 3
	call spin
	lea rdi, buffer[rip+200]
	mov ecx, 5
	mov eax, 1
	call fill
	call values
	mov eax, 24			/* sched_yield */
	syscall
	faults ud2
	call .Lnowhere
	mov eax, 102
	syscall
	mov r13d, 2
	call spin
	faults mov [0x1008], rax
	call values
	call inner2
	mov eax, 231
	xor edi, edi
	syscall
	end _start

	function inner2
	ret
	end inner2

	.data
	.balign 64
counter: .quad 0
resume:	.quad 0
action:	.quad handler, 0x04000004, restorer, 0
	.balign 64
buffer:	.quad 0x3ff8000000000000, 2, 3, 4, 5, 6, 7, 8, 0x4000000000000000, 0x4008000000000000
	.skip 256
