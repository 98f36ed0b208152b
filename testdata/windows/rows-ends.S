/* Threads that end, and another that waits for each and does something only then:
 * the first thread for threads 2 to 4, by a futex and by looking now and then,
 * thread 5 for the first. What thread n is waited for by lies between the labels
 * startn and aftern; behind that everything is executed once.
 * build: -nostdlib -static -no-pie
 */
	.intel_syntax noprefix
	.text
#include "../function.h"

	function ends
	mov eax, 60
	xor edi, edi
	syscall
	end ends

	function last
	mov eax, 202			/* futex: until tid is 0 */
	lea rdi, tid[rip]
	xor esi, esi
	mov edx, 1
	xor r10d, r10d
	syscall
	cmp dword ptr tid[rip], 0
	jne last
	.globl after1
after1:	nop
	mov eax, 231
	xor edi, edi
	syscall
	end last

	.macro begin to flags		/* a thread; tid is cleared at its end */
	mov dword ptr tid[rip], 1
	mov eax, 56
	mov edi, \flags
	lea rsi, stack_end[rip]
	xor edx, edx
	lea r10, tid[rip]
	xor r8d, r8d
	syscall
	test eax, eax
	jz \to
	.endm

	.macro futex n
	.globl start\n, after\n
start\n: begin ends 0x250f00
1:	mov eax, 202
	lea rdi, tid[rip]
	xor esi, esi
	mov edx, 1
	xor r10d, r10d
	syscall
	cmp dword ptr tid[rip], 0
	jne 1b
after\n: nop
	.endm

	.macro spin n
	.globl start\n, after\n
start\n: begin ends 0x250f00
1:	mov eax, 35			/* nanosleep */
	lea rdi, pause[rip]
	xor esi, esi
	syscall
	cmp dword ptr tid[rip], 0
	jne 1b
after\n: nop
	.endm

	function _start
	futex 2
	spin 3
	futex 4
	.globl start1
start1:	mov eax, 218			/* set_tid_address: cleared when the first thread ends */
	lea rdi, tid[rip]
	syscall
	begin last 0x050f00
	jmp ends
	end _start

	.section .rodata
	.balign 8
pause:	.quad 0, 50000

	.bss
	.balign 64
tid:	.long 0
	.balign 64
	.skip 8192
stack_end: .skip 64
