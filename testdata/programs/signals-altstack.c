/* The stack overflows; the handler runs on another and jumps out. */
/* expect stdout: ok */
#include "check.h"
static sigjmp_buf back;
static char stack[65536];
static volatile uint64_t addr;
static void h(int s, siginfo_t *i, void *uc) {
	(void)s;
	char here;
	CHECK(&here > stack && &here < stack + sizeof stack);
	CHECK(own(rip(uc)));
	addr = (uint64_t)i->si_addr;
	siglongjmp(back, 1);
}
__attribute__((noinline)) static int recurse(int n) {
	volatile char frame[1000];
	frame[n % 1000] = (char)n;
	return recurse(n + 1) + frame[5];
}
int main(void) {
	stack_t ss = {.ss_sp = stack, .ss_size = sizeof stack}, was;
	CHECK(sigaltstack(&ss, 0) == 0);
	on(SIGSEGV, h, SA_ONSTACK);
	for (int i = 0; i < 3; i++) {
		if (sigsetjmp(back, 1) == 0) recurse(0);
		CHECK(addr > (uint64_t)&was - (64ul << 20) && addr < (uint64_t)&was);
	}
	CHECK(sigaltstack(0, &was) == 0 && was.ss_sp == stack && was.ss_flags == 0);
	return OK();
}
