/* Calls `zero`, whose first byte is zero, that of an add to a byte, six times. The exit status is how
 * often the add was executed.
 * build: -nostdlib -static -no-pie
 */
	.intel_syntax noprefix
	.text
#include "../function.h"
	function zero
	.byte 0x00, 0xc3		/* add bl, al: assemblers may choose another encoding */
	ret
	end zero

	function _start
	xor ebx, ebx
	mov ebp, 6
1:	mov eax, 1
	call zero
	.globl after
after:	dec ebp
	jnz 1b
	mov edi, ebx
	mov eax, 231			/* exit_group */
	syscall
	hlt
	end _start
	.section .note.GNU-stack, "", @progbits
