/* xbegin and xabort are invalid instructions where the processor has no transactions. */
/* expect stdout: ok */
/* needs: does-refuse-transactions */
/* armed: work */
#include "check.h"
static sigjmp_buf back;
static volatile int sig;
static volatile uint64_t at, addr;
static void h(int s, siginfo_t *i, void *u) { sig = s, at = rip(u), addr = (uint64_t)i->si_addr; siglongjmp(back, 1); }
extern char begins[], aborts[];
__attribute__((noinline)) static unsigned begin(void) {
	unsigned r = -1;
	__asm__ volatile("begins: xbegin 1f; xend; mov $1, %%eax; 1:" : "+a"(r) : : "memory");
	return r;
}
__attribute__((noinline)) static void abort_none(void) { __asm__ volatile("aborts: xabort $5" : : : "eax", "memory"); }
__attribute__((noinline)) static int work(int n) { return n + 1; }
int main(void) {
	on(SIGILL, h, SA_NODEFER);
	for (volatile int i = 0; i < 50; i++) {
		work(i);
		sig = 0;
		if (sigsetjmp(back, 1) == 0) begin();
		CHECK(sig == SIGILL && at == (uint64_t)begins && addr == at);
		sig = 0;
		if (sigsetjmp(back, 1) == 0) abort_none();
		CHECK(sig == SIGILL && at == (uint64_t)aborts && addr == at);
	}
	return OK();
}
