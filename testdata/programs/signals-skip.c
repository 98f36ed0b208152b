/* Handlers that continue elsewhere: behind the instruction, or in a function. */
/* expect stdout: ok */
#include "check.h"
static volatile int n;
static void other(void) { n += 100; _exit(n == 103 && puts("ok") > 0 && fflush(stdout) == 0 ? 0 : 99); }
static void h(int s, siginfo_t *i, void *uc) {
	(void)i;
	greg_t *g = ((ucontext_t *)uc)->uc_mcontext.gregs;
	n++;
	if (s == SIGILL) g[REG_RIP] += 2;
	else g[REG_RIP] = (greg_t)other, g[REG_RSP] = (g[REG_RSP] & ~15l) - 8;
}
int main(void) {
	on(SIGILL, h, 0);
	on(SIGSEGV, h, 0);
	__asm__ volatile("ud2");
	__asm__ volatile("ud2; nop");
	CHECK(n == 2);
	*(volatile int *)0 = 1;
	CHECK(0);
}
