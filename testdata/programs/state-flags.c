/* Flags and vector, x87 and control state live across branches of every kind. */
/* build: -O1 -no-pie */
/* expect stdout: ok */
#include "check.h"
#include <fenv.h>
#include <xmmintrin.h>
/* A call, a return, an indirect jump and an indirect call, none of which may touch
 * a flag. */
__attribute__((naked, noinline)) static void through(void) { __asm__("call 1f; jmp 2f; 1: ret; 2: lea 3f(%rip), %rax; jmp *%rax; 3: call *4f(%rip); ret; 5: ret; .align 8; 4: .quad 5b"); }
__asm__(".pushsection .data.rel.local,\"aw\"\n.popsection");
int main(void) {
	for (uint64_t f = 0; f < 256; f++) {
		uint64_t in = ((f & 1) | (f & 2) << 1 | (f & 4) << 2 | (f & 8) << 3 | (f & 16) << 3 | (f & 32) << 6 | (f & 64) << 4) | 0x202, out; /* CF PF AF ZF SF OF DF */
		__asm__ volatile("sub $128, %%rsp; push %1; popf; call *%2; pushf; pop %0; cld; add $128, %%rsp" : "=&r"(out) : "r"(in), "r"(through) : "rax", "memory", "cc");
		CHECK((out & 0xfd7) == (in & 0xfd7));
	}
	/* with alignment checked: accesses of the tracer's code must be aligned too. The
	 * red zone is kept off by hand, as inline assembly pushes. */
	uint64_t ac;
	__asm__ volatile("sub $128, %%rsp; pushf; orl $0x40000, (%%rsp); popf; call *%1; pushf; mov (%%rsp), %0; andl $~0x40000, (%%rsp); popf; add $128, %%rsp" : "=&r"(ac) : "r"(through) : "rax", "memory", "cc");
	CHECK(ac & 0x40000);
	/* rounding upwards in both units, and flushing to zero */
	fesetround(FE_UPWARD);
	_mm_setcsr(_mm_getcsr() | 0x8040);
	unsigned short cw;
	for (int i = 0; i < 10; i++) {
		volatile double x = 1, y = 3;
		CHECK(x / y * 3 > 1 && fegetround() == FE_UPWARD && (_mm_getcsr() & 0x8040) == 0x8040);
		getpid();
		__asm__ volatile("fnstcw %0" : "=m"(cw));
		CHECK((cw & 0xc00) == 0x800);
	}
	long double st[8];
	__asm__ volatile("fld1; fldpi; fldl2e; call *%4; fstpt %0; fstpt %1; fstpt %2; nop" : "=m"(st[0]), "=m"(st[1]), "=m"(st[2]), "=m"(st[3]) : "r"(through) : "rax", "memory");
	CHECK(st[2] == 1 && st[1] > 3.14L && st[0] > 1.44L);
	return OK();
}
