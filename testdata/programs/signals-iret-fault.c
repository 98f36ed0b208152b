/* An iretq whose target is not canonical faults, and the handler steps over it: nothing traps behind it. */
/* expect stdout: ok */
#include "check.h"
#include <ucontext.h>
static int faults, traps;
static void handle(int s, siginfo_t *si, void *v)
{
	ucontext_t *u = v;
	CHECK(!(u->uc_mcontext.gregs[REG_EFL] & 0x100));
	if (s == SIGTRAP) {
		traps++;
		return;
	}
	faults++;
	u->uc_mcontext.gregs[REG_RIP] += 2;
}
int main(void)
{
	struct sigaction sa = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
	CHECK(sigaction(SIGSEGV, &sa, NULL) == 0 && sigaction(SIGTRAP, &sa, NULL) == 0 && sigaction(SIGBUS, &sa, NULL) == 0);
	unsigned long sp, flags;
	for (int i = 0; i < 3; i++) {
		__asm__ volatile("mov %%rsp,%0; sub $128,%%rsp; pushq $0x2b; push %%rsp; pushq $0x202; pushq $0x33; movabs $0x8000000000000000,%%rcx; push %%rcx; iretq; mov %0,%%rsp; nop; nop"
				 : "=&r"(sp)::"rcx", "memory", "cc");
		__asm__ volatile("pushfq; pop %0" : "=r"(flags));
		CHECK(!(flags & 0x100));
	}
	CHECK(faults == 3 && traps == 0);
	return OK();
}
