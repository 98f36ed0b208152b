/* Two functions of one demangled name are called in each of 40 turns: the first three times, the second
 * once, and in every seventh turn four times more. It writes nothing.
 * build: -nostdlib -static -no-pie
 */
	.intel_syntax noprefix
	.text
#include "../function.h"

	function _Z4samei
	add qword ptr calls[rip], 1
	ret
	end _Z4samei

	function _Z4samel
	mov rax, calls[rip]
	test rax, rax
	js 1f
	add rax, 1
1:	mov calls[rip], rax
	ret
	end _Z4samel

	function between
	nop
	ret
	end between

	function _start
	mov r15d, 40
	mov r14d, 7
1:	call _Z4samei
	call _Z4samei
	call between
	call _Z4samel
	call _Z4samei
	dec r14d
	jnz 3f
	mov r14d, 7
	mov r13d, 4
2:	call _Z4samel
	dec r13d
	jnz 2b
3:	dec r15d
	jnz 1b
	mov eax, 231
	xor edi, edi
	syscall
	end _start

	.data
	.balign 8
calls:	.quad 0
