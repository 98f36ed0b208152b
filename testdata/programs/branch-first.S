/* A function that begins with a branch is called in a loop. Its page changes its protection, so
 * that its translation is forgotten; then the branch's target is executed for the first time, by
 * a jump from elsewhere, and the function is called again from where it was called before. */
/* expect exit: 24 */
/* build: -nostdlib -static -no-pie */
	.intel_syntax noprefix
	.text
#include "../function.h"

	function elsewhere
	jmp other
	end elsewhere

	function protect		/* the page of the function, edx */
	mov eax, 10
	lea rdi, branches[rip]
	mov esi, 4096
	syscall
	ret
	end protect

	function _start
	xor ebx, ebx
	mov ebp, 1
1:	test rsp, rsp
	call branches
	cmp ebp, 3
	jne 2f
	mov edx, 7			/* may be written */
	call protect
	mov edx, 5
	call protect
2:	cmp ebp, 5
	jne 3f
	call elsewhere
3:	inc ebp
	cmp ebp, 9
	jne 1b
	mov edi, ebx			/* 8 + 16 */
	mov eax, 231			/* exit_group */
	syscall
	hlt
	end _start

	.balign 4096
	function branches
	jz other			/* never taken */
	inc ebx
	ret
	.skip 200, 0x90			/* out of reach of a short branch */
other:	add ebx, 16
	ret
	end branches
	.balign 4096
	.section .note.GNU-stack, "", @progbits
