/* Signal handlers without a C library. */
	.bss
	.balign	64
seen:	.skip	8		/* signals handled */
at:	.skip	8		/* RIP of the last one */
where:	.skip	8		/* its si_addr */
signo:	.skip	8
code:	.skip	8
resume:	.skip	8		/* where to go on; 0: where it was */
flagsin: .skip	8
wantflags: .skip 8		/* note the flags, which are as they were only where they matter */
copy:	.skip	16*8		/* general registers as in the frame */
	.balign	4096
altstack: .skip	32768
	.text
/* handler(sig, info, context): notes the signal and where it was. */
handler:
	inc	qword ptr seen[rip]
	mov	signo[rip], rdi
	movsxd	rax, dword ptr [rsi+8]
	mov	code[rip], rax
	test	eax, eax
	jle	3f			/* sent: no address, but a process number */
	mov	rax, [rsi+16]
	mov	where[rip], rax
3:
	mov	rax, [rdx+40+16*8]	/* RIP */
	mov	at[rip], rax
	cmp	qword ptr wantflags[rip], 0
	je	2f
	mov	rax, [rdx+40+17*8]
	mov	flagsin[rip], rax
	mov	qword ptr wantflags[rip], 0
2:
	lea	rsi, [rdx+40]
	lea	rdi, copy[rip]
	mov	ecx, 16
	cld
	rep movsq
	mov	rax, resume[rip]
	test	rax, rax
	jz	1f
	mov	[rdx+40+16*8], rax
1:	xor	eax, eax		/* destroy what a return must bring back */
	mov	ecx, 0x77
	cmp	ecx, 0x78
	std
	cld
	ret
restorer:
	mov	eax, 15
	syscall
	hlt

/* CATCH signal, flags: installs the handler. */
.macro CATCH sig, flags=0x04000004
	sub	rsp, 40
	lea	rax, handler[rip]
	mov	[rsp], rax
	mov	qword ptr [rsp+8], \flags
	lea	rax, restorer[rip]
	mov	[rsp+16], rax
	mov	qword ptr [rsp+24], 0
	mov	edi, \sig
	mov	rsi, rsp
	xor	edx, edx
	mov	r10d, 8
	mov	eax, 13
	syscall
	add	rsp, 40
	CHECK	250, eax, 0
.endm

/* FAULT n, signal: the instruction at label f\n faults; behind it, at b\n, the
 * handler must have been there once more. */
.macro EXPECT n
	lea	rax, b\n[rip]
	mov	resume[rip], rax
.endm
.macro CAUGHT n, sig
b\n:	CHECK	\n, "dword ptr signo[rip]", \sig
	lea	r11, f\n[rip]
	CHECK	\n, at[rip], r11
	mov	qword ptr signo[rip], 0
.endm
