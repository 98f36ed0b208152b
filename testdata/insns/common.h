/* What every program of the corpus uses. A program checks its own results and
 * exits with 0, or with the number of the check that failed; nothing but the
 * kernel is needed. Programs reach their data relative to RIP, so that they can
 * be linked at low addresses or as position-independent ones.
 */
	.intel_syntax noprefix

/* Exit unless a equals b; destroys nothing but flags. n is in 1…255. */
.macro CHECK n, a, b
	cmp	\a, \b
	je	7771f
	mov	edi, \n
	jmp	failed
7771:
.endm

/* Exit unless the condition holds. */
.macro CHECKCC n, cc
	j\cc	7772f
	mov	edi, \n
	jmp	failed
7772:
.endm

/* Exit unless register a holds the constant; r11 is destroyed. */
.macro CHECKQ n, a, imm:vararg
	mov	r11, \imm
	CHECK	\n, \a, r11
.endm

/* Check the six arithmetic flags (mask 0x8d5) against a constant. Uses the stack
 * and r11; the flags are gone afterwards. */
.macro CHECKFL n, want, mask=0x8d5
	pushfq
	pop	r11
	and	r11d, \mask
	CHECK	\n, r11d, \want
.endm

.macro EXIT0
	xor	edi, edi
	jmp	failed
.endm

	.text
	.globl	_start
	.type	failed, @function
failed:	mov	eax, 231	/* exit_group */
	syscall
	hlt
