/* String instructions: all sizes and prefixes, zero counts, both directions, xlat. */
#include "common.h"
	.data
	.balign	64
src:	.ascii	"the quick brown fox jumps over the lazy dog, twice"
	.skip	200
tab:	.set	n, 0
	.rept	256
	.byte	255-n
	.set	n, n+1
	.endr
	.bss
	.balign	64
dst:	.skip	512
	.text
_start:
	cld
	lea	rsi, src[rip]
	lea	rdi, dst[rip]
	movsb
	movsw
	movsd
	movsq
	lea	rax, dst[rip+15]
	CHECK	1, rdi, rax
	mov	ecx, 7
	rep movsb
	mov	ecx, 3
	rep movsw
	mov	ecx, 2
	rep movsd
	mov	ecx, 2
	rep movsq
	CHECK	2, ecx, 0
	lea	rax, dst[rip+15+7+6+8+16]
	CHECK	3, rdi, rax
	/* nothing at all, with pointers that lead nowhere */
	mov	r8, rsi
	mov	r9, rdi
	mov	rsi, 0x1000
	mov	rdi, 0x2000
	xor	ecx, ecx
	rep movsb
	rep stosq
	rep lodsd
	stc
	repe cmpsb
	CHECKCC	4, c
	repne scasb
	CHECKCC	5, c
	CHECK	6, rsi, 0x1000
	CHECK	7, rdi, 0x2000
	/* compare both */
	lea	rsi, src[rip]
	lea	rdi, dst[rip]
	mov	ecx, 43
	repe cmpsb
	CHECKCC	8, z
	CHECK	9, rcx, 0
	lea	rsi, src[rip]
	lea	rdi, dst[rip]
	mov	byte ptr [rdi+5], 'X'
	mov	ecx, 43
	repe cmpsb
	CHECKCC	10, nz
	CHECK	11, rcx, 37
	lea	rsi, src[rip]
	lea	rdi, dst[rip]
	mov	ecx, 5
	repe cmpsw
	cmpsd
	cmpsq
	mov	ecx, 1
	repne cmpsw
	mov	ecx, 2
	repe cmpsd
	mov	ecx, 2
	repe cmpsq
	/* search */
	lea	rdi, src[rip]
	mov	al, 'q'
	mov	ecx, 100
	repne scasb
	CHECK	12, ecx, 95
	mov	ecx, 4
	repe scasb
	scasw
	scasd
	scasq
	mov	ecx, 2
	repne scasw
	mov	ecx, 2
	repne scasd
	mov	ecx, 2
	repne scasq
	/* fill, load */
	lea	rdi, dst[rip]
	mov	rax, 0x0102030405060708
	stosb
	stosw
	stosd
	stosq
	mov	ecx, 9
	rep stosb
	mov	ecx, 4
	rep stosw
	mov	ecx, 3
	rep stosd
	mov	ecx, 20
	rep stosq
	lea	rsi, dst[rip]
	lodsb
	CHECK	13, al, 8
	lodsw
	CHECK	14, ax, 0x0708
	lodsd
	CHECK	15, eax, 0x05060708
	lodsq
	CHECKQ	16, rax, 0x0102030405060708
	mov	ecx, 3
	rep lodsb
	mov	ecx, 2
	rep lodsw
	mov	ecx, 2
	rep lodsd
	mov	ecx, 2
	rep lodsq
	/* downwards, overlapping */
	std
	lea	rsi, dst[rip+100]
	lea	rdi, dst[rip+104]
	mov	ecx, 50
	rep movsb
	mov	ecx, 5
	rep stosd
	lodsb
	lodsq
	scasw
	mov	ecx, 3
	repe cmpsb
	movsq
	cmpsb
	mov	ecx, 4
	rep movsq
	pushfq
	pop	rax
	and	eax, 0x400
	CHECK	17, eax, 0x400
	cld
	/* overlapping upwards by one byte */
	lea	rdi, dst[rip]
	mov	byte ptr [rdi], 0x77
	mov	rsi, rdi
	inc	rdi
	mov	ecx, 60
	rep movsb
	CHECKQ	18, "dst[rip+50]", 0x7777777777777777
	/* a prefix that is meaningless here: repne with movs and stos repeats */
	lea	rsi, src[rip]
	lea	rdi, dst[rip]
	mov	ecx, 3
	.byte	0xf2
	movsb
	mov	ecx, 3
	.byte	0xf2
	stosd
	CHECK	19, ecx, 0
	lea	rbx, tab[rip]
	mov	eax, 0x1234
	xlatb
	CHECK	20, eax, 0x12cb
	mov	al, 0
	xlatb
	CHECK	21, al, 255
	xlatb
	CHECK	22, al, 0
	/* two repeated ones in a block, with live flags between */
	lea	rsi, src[rip]
	lea	rdi, dst[rip]
	mov	ecx, 8
	mov	edx, 3
	cmp	edx, 5
	rep movsb
	mov	ecx, edx
	rep stosb
	CHECKCC	23, b
	EXIT0
