# Every shape of a branch: loop, jrcxz, prefixes, ret with a count, calls and
# jumps through memory, through the stack, with fs, to the middle of another
# instruction, to itself, and behind rip.
# build: -no-pie -nostdlib -static
# expect exit: 0
	.globl _start
	.intel_syntax noprefix
	.data
ptr:	.quad t3
tab:	.quad t4, t5
	.text
fail:	mov eax, 60
	mov edi, 1
	syscall
_start:
	mov ecx, 5
	xor eax, eax
1:	inc eax
	loop 1b
	cmp eax, 5
	jne fail
	jrcxz 2f
	jmp fail
2:	mov ecx, 3
	cmp eax, eax
1:	dec eax
	cmp ecx, ecx
	loope 1b
	cmp eax, 2
	jne fail
	mov ecx, 2
	dec rcx
	shl rcx, 32			# ecx is 0, rcx is not
	jecxz 3f
	jmp fail
3:	jrcxz fail
	push 7
	push 8
	call t1
	lea rbx, t2[rip]
	jmp rbx
back2:	jmp qword ptr ptr[rip]
back3:	mov ecx, 1
	lea rdx, tab[rip]
	call [rdx+rcx*8]
	cmp eax, 5
	jne fail
	xor ecx, ecx
	jmp [rdx+rcx*8]
back4:	push offset t6
	ret
back7:	bnd jmp 4f
	jmp fail
4:	notrack jmp rbx2[rip]
back8:	call t9
	cmp eax, 9
	jne fail
	mov eax, 1
	jmp mid+1
mid:	.byte 0xb8			# mov eax, imm32 when entered here
	nop; nop; nop; nop
	cmp eax, 1
	jne fail
	push rsp
	pop rax
	cmp rax, rsp
	jne fail
	lea rax, back10[rip]
	push rax
	mov rsp, rsp
	pop rcx
	jmp rcx
back10:	lea rcx, back11[rip]		# rcx and rdx as branch registers
	lea rdx, tab2[rip]
	mov [rdx], rcx
	jmp [rdx]
back11:	lea rdx, back12[rip]
	call rdx
back13:	mov eax, 60
	xor edi, edi
	syscall
back12:	add rsp, 8
	cmp byte ptr bytes[rip], 3
	jne fail
	cmp dword ptr bytes[rip+1], 0x07060504
	jne fail
	jmp back13
t1:	cmp qword ptr [rsp+8], 8
	jne fail
	cmp qword ptr [rsp+16], 7
	jne fail
	ret 16
t2:	jmp back2
t3:	jmp back3
t4:	jmp back4
t5:	mov eax, 5
	ret
t6:	cmp qword ptr [rsp-8], offset t6
	jne fail
	jmp back7
t8:	jmp back8
t9:	mov eax, 9
	rep ret
bytes:	.byte 3, 4, 5, 6, 7
	.data
rbx2:	.quad t8
tab2:	.quad 0
	.section .note.GNU-stack,"",@progbits
