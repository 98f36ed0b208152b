/* Moves to and from control registers, whose operand is a register whatever its byte says, fault as privileged instructions do. */
/* expect stdout: ok */
#include "check.h"
#include <ucontext.h>
static int faults;
static void skip(int s, siginfo_t *si, void *v)
{
	faults++;
	((ucontext_t *)v)->uc_mcontext.gregs[REG_RIP] += 3;
}
int main(void)
{
	struct sigaction sa = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};
	CHECK(sigaction(SIGSEGV, &sa, NULL) == 0);
	__asm__ volatile(".byte 0x0f,0x22,0x1d");
	__asm__ volatile(".byte 0x0f,0x20,0x05");
	__asm__ volatile(".byte 0x0f,0x23,0x15");
	__asm__ volatile(".byte 0x0f,0x21,0x0d" ::: "rbp");
	CHECK(faults == 4);
	return OK();
}
