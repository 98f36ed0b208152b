/* Selectors whose privilege level is not the user's, which the processor lets a program load and a tracer not set: they stay what they are over calls,
 * signals and what the tracer does. */
/* expect stdout: ok */
#include "check.h"
static volatile int handled;
static void h(int s, siginfo_t *i, void *uc) { (void)s, (void)i, (void)uc; handled++; }
static unsigned es(void) { unsigned v = 0; __asm__ volatile("mov %%es, %0" : "=r"(v)); return v & 0xffff; }
static unsigned ds(void) { unsigned v = 0; __asm__ volatile("mov %%ds, %0" : "=r"(v)); return v & 0xffff; }
static unsigned gs(void) { unsigned v = 0; __asm__ volatile("mov %%gs, %0" : "=r"(v)); return v & 0xffff; }
int main(void) {
	on(SIGUSR1, h, 0);
	for (unsigned k = 0; k < 12; k++) {
		unsigned v = 0x28 + k % 3, none = k % 3 + 1; /* the user's data; and no segment, of which the processor need not keep the level */
		__asm__ volatile("mov %0, %%es" : : "r"(none));
		if (k > 5) __asm__ volatile("mov %0, %%gs" : : "r"(none));
		CHECK(raise(SIGUSR1) == 0);
		__asm__ volatile("mov %0, %%es" : : "r"(v));
		__asm__ volatile("mov %0, %%ds" : : "r"(v));
		if (k > 5) __asm__ volatile("mov %0, %%gs" : : "r"(v));
		CHECK(raise(SIGUSR1) == 0);
		CHECK(getppid() > 0);
		usleep(1000);
		CHECK(es() == v && ds() == v && (k <= 5 || gs() == v));
	}
	CHECK(handled == 24);
	return OK();
}
