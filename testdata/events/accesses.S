/* Instructions whose number of accesses shows only when they execute, among
 * plain ones, in a loop: repeated strings, masks, gathers; without a C library.
 * build: -nostdlib -static -no-pie
 * needs: avx512bw
 */
	.globl _start
_start:
	mov $200, %r12d
	lea buffer(%rip), %r13
	mov $0x5a5a, %eax
	kmovw %eax, %k1
	vpxor %xmm2, %xmm2, %xmm2
loop:
	push %r12
	call work
	pop %rcx
	dec %r12d
	jnz loop
	mov $60, %eax
	xor %edi, %edi
	syscall

work:
	mov %r12d, %ecx
	and $7, %ecx
	mov %r13, %rsi
	lea 512(%r13), %rdi
	rep movsb			/* 0 to 7 loads and stores */
	mov $5, %ecx
	xor %eax, %eax
	mov %r13, %rdi
	repe scasb			/* until a byte differs */
	mov $3, %ecx
	rep stosq
	movl %r12d, (%r13)
	addl $1, 8(%r13)
	cmp %r12d, (%r13)
	setz 16(%r13)
	vmovdqu32 64(%r13), %zmm0{%k1}{z}	/* 8 of 16 lanes */
	vmovdqu32 %zmm0, 128(%r13){%k1}
	kmovw %r12d, %k2
	vmovdqu32 %ymm0, 192(%r13){%k2}		/* of 8 lanes */
	kmovw %k1, %k3
	vpgatherdd 64(%r13,%zmm2,4), %zmm3{%k3}
	vpaddd 64(%r13){1to16}, %zmm0, %zmm4{%k2}
	vpcompressd %zmm0, 256(%r13){%k2}
	vpcmpeqd %ymm5, %ymm5, %ymm5
	vmaskmovps 64(%r13), %ymm5, %ymm6
	stc
	adcl $0, 8(%r13)
	bt %r12, 24(%r13)
	jc 1f
	xchg %r12d, 32(%r13)
	mov 32(%r13), %r12d
1:	ret

	.bss
	.balign 64
buffer:	.zero 4096
	.section .note.GNU-stack, "", @progbits
