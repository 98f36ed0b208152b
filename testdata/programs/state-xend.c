/* With transactions xend outside of one faults at itself, xabort does nothing, and who begins one may always find it aborted. */
/* expect stdout: ok */
/* needs: rtm */
/* armed: work */
#include "check.h"
static volatile int sig;
static volatile uint64_t at, addr, code;
static void h(int s, siginfo_t *i, void *u) {
	sig = s, at = rip(u), addr = (uint64_t)i->si_addr, code = i->si_code;
	((ucontext_t *)u)->uc_mcontext.gregs[REG_RIP] += 3;
}
extern char ends[];
__attribute__((noinline)) static int end_none(void) {
	int r = 5;
	__asm__ volatile("ends: xend; inc %0" : "+r"(r) : : "memory");
	return r;
}
__attribute__((noinline)) static void abort_none(void) { __asm__ volatile("xabort $5" : : : "eax", "memory"); }
__attribute__((noinline)) static unsigned begin(int *p) {
	unsigned r = -1;
	__asm__ volatile("xbegin 1f; incl (%1); xend; 1:" : "+a"(r) : "r"(p) : "memory");
	return r;
}
__attribute__((noinline)) static int work(int n) { return n + 1; }
int main(void) {
	int n = 0, began = 0;
	on(SIGSEGV, h, 0);
	for (volatile int i = 0; i < 50; i++) {
		work(i);
		sig = 0;
		CHECK(end_none() == 6);
		CHECK(sig == SIGSEGV && at == (uint64_t)ends && addr == 0 && code == SI_KERNEL);
		abort_none();
		if (begin(&n) == -1u) began++;
	}
	CHECK(n == began);
	return OK();
}
