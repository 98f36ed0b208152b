/* int1, which debuggers call icebp, raises SIGTRAP as a trap: code TRAP_BRKPT, and the program stands behind it. A hypervisor may leave it in front, as natively
 * on some machines: the handler takes it past the instruction then. With a prefix, in a row, and behind a jump. */
/* expect stdout: ok */
#include "check.h"
#include <ucontext.h>
static volatile int traps;
static void *volatile behind;
static void trap(int sig, siginfo_t *info, void *context) {
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	const unsigned char *at = (const unsigned char *)r[REG_RIP];
	CHECK(sig == SIGTRAP && info->si_code == TRAP_BRKPT && info->si_addr == at);
	while (*at == 0xf3) at++;
	if (*at == 0xf1 && at < (const unsigned char *)behind) r[REG_RIP] = (greg_t)at + 1;
	traps++;
}
int main(void) {
	struct sigaction a = {.sa_sigaction = trap, .sa_flags = SA_SIGINFO};
	CHECK(sigaction(SIGTRAP, &a, 0) == 0);
	alarm(20);
	for (int i = 0; i < 200; i++) {
		long before = 1234, after;
		__asm__ volatile("lea 1f(%%rip), %%rax; mov %%rax, %1; .byte 0xf1; 1: mov %2, %0" : "=r"(after), "=m"(behind) : "r"(before) : "rax", "memory");
		CHECK(after == 1234 && traps == 3 * i + 1);
		__asm__ volatile("lea 1f(%%rip), %%rax; mov %%rax, %0; jmp 2f; ud2; 2: .byte 0xf3, 0xf1; 1:" : "=m"(behind) : : "rax", "memory");
		CHECK(traps == 3 * i + 2);
		__asm__ volatile("lea 1f(%%rip), %%rax; mov %%rax, %0; stc; .byte 0xf1; 1: jc 3f; ud2; 3:" : "=m"(behind) : : "rax", "memory", "cc");
		CHECK(traps == 3 * i + 3);
	}
	return OK();
}
