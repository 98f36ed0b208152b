/* Does one after the other what the kernel reports, without a C library. Each
 * label behind a system call names the instruction that a window opened by it
 * records first; the instruction before it is the last of one closed by it.
 * build: -nostdlib -static -no-pie
 */
	.globl _start
_start:
	cmpq $1, (%rsp)
	jg second
	mov $39, %eax			/* getpid */
	syscall
	.globl after_getpid1
after_getpid1:
	nop
	mov $39, %eax
	syscall
	.globl after_getpid2
after_getpid2:
	mov %eax, %r12d
	mov $13, %eax			/* rt_sigaction(SIGUSR1) */
	mov $10, %edi
	lea action(%rip), %rsi
	xor %edx, %edx
	mov $8, %r10d
	syscall
	mov $62, %eax			/* kill */
	mov %r12d, %edi
	mov $10, %esi
	syscall
	.globl after_kill
after_kill:
	nop
	mov $62, %eax
	mov %r12d, %edi
	mov $23, %esi			/* SIGURG, which nobody hears */
	syscall
	.globl after_urg
after_urg:
	nop
	mov $57, %eax			/* fork */
	syscall
	.globl after_fork1
after_fork1:
	test %eax, %eax
	jz child
	call wait
	mov $57, %eax
	syscall
	.globl after_fork2
after_fork2:
	test %eax, %eax
	jz child
	call wait
	mov $56, %eax			/* clone, a thread */
	mov $0x250f00, %edi
	lea stack_end(%rip), %rsi
	xor %edx, %edx
	lea tid(%rip), %r10
	xor %r8d, %r8d
	movl $1, tid(%rip)
	syscall
	.globl after_clone
after_clone:
	test %eax, %eax
	jz thread
join:
	mov tid(%rip), %edx
	test %edx, %edx
	jz joined
	mov $202, %eax			/* futex */
	lea tid(%rip), %rdi
	xor %esi, %esi
	xor %r10d, %r10d
	syscall
	jmp join
	.globl joined
joined:
	mov $35, %eax			/* nanosleep */
	lea pause_(%rip), %rdi
	xor %esi, %esi
	syscall
	.globl after_sleep
after_sleep:
	mov $59, %eax			/* execve */
	lea self(%rip), %rdi
	lea args(%rip), %rsi
	xor %edx, %edx
	syscall
	hlt
second:
	nop
	mov $231, %eax			/* exit_group */
	xor %edi, %edi
	syscall
	.globl last
last:
	hlt

	.globl thread
thread:
	nop
	mov $60, %eax			/* exit */
	xor %edi, %edi
	syscall
	.globl thread_end
thread_end:
	hlt

child:
	mov $60, %eax
	xor %edi, %edi
	syscall

wait:
	mov %eax, %edi
	mov $61, %eax			/* wait4 */
	xor %esi, %esi
	xor %edx, %edx
	xor %r10d, %r10d
	syscall
	ret

	.globl handler
handler:
	nop
	ret
restorer:
	mov $15, %eax			/* rt_sigreturn */
	syscall

	.section .rodata
self:	.asciz "/proc/self/exe"
again:	.asciz "again"
	.balign 8
pause_:	.quad 0, 10000000
	.data
	.balign 8
action:	.quad handler, 0x04000000, restorer, 0
args:	.quad self, again, 0
	.bss
	.balign 16
tid:	.zero 16
	.zero 4096
stack_end:
	.section .note.GNU-stack, "", @progbits
